/* Blocks of 32 values with one binary16 scale (and minimum). */
#include "gguf/types_internal.h"

void geodec__types_decode_q4_0(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += Q4_0_BYTES, dst += Q_BLOCK) {
        const float d = geodec__load_half(p);
        const uint8_t *q = p + 2;
        for (int j = 0; j < 16; j++) {
            dst[j] = d * (float)((q[j] & 15) - 8);
            dst[j + 16] = d * (float)((q[j] >> 4) - 8);
        }
    }
}

void geodec__types_decode_q4_1(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += Q4_1_BYTES, dst += Q_BLOCK) {
        const float d = geodec__load_half(p), m = geodec__load_half(p + 2);
        const uint8_t *q = p + 4;
        for (int j = 0; j < 16; j++) {
            dst[j] = d * (float)(q[j] & 15) + m;
            dst[j + 16] = d * (float)(q[j] >> 4) + m;
        }
    }
}

/* The five bits of value j of 32. */
static int five_bits(const uint8_t *high, const uint8_t *q, int j)
{
    return (j < 16 ? q[j] & 15 : q[j - 16] >> 4) | (high[j / 8] >> (j % 8) & 1) << 4;
}

void geodec__types_decode_q5_0(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += Q5_0_BYTES, dst += Q_BLOCK) {
        const float d = geodec__load_half(p);
        for (int j = 0; j < Q_BLOCK; j++) dst[j] = d * (float)(five_bits(p + 2, p + 6, j) - 16);
    }
}

void geodec__types_decode_q5_1(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += Q5_1_BYTES, dst += Q_BLOCK) {
        const float d = geodec__load_half(p), m = geodec__load_half(p + 2);
        for (int j = 0; j < Q_BLOCK; j++) dst[j] = d * (float)five_bits(p + 4, p + 8, j) + m;
    }
}

void geodec__types_decode_q8_0(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += Q8_0_BYTES, dst += Q_BLOCK) {
        const float d = geodec__load_half(p);
        for (int j = 0; j < Q_BLOCK; j++) dst[j] = d * (float)(int8_t)p[2 + j];
    }
}

void geodec__types_decode_iq4_nl(const void *src, float *dst, int64_t n)
{
    /* Levels of a quantiser for a normal density, in 1/127 of the largest; fixed by the format. */
    static const int8_t level[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += IQ4_NL_BYTES, dst += Q_BLOCK) {
        const float d = geodec__load_half(p);
        const uint8_t *q = p + 2;
        for (int j = 0; j < 16; j++) {
            dst[j] = d * (float)level[q[j] & 15];
            dst[j + 16] = d * (float)level[q[j] >> 4];
        }
    }
}
