#include "linalg/expm_internal.h"

#if defined(__AVX512DQ__)
#define KERNEL expm_avx512
#define PRODUCT product_avx512
#include "linalg/expm_body.h"

const geodec__expm_kernels geodec__expm_avx512 = {"avx512", expm_avx512, product_avx512};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__expm_kernels geodec__expm_avx512 = {0};
#endif
