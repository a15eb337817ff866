#if defined(__AVX512F__)
#include <immintrin.h>

#define DOTS geodec__dots_avx512
#define ISA GEODEC_ISA_AVX512
#define V __m512i
#define LANES 8

static inline V load(const void *p) { return _mm512_loadu_si512(p); }
static inline V zero(void) { return _mm512_setzero_si512(); }
static inline V add(V a, V b) { return _mm512_add_epi64(a, b); }
static inline V shifted(V x, unsigned bits) { return _mm512_srli_epi64(x, bits); }
static inline V top(V x) { return _mm512_srli_epi64(x, 32); }
static inline V low(V x, int bits) { return _mm512_and_si512(x, _mm512_set1_epi64((1ll << bits) - 1)); }
static inline V mul(V a, V b) { return _mm512_mul_epu32(a, b); }
static inline V signed_mul(V a, V b) { return _mm512_mul_epi32(a, b); }
static inline unsigned long long total(V x) { return (unsigned long long)_mm512_reduce_add_epi64(x); }

#include "lab/integer/scores/dots_body.h"
#else
typedef int geodec__dots_no_avx512; /* built for another architecture */
#endif
