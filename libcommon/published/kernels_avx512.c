#define KERNELS geodec__published_avx512
#include "published/kernels_body.h"
