#if defined(__AVX512F__)
#define KERNEL low_block_avx512
#include "model/kernels/lowkv_body.h"

const geodec__low_block geodec__lowkv_block_avx512 = low_block_avx512;
#else
/* Compiled without these instructions: never chosen. */
#include "model/kernels/lowkv_internal.h"

const geodec__low_block geodec__lowkv_block_avx512 = 0;
#endif
