#if defined(__AVX512F__)
#include "lab/integer/ring/gemv_internal.h"

#include <immintrin.h>

typedef __m512i lvec;
enum { E = 4 };

static inline lvec l_zero(void) { return _mm512_setzero_si512(); }
static inline lvec l_load(const geodec_ring_element *p) { return _mm512_loadu_si512(p); }
static inline lvec l_load_first(const geodec_ring_element *p, int64_t n)
{
    return _mm512_maskz_loadu_epi64((__mmask8)((1u << 2 * n) - 1u), p);
}
static inline lvec l_add(lvec a, lvec b) { return _mm512_add_epi64(a, b); }
static inline lvec l_mul(lvec a, lvec b) { return _mm512_mul_epi32(a, b); }
static inline lvec l_first(lvec a) { return _mm512_unpacklo_epi64(a, a); }
static inline void l_sums(lvec a, uint64_t *even, uint64_t *odd)
{
    uint64_t v[8];
    _mm512_storeu_si512(v, a);
    *even = v[0] + v[2] + v[4] + v[6];
    *odd = v[1] + v[3] + v[5] + v[7];
}

#include "lab/integer/ring/gemv64_body.h"

const geodec__gemv64 geodec__gemv64_avx512 = {GEODEC_ISA_AVX512, rows64};
#endif
