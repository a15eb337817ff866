#define KERNELS geodec__published_avx2
#include "published/kernels_body.h"
