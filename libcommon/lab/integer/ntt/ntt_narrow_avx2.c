/* Moduli of 30 bits in 8 lanes of 32 bits: Harvey's butterflies, Shoup's products from the even and the odd lanes. */
#include "lab/integer/ntt/ntt_internal.h"

#include <immintrin.h>

#define WORD uint32_t
#define TWORD uint32_t
#define V __m256i
#define LOG_LANES 3
#define RADIX 3
#define UP_TO_LOG(X) X(1) X(2) X(3)
#define PARTS 2
#define SETTLE 0

#include "base/unroll_internal.h"

#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))

typedef struct K {
    V q, two, mu;
} K;
typedef struct TW {
    V w, scaled, odd; /* odd: scaled, its odd lanes in the even ones */
} TW;

static void twiddle(uint64_t q, uint64_t w, uint64_t parts[GEODEC__NTT_PARTS])
{
    parts[0] = w;
    parts[1] = geodec_mulmod_quotient(w, 32, q, NULL);
}

INLINE K constants(const geodec__ntt_tables *t)
{
    const int q = (int)t->modulus->q;
    return (K){_mm256_set1_epi32(q), _mm256_set1_epi32((int)(2u * (unsigned)q)),
               _mm256_set1_epi64x((long long)t->barrett.mu)};
}
INLINE TW one(const uint32_t *p)
{
    const V scaled = _mm256_set1_epi32((int)p[1]);
    return (TW){_mm256_set1_epi32((int)p[0]), scaled, scaled};
}
INLINE TW lanes(const uint32_t *p)
{
    const V scaled = LOAD(p + 8);
    return (TW){LOAD(p), scaled, _mm256_srli_epi64(scaled, 32)};
}
INLINE V take(const uint32_t *p) { return LOAD(p); }
INLINE void put(const K *k, uint32_t *p, V x)
{
    (void)k;
    _mm256_storeu_si256((__m256i *)p, x);
}
INLINE V once(V x, V q) { return _mm256_min_epu32(x, _mm256_sub_epi32(x, q)); }
/* The high words of the even products and of the odd ones, in place. */
INLINE V merged(V even, V odd) { return _mm256_blend_epi32(_mm256_shuffle_epi32(even, 0xf5), odd, 0xaa); }
/* Compilers would add and subtract the two parts of a difference one by one, with one instruction more. */
INLINE V whole(V x)
{
    __asm__("" : "+v"(x));
    return x;
}
INLINE V times(const K *k, TW t, V x)
{
    const V high = merged(_mm256_mul_epu32(t.scaled, x), _mm256_mul_epu32(t.odd, _mm256_srli_epi64(x, 32)));
    return whole(_mm256_sub_epi32(_mm256_mullo_epi32(t.w, x), _mm256_mullo_epi32(high, k->q)));
}

#define ADD(a, b) _mm256_add_epi32(a, b)
#define SUB(a, b) _mm256_sub_epi32(a, b)
#include "lab/integer/ntt/ntt_harvey_body.h"

/* Tight Barrett of products below 2^60, in the low words. */
INLINE V reduced(const K *k, V p)
{
    const V t = _mm256_srli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(p, 28), k->mu), 33);
    return _mm256_sub_epi64(p, _mm256_mul_epu32(t, k->q));
}
INLINE V product(const K *k, V x, V y)
{
    const V even = reduced(k, _mm256_mul_epu32(x, y));
    const V odd = reduced(k, _mm256_mul_epu32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(y, 32)));
    return once(_mm256_blend_epi32(even, _mm256_shuffle_epi32(odd, 0xa0), 0xaa), k->q);
}

INLINE void transpose(V x[8])
{
    V y[8];
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4) {
        x[i] = _mm256_unpacklo_epi64(y[i], y[i + 2]);
        x[i + 1] = _mm256_unpackhi_epi64(y[i], y[i + 2]);
        x[i + 2] = _mm256_unpacklo_epi64(y[i + 1], y[i + 3]);
        x[i + 3] = _mm256_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
    UNROLL
    for (int j = 0; j < 4; j++) {
        const V a = x[j], b = x[j + 4];
        x[j] = _mm256_permute2x128_si256(a, b, 0x20);
        x[j + 4] = _mm256_permute2x128_si256(a, b, 0x31);
    }
}

#include "lab/integer/ntt/ntt_body.h"

const geodec__ntt_kernel geodec__ntt_narrow_avx2 = KERNEL(GEODEC_NTT_AVX2);
