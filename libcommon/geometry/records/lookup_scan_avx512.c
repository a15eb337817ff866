#include "records/lookup_internal.h"

#if defined(__AVX512DQ__)
#define KERNELS geodec__lookup_avx512
#define KERNEL_NAME "avx512"
#include "records/lookup_body.h"
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__lookup_kernels geodec__lookup_avx512 = {0};
#endif
