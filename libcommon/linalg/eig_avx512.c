#include "linalg/eig_internal.h"

#if defined(__AVX512DQ__)
#define KERNEL eig_avx512
#include "linalg/eig_body.h"

const geodec__eig_kernels geodec__eig_avx512 = {"avx512", eig_avx512};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__eig_kernels geodec__eig_avx512 = {0};
#endif
