#include "linalg/apply_internal.h"

#if defined(__AVX2__)
#define KERNELS geodec__apply_avx2
#define KERNEL_NAME "avx2"
#include "linalg/apply_body.h"
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec_apply_kernels geodec__apply_avx2 = {0};
#endif
