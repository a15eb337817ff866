#if defined(__AVX512DQ__)
#define KERNELS geodec__small_avx512
#define KERNEL_NAME "avx512"
#include "linalg/small_body.h"
#else
#include "linalg/small_internal.h"

/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__small_kernels geodec__small_avx512 = {0};
#endif
