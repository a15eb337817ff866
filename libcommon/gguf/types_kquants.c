/* K-quants: 256 values a block, integer scales of groups times one or two binary16 scales of the block. */
#include "base/unroll_internal.h"
#include "gguf/types_internal.h"

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
