#include "base/unroll_internal.h"
#include "lab/integer/ntt/correlate_internal.h"

#include <immintrin.h>

enum { LANES = 8, SUMS = 8, PAIR_LANES = 16, PAIR_SUMS = 4 };

void geodec__correlate_avx512(const int32_t *q, int64_t d, const int32_t *s, int64_t shifts, int64_t *out)
{
    int64_t t = 0;
    for (; t + SUMS * LANES <= shifts; t += SUMS * LANES) {
        __m512i sum[SUMS];
        UNROLL
        for (int j = 0; j < SUMS; j++) sum[j] = _mm512_setzero_si512();
        for (int64_t i = 0; i < d; i++) {
            const __m512i w = _mm512_set1_epi32(q[i]);
            UNROLL
            for (int j = 0; j < SUMS; j++) {
                const __m512i x = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(s + t + i + j * LANES)));
                sum[j] = _mm512_add_epi64(sum[j], _mm512_mul_epi32(w, x));
            }
        }
        UNROLL
        for (int j = 0; j < SUMS; j++) _mm512_storeu_si512(out + t + j * LANES, sum[j]);
    }
    geodec__correlate_scalar(q, d, s + t, shifts - t, out + t);
}

static int64_t pair_sum(const int32_t *q, int64_t pairs, const int32_t *s)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < pairs; i++) {
        const uint32_t a = (uint32_t)q[i], b = (uint32_t)s[2 * i];
        sum += (int64_t)(int16_t)(uint16_t)a * (int16_t)(uint16_t)b;
        sum += (int64_t)(int16_t)(uint16_t)(a >> 16) * (int16_t)(uint16_t)(b >> 16);
    }
    return sum;
}

void geodec__correlate_avx512_pairs(const int32_t *q, int64_t pairs, const int32_t *s, int64_t shifts, int64_t block,
                                    int64_t *out)
{
    int64_t t = 0;
    for (; t + PAIR_SUMS * PAIR_LANES <= shifts; t += PAIR_SUMS * PAIR_LANES) {
        __m512i low[PAIR_SUMS], high[PAIR_SUMS];
        UNROLL
        for (int j = 0; j < PAIR_SUMS; j++) low[j] = high[j] = _mm512_setzero_si512();
        for (int64_t i = 0; i < pairs;) {
            __m512i sum[PAIR_SUMS];
            UNROLL
            for (int j = 0; j < PAIR_SUMS; j++) sum[j] = _mm512_setzero_si512();
            for (const int64_t end = i + block < pairs ? i + block : pairs; i < end; i++) {
                const __m512i w = _mm512_set1_epi32(q[i]);
                UNROLL
                for (int j = 0; j < PAIR_SUMS; j++)
                    sum[j] = _mm512_add_epi32(sum[j],
                                              _mm512_madd_epi16(w, _mm512_loadu_si512(s + t + 2 * i + j * PAIR_LANES)));
            }
            UNROLL
            for (int j = 0; j < PAIR_SUMS; j++) {
                low[j] = _mm512_add_epi64(low[j], _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sum[j])));
                high[j] = _mm512_add_epi64(high[j], _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sum[j], 1)));
            }
        }
        UNROLL
        for (int j = 0; j < PAIR_SUMS; j++) {
            _mm512_storeu_si512(out + t + j * PAIR_LANES, low[j]);
            _mm512_storeu_si512(out + t + j * PAIR_LANES + 8, high[j]);
        }
    }
    for (; t < shifts; t++) out[t] = pair_sum(q, pairs, s + t);
}
