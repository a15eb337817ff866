#include "base/unroll_internal.h"
#include "lab/integer/ntt/correlate_internal.h"

#include <immintrin.h>

enum { LANES = 4, SUMS = 8 };

void geodec__correlate_avx2(const int32_t *q, int64_t d, const int32_t *s, int64_t shifts, int64_t *out)
{
    int64_t t = 0;
    for (; t + SUMS * LANES <= shifts; t += SUMS * LANES) {
        __m256i sum[SUMS];
        UNROLL
        for (int j = 0; j < SUMS; j++) sum[j] = _mm256_setzero_si256();
        for (int64_t i = 0; i < d; i++) {
            const __m256i w = _mm256_set1_epi32(q[i]);
            UNROLL
            for (int j = 0; j < SUMS; j++) {
                const __m256i x = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(s + t + i + j * LANES)));
                sum[j] = _mm256_add_epi64(sum[j], _mm256_mul_epi32(w, x));
            }
        }
        UNROLL
        for (int j = 0; j < SUMS; j++) _mm256_storeu_si256((__m256i *)(out + t + j * LANES), sum[j]);
    }
    geodec__correlate_scalar(q, d, s + t, shifts - t, out + t);
}
