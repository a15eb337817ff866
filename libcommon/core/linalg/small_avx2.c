#if defined(__AVX2__)
#define KERNELS geodec__small_avx2
#define KERNEL_NAME "avx2"
#include "linalg/small_body.h"
#else
#include "linalg/small_internal.h"

/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__small_kernels geodec__small_avx2 = {0};
#endif
