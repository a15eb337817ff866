#include "recurrence/recurrence_internal.h"

#if defined(__AVX2__)
#include "base/simd_internal.h"

static inline __m256 power_of_two_8(__m256 t)
{
    const __m256i n = _mm256_add_epi32(_mm256_castps_si256(t), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(n, 23));
}
static inline fvec power_of_two(fvec t) { return (fvec){power_of_two_8(t.lo), power_of_two_8(t.hi)}; }

static inline float total(fvec a)
{
    const __m256 a8 = _mm256_add_ps(a.lo, a.hi);
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a8), _mm256_extractf128_ps(a8, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}

#define VARIANT(name) name##_avx2
#include "recurrence/steps_body.h"

const geodec__recurrence *const geodec__recurrence_avx2 = &steps_avx2;
#else
/* Compiled without these instructions: never chosen. */
const geodec__recurrence *const geodec__recurrence_avx2 = 0;
#endif
