/* Encoders of blocks of 32 values. */
#include "gguf/encode_internal.h"

#include <math.h>
#include <string.h>

/* roundf for |v| < 2^23: halves away from zero. */
static inline int round_away(float v)
{
    const int t = (int)v; /* towards zero; the remainder is exact */
    const float rest = v - (float)t;
    return t + (rest >= 0.5f) - (rest <= -0.5f);
}

/* As ggml's reference: values are rounded with the float32 scale, which is then stored as binary16. */
void geodec__encode_q8_0(const float *src, void *dst, int64_t n)
{
    uint8_t *p = dst;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += GEODEC_GGML_BYTES_Q8_0, src += Q_BLOCK) {
        float amax = 0;
        for (int j = 0; j < Q_BLOCK; j++) amax = fabsf(src[j]) > amax ? fabsf(src[j]) : amax;
        const float scale = amax / 127.0f, inverse = geodec__inverse(scale);
        geodec__store16(p, geodec_f32_to_f16(scale));
        for (int j = 0; j < Q_BLOCK; j++) {
            const int q = round_away(src[j] * inverse);
            p[2 + j] = (uint8_t)(int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
        }
    }
}

/* Levels of a block for a binary16 scale, their squared error, and their least-squares scale. */
static float quantise(const float *x, int top, uint16_t half, int8_t *q, float *scale)
{
    const float d = geodec_f16_to_f32(half), inverse = geodec__inverse(d);
    float error = 0, xq = 0, qq = 0;
    for (int j = 0; j < Q_BLOCK; j++) {
        const float level = geodec__level(x[j] * inverse, (float)-top, (float)(top - 1)), e = d * level - x[j];
        q[j] = (int8_t)level;
        error += e * e;
        xq += x[j] * level;
        qq += level * level;
    }
    *scale = qq > 0 ? xq / qq : 0;
    return error;
}

/* The binary16 scale and levels -top .. top-1 of a block. */
static uint16_t fit_block(const float *x, int top, bool search, int8_t *q)
{
    float scale;
    uint16_t half = geodec_f32_to_f16(geodec__encode_fit_scale(x, Q_BLOCK, top, search));
    float error = quantise(x, top, half, q, &scale);
    for (int k = 0; search && k < 2; k++) { /* again with the scale as stored */
        int8_t again[Q_BLOCK];
        const uint16_t better = geodec_f32_to_f16(scale);
        if (better == half) break;
        const float e = quantise(x, top, better, again, &scale);
        if (!(e < error)) break;
        error = e;
        half = better;
        memcpy(q, again, sizeof again);
    }
    return half;
}

/* Levels 0 .. top of a block for a binary16 scale and minimum, and their squared error. */
static float quantise_affine(const float *x, int top, uint16_t scale, uint16_t min, uint8_t *q)
{
    const float d = geodec_f16_to_f32(scale), m = geodec_f16_to_f32(min), inverse = geodec__inverse(d);
    float error = 0;
    for (int j = 0; j < Q_BLOCK; j++) {
        const float level = geodec__level((x[j] - m) * inverse, 0, (float)top), e = d * level + m - x[j];
        q[j] = (uint8_t)level;
        error += e * e;
    }
    return error;
}

/* Scale, then minimum, then levels. Rounding the minimum shifts all levels, so its two neighbours are tried too. */
static void fit_affine_block(const float *x, int top, bool search, uint8_t *head, uint8_t *q)
{
    float a, b, best = INFINITY;
    geodec__encode_fit_affine(x, Q_BLOCK, top, search, true, &a, &b);
    const uint16_t scale = geodec_f32_to_f16(a), min = geodec_f32_to_f16(-b);
    const int near = search ? 1 : 0;
    for (int k = -near; k <= near; k++) {
        uint8_t levels[Q_BLOCK];
        const uint16_t m = (min & 0x7fffu) == 0 && k < 0 ? min : (uint16_t)(min + k);
        const float e = quantise_affine(x, top, scale, m, levels);
        if (!(e < best)) continue;
        best = e;
        geodec__store16(head, scale);
        geodec__store16(head + 2, m);
        memcpy(q, levels, sizeof levels);
    }
}

/* Codes of `bits` bits, 4 or 5: the fifth bits first, then nibbles. */
static void put_codes(const uint8_t q[Q_BLOCK], int bits, uint8_t *p)
{
    if (bits == 5) {
        memset(p, 0, 4);
        for (int j = 0; j < Q_BLOCK; j++) p[j / 8] |= (uint8_t)((q[j] >> 4) << (j % 8));
        p += 4;
    }
    for (int j = 0; j < 16; j++) p[j] = (uint8_t)((q[j] & 15) | (q[j + 16] & 15) << 4);
}

static void encode_scaled(const float *src, uint8_t *p, int64_t n, int bits, bool search)
{
    const int top = 1 << (bits - 1), bytes = bits == 5 ? GEODEC_GGML_BYTES_Q5_0 : GEODEC_GGML_BYTES_Q4_0;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += bytes, src += Q_BLOCK) {
        int8_t level[Q_BLOCK];
        uint8_t q[Q_BLOCK];
        geodec__store16(p, fit_block(src, top, search, level));
        for (int j = 0; j < Q_BLOCK; j++) q[j] = (uint8_t)(level[j] + top);
        put_codes(q, bits, p + 2);
    }
}

static void encode_affine(const float *src, uint8_t *p, int64_t n, int bits, bool search)
{
    const int bytes = bits == 5 ? GEODEC_GGML_BYTES_Q5_1 : GEODEC_GGML_BYTES_Q4_1;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += bytes, src += Q_BLOCK) {
        uint8_t q[Q_BLOCK];
        fit_affine_block(src, (1 << bits) - 1, search, p, q);
        put_codes(q, bits, p + 4);
    }
}

GEODEC__ENCODERS(q4_0, encode_scaled(src, dst, n, 4, search))
GEODEC__ENCODERS(q5_0, encode_scaled(src, dst, n, 5, search))
GEODEC__ENCODERS(q4_1, encode_affine(src, dst, n, 4, search))
GEODEC__ENCODERS(q5_1, encode_affine(src, dst, n, 5, search))
