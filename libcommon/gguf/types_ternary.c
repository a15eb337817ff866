/* Ternary blocks: 256 values of -d, 0, d. */
#include "gguf/types_internal.h"

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
