/* Blocks of any tensor type: encoded where there is an encoder, random codes under sensible scales otherwise. */
#ifndef GEODEC_TESTS_BLOCKS_H
#define GEODEC_TESTS_BLOCKS_H

#include "base/f16.h"
#include "base/rng.h"
#include "gguf/gguf.h"

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
    default: /* Q4_0, Q5_0, Q8_0, IQ4_NL */
        at[0] = 0;
        return 1;
    }
}

/* Random bytes are valid blocks of every type except for the binary16 numbers: those are up to 0.02, of either
 * sign. */
static inline void blocks_random(const geodec_ggml_traits *t, geodec_rng *r, uint8_t *dst, int64_t n)
{
    int at[2];
    const int scales = blocks_scales(t->type, at);
    for (int64_t b = 0; b < n / t->block; b++, dst += t->block_bytes) {
        for (int i = 0; i < t->block_bytes; i++) dst[i] = (uint8_t)geodec_rng_below(r, 256);
        for (int k = 0; k < scales; k++) {
            const uint16_t h = geodec_f32_to_f16(0.04f * (float)geodec_rng_uniform(r) - 0.02f);
            memcpy(dst + at[k], &h, sizeof h);
        }
    }
}

/* n values (a multiple of the block) of about unit size times `size`. */
static inline void blocks_fill(const geodec_ggml_traits *t, float size, geodec_rng *r, uint8_t *dst, int64_t n)
{
    float x[256];
    int at[2];
    for (int64_t b = 0; b < n / t->block; b++, dst += t->block_bytes) {
        if (t->encode) {
            for (int i = 0; i < t->block; i++) x[i] = size * (float)geodec_rng_normal(r);
            t->encode(x, dst, t->block);
            continue;
        }
        for (int i = 0; i < t->block_bytes; i++) dst[i] = (uint8_t)geodec_rng_below(r, 256);
        const float largest = t->type == GEODEC_GGML_Q2_K   ? 45.0f
                              : t->type == GEODEC_GGML_Q3_K ? 128.0f
                              : t->block == 32              ? 127.0f
                                                            : 1.0f;
        const int scales = blocks_scales(t->type, at);
        for (int k = 0; k < scales; k++) {
            const uint16_t h = geodec_f32_to_f16(2 * size / largest * (0.5f + (float)geodec_rng_uniform(r)));
            memcpy(dst + at[k], &h, sizeof h);
        }
    }
}

#endif
