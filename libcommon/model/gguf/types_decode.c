#include "base/unroll_internal.h"
#include "gguf/code_books_internal.h"
#include "gguf/order_internal.h"
#include "gguf/types_internal.h"

/* ---- floats ----------------------------------------------------------------------------------------------------- */

void geodec__types_decode_f32(const void *src, float *dst, int64_t n)
{
    geodec__order_copy(dst, src, (size_t)n, sizeof *dst);
}
void geodec__encode_f32(const float *src, void *dst, int64_t n)
{
    geodec__order_copy(dst, src, (size_t)n, sizeof *src);
}

void geodec__types_decode_f16(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t i = 0; i < n; i++) dst[i] = geodec__load_half(p + 2 * i);
}

void geodec__encode_f16(const float *src, void *dst, int64_t n)
{
    uint8_t *p = dst;
    for (int64_t i = 0; i < n; i++) geodec__store16(p + 2 * i, geodec_f32_to_f16(src[i]));
}

void geodec__types_decode_bf16(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t i = 0; i < n; i++) dst[i] = geodec_bf16_to_f32(geodec__load16(p + 2 * i));
}

void geodec__encode_bf16(const float *src, void *dst, int64_t n)
{
    uint8_t *p = dst;
    for (int64_t i = 0; i < n; i++) geodec__store16(p + 2 * i, geodec_f32_to_bf16(src[i]));
}

/* ---- blocks of 32 values with one binary16 scale (and minimum) -------------------------------------------------- */

/* Codes of `bits` bits, 4 or 5: scale (code - half their range), or scale code + minimum. Constants after inlining. */
INLINE void decode_codes(const uint8_t *p, float *dst, int64_t n, const int bits, const bool minimum)
{
    const int at = minimum ? 4 : 2, bytes = at + (bits == 5 ? 4 : 0) + 16;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += bytes, dst += Q_BLOCK) {
        const float d = geodec__load_half(p), m = minimum ? geodec__load_half(p + 2) : 0;
        const uint8_t *high = p + at, *q = p + bytes - 16;
        for (int j = 0; j < Q_BLOCK; j++) {
            const int low = j < 16 ? q[j] & 15 : q[j - 16] >> 4;
            const int code = bits == 5 ? low | (high[j / 8] >> (j % 8) & 1) << 4 : low;
            dst[j] = minimum ? d * (float)code + m : d * (float)(code - (1 << (bits - 1)));
        }
    }
}
#define DECODE(name, bits, minimum)                                                                                    \
    void geodec__types_decode_##name(const void *src, float *dst, int64_t n)                                           \
    {                                                                                                                  \
        decode_codes(src, dst, n, bits, minimum);                                                                      \
    }
DECODE(q4_0, 4, false)
DECODE(q4_1, 4, true)
DECODE(q5_0, 5, false)
DECODE(q5_1, 5, true)

void geodec__types_decode_q8_0(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += GEODEC_GGML_BYTES_Q8_0, dst += Q_BLOCK) {
        const float d = geodec__load_half(p);
        for (int j = 0; j < Q_BLOCK; j++) dst[j] = d * (float)(int8_t)p[2 + j];
    }
}

void geodec__types_decode_iq4_nl(const void *src, float *dst, int64_t n)
{
    const int8_t *const level = geodec__code_books_level[GEODEC__LEVELS_IQ4];
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += GEODEC_GGML_BYTES_IQ4_NL, dst += Q_BLOCK) {
        const float d = geodec__load_half(p);
        const uint8_t *q = p + 2;
        for (int j = 0; j < 16; j++) {
            dst[j] = d * (float)level[q[j] & 15];
            dst[j + 16] = d * (float)level[q[j] >> 4];
        }
    }
}

/* ---- K-quants: 256 values a block, integer scales of groups times one or two binary16 scales of the block ------- */

void geodec__types_decode_q2_k(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / QK_BLOCK; b++, p += GEODEC_GGML_BYTES_Q2_K) {
        const float d = geodec__load_half(p + 80), dmin = geodec__load_half(p + 82);
        for (int g = 0; g < 16; g++, dst += 16) { /* eight groups a half: fields of two groups each */
            const uint8_t *q = p + 16 + 32 * (g / 8) + 16 * (g % 2);
            const int shift = 2 * (g % 8 / 2);
            const float scale = d * (float)(p[g] & 15), min = dmin * (float)(p[g] >> 4);
            for (int l = 0; l < 16; l++) dst[l] = scale * (float)(q[l] >> shift & 3) - min;
        }
    }
}

void geodec__types_decode_q3_k(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / QK_BLOCK; b++, p += GEODEC_GGML_BYTES_Q3_K) {
        const float d = geodec__load_half(p + 108);
        for (int g = 0; g < 16; g++, dst += 16) {
            const uint8_t *q = p + 32 + 32 * (g / 8) + 16 * (g % 2), *high = p + 16 * (g % 2);
            const int shift = 2 * (g % 8 / 2), bit = g / 2; /* high bits: one field for each 32 values of the block */
            const float scale = d * (float)geodec__q3_k_scale(p + 96, g);
            for (int l = 0; l < 16; l++) dst[l] = scale * (float)((q[l] >> shift & 3) + 4 * (high[l] >> bit & 1) - 4);
        }
    }
}

/* 32 bytes of low bits hold two groups, one in each nibble; the fifth bits of group g are bit g of the same 32 bytes.
 * bits is a constant after inlining. */
INLINE void decode_nibbles(const uint8_t *p, float *dst, int64_t n, const int bits)
{
    const uint8_t *const end = p + n / QK_BLOCK * (bits == 5 ? GEODEC_GGML_BYTES_Q5_K : GEODEC_GGML_BYTES_Q4_K);
    for (; p < end; p += bits == 5 ? GEODEC_GGML_BYTES_Q5_K : GEODEC_GGML_BYTES_Q4_K) {
        const float d = geodec__load_half(p), dmin = geodec__load_half(p + 2);
        const uint8_t *high = p + 16;
        for (int g = 0; g < 8; g++, dst += 32) {
            const uint8_t *q = p + (bits == 5 ? 48 : 16) + 32 * (g / 2);
            const int shift = 4 * (g % 2);
            int s, m;
            geodec__k_scale_min(p + 4, g, &s, &m);
            const float scale = d * (float)s, min = dmin * (float)m;
            for (int l = 0; l < 32; l++)
                dst[l] = scale * (float)((q[l] >> shift & 15) | (bits == 5 ? (high[l] >> g & 1) << 4 : 0)) - min;
        }
    }
}

void geodec__types_decode_q4_k(const void *src, float *dst, int64_t n) { decode_nibbles(src, dst, n, 4); }
void geodec__types_decode_q5_k(const void *src, float *dst, int64_t n) { decode_nibbles(src, dst, n, 5); }

/* A half has 64 bytes of low bits and 32 of high bits: quarter k (32 values) takes nibble k / 2 of bytes 32 (k % 2) + l
 * and the 2-bit field k of high byte l. */
void geodec__types_decode_q6_k(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / QK_BLOCK; b++, p += GEODEC_GGML_BYTES_Q6_K) {
        const float d = geodec__load_half(p + 208);
        for (int g = 0; g < 16; g++, dst += 16) {
            const int half = g / 8, k = g % 8 / 2, at = 16 * (g % 2);
            const uint8_t *low = p + 64 * half + 32 * (k % 2) + at, *high = p + 128 + 32 * half + at;
            const float scale = d * (float)(int8_t)p[192 + g];
            for (int l = 0; l < 16; l++)
                dst[l] = scale * (float)(((low[l] >> 4 * (k / 2) & 15) | (high[l] >> 2 * k & 3) << 4) - 32);
        }
    }
}

/* ---- ternary blocks: 256 values of -d, 0, d --------------------------------------------------------------------- */

/* A byte holds five trits as the fraction byte / 256 = 0.t0 t1 t2 t3 t4 in base 3 (rounded up): multiplying by 3^k
 * modulo 256 removes k trits, and three times the rest, divided by 256, is the next one. */
static int trit(uint8_t byte, int k)
{
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    return (uint8_t)(byte * power[k]) * 3 >> 8;
}

void geodec__types_decode_tq1_0(const void *src, float *dst, int64_t n)
{
    /* bytes of a run, trits taken of each */
    static const struct {
        int at, bytes, trits;
    } runs[3] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / QK_BLOCK; b++, p += GEODEC_GGML_BYTES_TQ1_0) {
        const float d = geodec__load_half(p + 52);
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < runs[r].trits; k++)
                for (int j = 0; j < runs[r].bytes; j++) *dst++ = d * (float)(trit(p[runs[r].at + j], k) - 1);
    }
}

void geodec__types_decode_tq2_0(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / QK_BLOCK; b++, p += GEODEC_GGML_BYTES_TQ2_0) {
        const float d = geodec__load_half(p + 64);
        for (int half = 0; half < 2; half++)
            for (int k = 0; k < 4; k++, dst += 32)
                for (int j = 0; j < 32; j++) dst[j] = d * (float)((p[32 * half + j] >> 2 * k & 3) - 1);
    }
}

/* ---- types with levels: code_books_internal.h ------------------------------------------------------------------- */

typedef enum fine { INTEGER, EXPONENT, FLOAT, NONE } fine; /* what the scale of a group is */

/* The constants of a type are known after inlining. */
INLINE void decode_levels(const int type, const void *src, float *dst, int64_t n, const int group, const fine kind,
                          const geodec__levels levels)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    const geodec__expand_fn expand = geodec__expand_of(type);
    const int8_t *const level = geodec__code_books_level[levels];
    const bool nibbles = type == GEODEC_GGML_IQ4_XS || type == GEODEC_GGML_MXFP4;
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / t->block; b++, p += t->block_bytes) {
        geodec__expanded e;
        expand(p, &e);
        const float d = kind == INTEGER || kind == NONE ? geodec__levels_unit(levels) * geodec_f16_to_f32(e.d) : 0;
        for (int g = 0; g < t->block / group; g++, dst += group) {
            const float scale = kind == EXPONENT  ? geodec__e8m0_half(e.scale[g])
                                : kind == FLOAT   ? geodec__e4m3_half(e.scale[g])
                                : kind == INTEGER ? d * (float)(int8_t)e.scale[g]
                                                  : d;
            uint8_t *code = e.code + g * group;
            for (int j = 0; j < 16 && nibbles; j++) {
                code[j] = e.nibbles[16 * g + j] & 15;
                code[j + 16] = e.nibbles[16 * g + j] >> 4;
            }
            for (int i = 0; i < group; i++)
                dst[i] = scale * (float)(levels == GEODEC__LEVELS_NONE ? code[i] - 1 : level[code[i]]);
        }
    }
}
#define DECODE_LEVELS(NAME, name, group, kind, levels)                                                                 \
    void geodec__types_decode_##name(const void *src, float *dst, int64_t n)                                           \
    {                                                                                                                  \
        decode_levels(GEODEC_GGML_##NAME, src, dst, n, group, kind, GEODEC__LEVELS_##levels);                          \
    }
DECODE_LEVELS(IQ1_S, iq1_s, 32, INTEGER, IQ1)
DECODE_LEVELS(IQ1_M, iq1_m, 16, INTEGER, IQ1)
DECODE_LEVELS(IQ2_XXS, iq2_xxs, 32, INTEGER, IQ2)
DECODE_LEVELS(IQ2_XS, iq2_xs, 16, INTEGER, IQ2)
DECODE_LEVELS(IQ2_S, iq2_s, 16, INTEGER, IQ2)
DECODE_LEVELS(IQ3_XXS, iq3_xxs, 32, INTEGER, IQ3_XXS)
DECODE_LEVELS(IQ3_S, iq3_s, 32, INTEGER, IQ3)
DECODE_LEVELS(IQ4_XS, iq4_xs, 32, INTEGER, IQ4)
DECODE_LEVELS(MXFP4, mxfp4, 32, EXPONENT, E2M1)
DECODE_LEVELS(NVFP4, nvfp4, 16, FLOAT, E2M1)
DECODE_LEVELS(Q1_0, q1_0, 32, NONE, SIGN)
DECODE_LEVELS(Q2_0, q2_0, 32, NONE, NONE)
