#include "linalg/eig_internal.h"

#if defined(__AVX2__)
#define KERNEL eig_avx2
#include "linalg/eig_body.h"

const geodec__eig_kernels geodec__eig_avx2 = {"avx2", eig_avx2};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__eig_kernels geodec__eig_avx2 = {0};
#endif
