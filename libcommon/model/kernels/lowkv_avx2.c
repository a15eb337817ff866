#if defined(__AVX2__)
#define KERNEL low_block_avx2
#include "model/kernels/lowkv_body.h"

const geodec__low_block geodec__lowkv_block_avx2 = low_block_avx2;
#else
/* Compiled without these instructions: never chosen. */
#include "model/kernels/lowkv_internal.h"

const geodec__low_block geodec__lowkv_block_avx2 = 0;
#endif
