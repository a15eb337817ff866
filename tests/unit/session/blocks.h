/* Blocks of any tensor type: encoded where there is an encoder, random codes under sensible scales otherwise. */
#ifndef GEODEC_TESTS_BLOCKS_H
#define GEODEC_TESTS_BLOCKS_H

#include "base/f16.h"
#include "base/rng.h"
#include "gguf/code_books_internal.h"
#include "gguf/gguf.h"

#include <math.h>
#include <string.h>

/* Where the binary16 numbers of a block lie; returns how many. */
static inline int blocks_scales(int type, int at[2])
{
    switch (type) {
    case GEODEC_GGML_Q2_K:
        at[0] = 80;
        at[1] = 82;
        return 2;
    case GEODEC_GGML_Q3_K:
        at[0] = 108;
        return 1;
    case GEODEC_GGML_TQ1_0:
        at[0] = 52;
        return 1;
    case GEODEC_GGML_TQ2_0:
        at[0] = 64;
        return 1;
    case GEODEC_GGML_Q6_K:
        at[0] = 208;
        return 1;
    case GEODEC_GGML_Q4_1:
    case GEODEC_GGML_Q5_1:
    case GEODEC_GGML_Q4_K:
    case GEODEC_GGML_Q5_K:
        at[0] = 0;
        at[1] = 2;
        return 2;
    case GEODEC_GGML_MXFP4: /* an exponent, four small floats, sixteen bits in four places */
    case GEODEC_GGML_NVFP4:
    case GEODEC_GGML_IQ1_M:
        return 0;
    default: /* at the front */
        at[0] = 0;
        return 1;
    }
}

/* Number k of the block's scales becomes v, or one near it: a power of two, or a small float. */
static inline void blocks_put_scale(int type, uint8_t *block, int k, float v)
{
    int at[2];
    const uint16_t h = geodec_f32_to_f16(v);
    if (k < blocks_scales(type, at)) memcpy(block + at[k], &h, sizeof h);
    if (type == GEODEC_GGML_MXFP4) block[0] = (uint8_t)(128 + ilogbf(v));
    if (type == GEODEC_GGML_NVFP4)
        for (int g = 0; g < 4; g++)
            for (block[g] = 1; block[g] < 0x7e && geodec__e4m3_half(block[g]) < fabsf(v);) block[g]++;
    if (type == GEODEC_GGML_IQ1_M)
        for (int g = 0; g < 4; g++) block[49 + 2 * g] = (uint8_t)((block[49 + 2 * g] & 15) | (h >> 4 * g & 15) << 4);
}
static inline int blocks_n_scales(int type)
{
    int at[2];
    const int n = blocks_scales(type, at);
    return n ? n : 1;
}

/* Random bytes are valid blocks of every type except for the scales of blocks: those are up to 0.02, of either
 * sign. */
static inline void blocks_random(const geodec_ggml_traits *t, geodec_rng *r, uint8_t *dst, int64_t n)
{
    for (int64_t b = 0; b < n / t->block; b++, dst += t->block_bytes) {
        for (int i = 0; i < t->block_bytes; i++) dst[i] = (uint8_t)geodec_rng_below(r, 256);
        for (int k = 0; k < blocks_n_scales(t->type); k++)
            blocks_put_scale(t->type, dst, k, 0.04f * (float)geodec_rng_uniform(r) - 0.02f);
    }
}

/* The largest value of a block with scale 1. */
static inline float blocks_largest(const geodec_ggml_traits *t)
{
    switch (t->type) {
    case GEODEC_GGML_Q2_K:
        return 45.0f;
    case GEODEC_GGML_Q3_K:
        return 128.0f;
    case GEODEC_GGML_IQ4_XS:
        return 32 * 127.0f;
    case GEODEC_GGML_MXFP4:
    case GEODEC_GGML_NVFP4:
        return 12.0f;
    case GEODEC_GGML_IQ3_S:
    case GEODEC_GGML_IQ3_XXS:
        return 31 * 15.0f;
    case GEODEC_GGML_IQ2_S:
    case GEODEC_GGML_IQ2_XS:
    case GEODEC_GGML_IQ2_XXS:
        return 31 * 43 / 8.0f;
    case GEODEC_GGML_IQ1_S:
    case GEODEC_GGML_IQ1_M:
        return 15.0f;
    default:
        return t->block == 32 ? 127.0f : 1.0f;
    }
}

/* n values (a multiple of the block) of about unit size times `size`. */
static inline void blocks_fill(const geodec_ggml_traits *t, float size, geodec_rng *r, uint8_t *dst, int64_t n)
{
    float x[256];
    for (int64_t b = 0; b < n / t->block; b++, dst += t->block_bytes) {
        if (t->encode) {
            for (int i = 0; i < t->block; i++) x[i] = size * (float)geodec_rng_normal(r);
            t->encode(x, dst, t->block);
            continue;
        }
        for (int i = 0; i < t->block_bytes; i++) dst[i] = (uint8_t)geodec_rng_below(r, 256);
        for (int k = 0; k < blocks_n_scales(t->type); k++)
            blocks_put_scale(t->type, dst, k, 2 * size / blocks_largest(t) * (0.5f + (float)geodec_rng_uniform(r)));
    }
}

#endif
