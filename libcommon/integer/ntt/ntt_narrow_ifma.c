/* Moduli of at most 50 bits in 8 lanes of 64 bits, by multiply-adds of 52 bits; of the table those of 30. Values in
 * registers are below 2^52: 4 levels add at most 2q each, or double a value below 2q. Memory has words of 32 bits, so
 * each pass ends with a reduction to [0, 2q). */
#include "integer/ntt/ntt_internal.h"

#include <immintrin.h>

#define WORD uint32_t
#define TWORD uint64_t
#define V __m512i
#define LOG_LANES 3
#define RADIX 4
#define UP_TO_LOG(X) X(1) X(2) X(3) X(4)
#define PARTS 2
#define SETTLE 0

#include "base/unroll_internal.h"

typedef struct K {
    V q, two, offset, mu, barrett, mask; /* offset: a multiple of q above every sum of 4 levels; mu: floor(2^52 / q) */
} K;
typedef struct TW {
    V w, scaled;
} TW;

static void twiddle(uint64_t q, uint64_t w, uint64_t parts[GEODEC__NTT_PARTS])
{
    parts[0] = w;
    parts[1] = geodec_mulmod_quotient(w, 52, q, NULL);
}

INLINE K constants(const geodec__ntt_tables *t)
{
    const long long q = (long long)t->modulus->q;
    return (K){_mm512_set1_epi64(q),
               _mm512_set1_epi64(2 * q),
               _mm512_set1_epi64(64 * q),
               _mm512_set1_epi64((1ll << 52) / q),
               _mm512_set1_epi64((1ll << 60) / q),
               _mm512_set1_epi64((1ll << 52) - 1)};
}
INLINE TW one(const uint64_t *p, int64_t n, int64_t i)
{
    return (TW){_mm512_set1_epi64((long long)p[i]), _mm512_set1_epi64((long long)p[n + i])};
}
INLINE TW lanes(const uint64_t *p) { return (TW){_mm512_loadu_si512(p), _mm512_loadu_si512(p + 8)}; }
INLINE V take(const uint32_t *p) { return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)p)); }
INLINE V once(V x, V q) { return _mm512_min_epu64(x, _mm512_sub_epi64(x, q)); }
INLINE V low(V a, V b) { return _mm512_madd52lo_epu64(_mm512_setzero_si512(), a, b); }
INLINE V high(V a, V b) { return _mm512_madd52hi_epu64(_mm512_setzero_si512(), a, b); }
/* x < 2^52 to [0, 2q). */
INLINE V lower(const K *k, V x) { return _mm512_sub_epi64(x, low(high(x, k->mu), k->q)); }
INLINE void put(const K *k, uint32_t *p, V x) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi64_epi32(lower(k, x))); }
INLINE V times(const K *k, TW t, V x)
{
    return _mm512_and_si512(_mm512_sub_epi64(low(t.w, x), low(high(t.scaled, x), k->q)), k->mask);
}
INLINE void forward_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, b = times(k, t, *y);
    *x = _mm512_add_epi64(a, b);
    *y = _mm512_add_epi64(_mm512_sub_epi64(a, b), k->two);
}
INLINE void inverse_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = _mm512_add_epi64(a, b);
    *y = times(k, t, _mm512_add_epi64(_mm512_sub_epi64(a, b), k->offset));
}
INLINE void inverse_last(const K *k, TW n, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = once(times(k, n, _mm512_add_epi64(a, b)), k->q);
    *y = once(times(k, t, _mm512_add_epi64(_mm512_sub_epi64(a, b), k->offset)), k->q);
}
INLINE V settle(const K *k, V x)
{
    (void)k;
    return x;
}
INLINE V inverse_settle(const K *k, V x) { return settle(k, x); }
INLINE V canonical(const K *k, V x) { return once(lower(k, x), k->q); }

/* Barrett: t = floor(p mu' / 2^(28 + 32)) of the product p < 2^60, mu' = floor(2^60 / q) < 2^31, is low by at most 2;
 * (p >> 28) << 20 < 2^52 makes it the upper half of one product. */
INLINE V product(const K *k, V x, V y)
{
    const V p = _mm512_mul_epu32(x, y), t = high(_mm512_slli_epi64(_mm512_srli_epi64(p, 28), 20), k->barrett);
    return once(once(_mm512_sub_epi64(p, _mm512_mul_epu32(t, k->q)), k->two), k->q);
}

INLINE void transpose(V x[8])
{
    V y[8];
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm512_unpacklo_epi64(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 1]);
    }
    UNROLL
    for (int j = 0; j < 2; j++) {
        const V a = _mm512_shuffle_i64x2(y[j], y[j + 2], 0x88), b = _mm512_shuffle_i64x2(y[j], y[j + 2], 0xdd);
        const V c = _mm512_shuffle_i64x2(y[j + 4], y[j + 6], 0x88), d = _mm512_shuffle_i64x2(y[j + 4], y[j + 6], 0xdd);
        x[j] = _mm512_shuffle_i64x2(a, c, 0x88);
        x[j + 2] = _mm512_shuffle_i64x2(b, d, 0x88);
        x[j + 4] = _mm512_shuffle_i64x2(a, c, 0xdd);
        x[j + 6] = _mm512_shuffle_i64x2(b, d, 0xdd);
    }
}

#include "integer/ntt/ntt_body.h"

const geodec__ntt_kernel geodec__ntt_narrow_ifma = KERNEL(GEODEC_NTT_IFMA);
