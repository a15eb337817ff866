/* Internal: rebuilding a block of keys, one variant for each instruction set, all with the same bits. */
#ifndef GEODEC_MODEL_KERNELS_LOWKV_INTERNAL_H
#define GEODEC_MODEL_KERNELS_LOWKV_INTERNAL_H

#include <stdint.h>

/* b [dims][rank], x [rank][64], k [dims][64]. NULL if not compiled. */
typedef void (*geodec__low_block)(const float *b, int64_t dims, int64_t rank, const float *x, float *k);
extern const geodec__low_block geodec__lowkv_block_scalar, geodec__lowkv_block_avx2, geodec__lowkv_block_avx512;

#endif
