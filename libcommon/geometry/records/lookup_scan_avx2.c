#include "records/lookup_internal.h"

#if defined(__AVX2__)
#define KERNELS geodec__lookup_avx2
#define KERNEL_NAME "avx2"
#include "records/lookup_body.h"
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__lookup_kernels geodec__lookup_avx2 = {0};
#endif
