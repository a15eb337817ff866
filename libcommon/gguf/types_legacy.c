/* Blocks of 32 values with one binary16 scale (and minimum). */
#include "base/unroll_internal.h"
#include "gguf/types_internal.h"

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
    /* Levels of a quantiser for a normal density, in 1/127 of the largest; fixed by the format. */
    static const int8_t level[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
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
