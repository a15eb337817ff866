#if defined(__AVX2__)
#include "lab/integer/ring/gemv_internal.h"

#include <immintrin.h>

typedef __m256i lvec;
typedef __m256i svec;
enum { E = 2, STEP = 16 };

static inline __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline __m256i add64(__m256i a, __m256i b) { return _mm256_add_epi64(a, b); }

static inline lvec l_zero(void) { return _mm256_setzero_si256(); }
static inline lvec l_load(const geodec_ring_element *p) { return load(p); }
/* The first of two elements. */
static inline lvec l_load_first(const geodec_ring_element *p, int64_t n)
{
    (void)n;
    return _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static inline lvec l_add(lvec a, lvec b) { return add64(a, b); }
static inline lvec l_mul(lvec a, lvec b) { return _mm256_mul_epi32(a, b); }
static inline lvec l_first(lvec a) { return _mm256_unpacklo_epi64(a, a); }
static inline void l_sums(lvec a, uint64_t *even, uint64_t *odd)
{
    const __m128i s = _mm_add_epi64(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    *even = (uint64_t)_mm_cvtsi128_si64(s);
    *odd = (uint64_t)_mm_extract_epi64(s, 1);
}

static inline svec s_zero(void) { return _mm256_setzero_si256(); }
static inline svec s_load(const int16_t *p) { return load(p); }
static inline svec s_dot(svec s, svec a, svec b) { return _mm256_add_epi32(s, _mm256_madd_epi16(a, b)); }
static inline svec s_widen(svec s, svec part)
{
    return add64(s, add64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(part)),
                          _mm256_cvtepi32_epi64(_mm256_extracti128_si256(part, 1))));
}
static inline int64_t s_sum(svec s)
{
    uint64_t even, odd;
    l_sums(s, &even, &odd);
    return (int64_t)(even + odd);
}

#include "lab/integer/ring/gemv16_body.h"
#include "lab/integer/ring/gemv64_body.h"

const geodec__gemv64 geodec__gemv64_avx2 = {GEODEC_ISA_AVX2, rows64};
const geodec__gemv16 geodec__gemv16_avx2 = {GEODEC_ISA_AVX2, rows16};
#endif
