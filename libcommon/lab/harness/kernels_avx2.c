#define KERNELS geodec__harness_kernels_avx2
#include "lab/harness/kernels_body.h"
