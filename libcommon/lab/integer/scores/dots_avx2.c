#if defined(__AVX2__)
#include <immintrin.h>

#define DOTS geodec__dots_avx2
#define ISA GEODEC_ISA_AVX2
#define V __m256i
#define LANES 4

static inline V load(const void *p) { return _mm256_loadu_si256(p); }
static inline V zero(void) { return _mm256_setzero_si256(); }
static inline V add(V a, V b) { return _mm256_add_epi64(a, b); }
static inline V shifted(V x, int bits) { return _mm256_srli_epi64(x, bits); }
static inline V top(V x) { return _mm256_srli_epi64(x, 32); }
static inline V low(V x, int bits) { return _mm256_and_si256(x, _mm256_set1_epi64x((1ll << bits) - 1)); }
static inline V mul(V a, V b) { return _mm256_mul_epu32(a, b); }
static inline V signed_mul(V a, V b) { return _mm256_mul_epi32(a, b); }
static inline unsigned long long total(V x)
{
    const __m128i s = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (unsigned long long)_mm_cvtsi128_si64(s) + (unsigned long long)_mm_extract_epi64(s, 1);
}

#include "lab/integer/scores/dots_body.h"
#else
typedef int geodec__dots_no_avx2; /* built for another architecture */
#endif
