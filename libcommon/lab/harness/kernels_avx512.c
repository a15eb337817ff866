#define KERNELS geodec__harness_kernels_avx512
#include "lab/harness/kernels_body.h"
