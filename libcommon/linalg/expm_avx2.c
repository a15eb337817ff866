#include "linalg/expm_internal.h"

#if defined(__AVX2__)
#define KERNEL expm_avx2
#define PRODUCT product_avx2
#include "linalg/expm_body.h"

const geodec__expm_kernels geodec__expm_avx2 = {"avx2", expm_avx2, product_avx2};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__expm_kernels geodec__expm_avx2 = {0};
#endif
