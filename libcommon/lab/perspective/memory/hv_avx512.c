#if defined(__AVX512BW__)
#include "lab/perspective/memory/hv_internal.h"

#include <immintrin.h>
#include <string.h>

/* The one function that needs more than the flags of *_avx512.c. */
__attribute__((target("avx512vpopcntdq"))) static int32_t distance_avx512(const uint64_t *a, const uint64_t *b)
{
    enum { WHOLE = GEODEC_HV_WORDS / 8 * 8 };
    const __mmask8 rest = (1u << (GEODEC_HV_WORDS - WHOLE)) - 1;
    __m512i sum = _mm512_popcnt_epi64(
        _mm512_xor_si512(_mm512_maskz_loadu_epi64(rest, a + WHOLE), _mm512_maskz_loadu_epi64(rest, b + WHOLE)));
    for (int i = 0; i < WHOLE; i += 8)
        sum = _mm512_add_epi64(
            sum, _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i))));
    return (int32_t)_mm512_reduce_add_epi64(sum);
}

static void add_avx512(int16_t *count, const uint64_t *v)
{
    const __m512i minus = _mm512_set1_epi16(-1), plus = _mm512_set1_epi16(1),
                  least = _mm512_set1_epi16(-GEODEC_HV_COUNT_MAX);
    for (int i = 0; i < GEODEC_HV_COUNTS; i += 32) {
        const __mmask32 set = (__mmask32)(v[i / 64] >> (i % 64));
        const __m512i step = _mm512_mask_blend_epi16(set, minus, plus);
        _mm512_storeu_si512(count + i, _mm512_max_epi16(_mm512_adds_epi16(_mm512_loadu_si512(count + i), step), least));
    }
    memset(count + GEODEC_HV_BITS, 0, GEODEC__HV_PADDING * sizeof *count);
}

static void majority_avx512(const int16_t *count, const uint64_t *tie, uint64_t *out)
{
    const __m512i zero = _mm512_setzero_si512();
    for (int w = 0; w < GEODEC_HV_WORDS; w++, count += 64) {
        const __m512i a = _mm512_loadu_si512(count), b = _mm512_loadu_si512(count + 32);
        const uint64_t more = _mm512_cmpgt_epi16_mask(a, zero) | (uint64_t)_mm512_cmpgt_epi16_mask(b, zero) << 32;
        const uint64_t none = _mm512_cmpeq_epi16_mask(a, zero) | (uint64_t)_mm512_cmpeq_epi16_mask(b, zero) << 32;
        out[w] = more | (none & tie[w]);
    }
    out[GEODEC_HV_WORDS - 1] &= GEODEC__HV_LAST;
}

const geodec__hv_ops geodec__hv_avx512 = {"avx512", distance_avx512, add_avx512, majority_avx512};
#else
typedef int geodec__hv_no_avx512; /* built for another architecture */
#endif
