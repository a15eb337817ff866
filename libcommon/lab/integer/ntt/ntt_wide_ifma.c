/* p60 = 2^59 + c in 8 lanes of 64 bits, by multiply-adds of 52 bits. Values are below 2^64 = 32q - 32c.
 *
 * A product by a constant w: wx - Qq modulo 2^64, where Q estimates wx / q. With x = x0 + 2^52 x1 and 2^104 w / q = g +
 * 2^52 f, rounded down, Q = f x1 + floor(f x0 / 2^52) + floor(g x1 / 2^52) is not above wx / q, and less than 3 + 2^-40
 * below it: the result is in [0, 4q). Five products; the multiply-adds add the parts of Q. */
#include "lab/integer/ntt/ntt_internal.h"

#include <immintrin.h>

#define V __m512i
#define PARTS 3
/* Each level adds at most 4q to values below 2q: after 7 levels they are below 30q. */
#define SETTLE 7

#include "base/unroll_internal.h"

typedef struct K {
    V q, minus, four, sixteen, c, round; /* -q, 4q, 16q */
} K;
typedef struct TW {
    V w, f, g;
} TW;

static void twiddle(uint64_t q, uint64_t w, uint64_t parts[GEODEC__NTT_PARTS])
{
    uint64_t rest;
    parts[0] = w;
    parts[1] = geodec_mulmod_quotient(w, 52, q, &rest);
    parts[2] = geodec_mulmod_quotient(rest, 52, q, NULL);
}

INLINE K constants(const geodec__ntt_tables *t)
{
    const uint64_t q = t->modulus->q;
    return (K){_mm512_set1_epi64((long long)q),        _mm512_set1_epi64(-(long long)q),
               _mm512_set1_epi64((long long)(4 * q)),  _mm512_set1_epi64((long long)(16 * q)),
               _mm512_set1_epi64(GEODEC_MODULUS_FOLD), _mm512_set1_epi64(1ll << (GEODEC_MODULUS_SHIFT - 33))};
}
INLINE TW one(const uint64_t *p)
{
    return (TW){_mm512_set1_epi64((long long)p[0]), _mm512_set1_epi64((long long)p[1]),
                _mm512_set1_epi64((long long)p[2])};
}
INLINE TW lanes(const uint64_t *p)
{
    return (TW){_mm512_loadu_si512(p), _mm512_loadu_si512(p + 8), _mm512_loadu_si512(p + 16)};
}
INLINE V times(const K *k, TW t, V x)
{
    const V x1 = _mm512_srli_epi64(x, 52);
    const V part = _mm512_madd52hi_epu64(_mm512_mullo_epi64(x1, t.f), x, t.f);
    const V quotient = _mm512_madd52hi_epu64(part, x1, t.g);
    return _mm512_add_epi64(_mm512_mullo_epi64(x, t.w), _mm512_mullo_epi64(quotient, k->minus));
}
INLINE void forward_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, b = times(k, t, *y);
    *x = _mm512_add_epi64(a, b);
    *y = _mm512_sub_epi64(_mm512_add_epi64(a, k->four), b);
}
/* x = 2^59 h + l is x - h q = l - c h modulo q: from -31c to q - 1. */
INLINE V fold(const K *k, V x)
{
    return _mm512_add_epi64(x, _mm512_mullo_epi64(_mm512_srli_epi64(x, GEODEC_MODULUS_SHIFT), k->minus));
}
/* Below 2q. */
INLINE V settle(const K *k, V x) { return _mm512_add_epi64(fold(k, x), k->q); }
INLINE V canonical(const K *k, V x)
{
    const V r = fold(k, x);
    return _mm512_min_epu64(r, _mm512_add_epi64(r, k->q));
}
/* Sums of 3 levels of values below 3.1q are below 25q, and those subtracted in a pair below 13q; the sums of the last
 * level are settled. */
INLINE V inverse_settle(const K *k, V x) { return settle(k, x); }
INLINE void inverse_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = _mm512_add_epi64(a, b);
    *y = times(k, t, _mm512_sub_epi64(_mm512_add_epi64(a, k->sixteen), b));
}
INLINE void inverse_last(const K *k, TW n, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = canonical(k, times(k, n, _mm512_add_epi64(a, b)));
    *y = canonical(k, times(k, t, _mm512_sub_epi64(_mm512_add_epi64(a, k->sixteen), b)));
}

#include "lab/integer/ntt/ntt_wide_body.h"

#include "lab/integer/ntt/ntt_body.h"

const geodec__ntt_kernel geodec__ntt_wide_ifma = KERNEL(GEODEC_NTT_IFMA);
