#include "linalg/apply_internal.h"

#if defined(__AVX512DQ__)
#define KERNELS geodec__apply_avx512
#define KERNEL_NAME "avx512"
#include "linalg/apply_body.h"
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec_apply_kernels geodec__apply_avx512 = {0};
#endif
