#include "recurrence/recurrence_internal.h"

#if defined(__AVX512F__)
#include "base/simd_internal.h"

static inline fvec power_of_two(fvec t)
{
    const __m512i n = _mm512_add_epi32(_mm512_castps_si512(t), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(n, 23));
}

static inline float total(fvec a)
{
    const __m256 a8 = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a8), _mm256_extractf128_ps(a8, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}

#define VARIANT(name) name##_avx512
#include "recurrence/steps_body.h"

const geodec__recurrence *const geodec__recurrence_avx512 = &steps_avx512;
#else
/* Compiled without these instructions: never chosen. */
const geodec__recurrence *const geodec__recurrence_avx512 = 0;
#endif
