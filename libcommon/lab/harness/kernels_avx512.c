#define KERNELS geodec__published_avx512
#include "lab/harness/kernels_body.h"
