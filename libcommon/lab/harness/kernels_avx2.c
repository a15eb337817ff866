#define KERNELS geodec__published_avx2
#include "lab/harness/kernels_body.h"
