/* p60 = 2^59 + c in 8 lanes of 64 bits. Values are signed, |x| < 16q.
 *
 * A product by a constant w: x = x0 + 2^32 x1 with signed halves, u = w and v = 2^32 w modulo q, both centred. Then wx
 * = u x0 + v x1 = 2^59 h + l is below 2^91, so h fits in 32 bits, and l - c h, between -2^55 and 2^59 + 2^55, is its
 * residue: five products of 32 bits, and no quotient. */
#include "lab/integer/ntt/ntt_internal.h"

#include <immintrin.h>

#define V __m512i
#define PARTS 4
/* Each level adds at most 1.07q to values below q: after 13 levels they are below 15q. */
#define SETTLE 13

#include "base/unroll_internal.h"

typedef struct K {
    V q, c, mask, upper, half, round;
} K;
typedef struct TW {
    V u0, u1, v0, v1; /* u = u0 + 2^32 u1, v = v0 + 2^32 v1, signed, in the low words */
} TW;

static void halves(uint64_t q, uint64_t w, uint64_t parts[2])
{
    const uint64_t centred = w > q / 2 ? w - q : w; /* modulo 2^64 */
    parts[0] = (uint32_t)centred;
    parts[1] = (uint32_t)((centred + ((uint64_t)1 << 31)) >> 32);
}
static void twiddle(uint64_t q, uint64_t w, uint64_t parts[GEODEC__NTT_PARTS])
{
    uint64_t shifted;
    (void)geodec_mulmod_quotient(w, 32, q, &shifted);
    halves(q, w, parts);
    halves(q, shifted, parts + 2);
}

INLINE K constants(const geodec__ntt_tables *t)
{
    return (K){_mm512_set1_epi64((long long)t->modulus->q),
               _mm512_set1_epi64(GEODEC_MODULUS_FOLD),
               _mm512_set1_epi64((1ll << GEODEC_MODULUS_SHIFT) - 1),
               _mm512_set1_epi64((1ll << (GEODEC_MODULUS_SHIFT - 32)) - 1),
               _mm512_set1_epi64(1ll << 31),
               _mm512_set1_epi64(1ll << (GEODEC_MODULUS_SHIFT - 33))};
}
INLINE TW one(const uint64_t *p)
{
    return (TW){_mm512_set1_epi64((long long)p[0]), _mm512_set1_epi64((long long)p[1]),
                _mm512_set1_epi64((long long)p[2]), _mm512_set1_epi64((long long)p[3])};
}
INLINE TW lanes(const uint64_t *p)
{
    return (TW){_mm512_loadu_si512(p), _mm512_loadu_si512(p + 8), _mm512_loadu_si512(p + 16),
                _mm512_loadu_si512(p + 24)};
}
/* Compilers would add and subtract the two parts of a difference one by one, with one instruction more. */
INLINE V whole(V x)
{
    __asm__("" : "+v"(x));
    return x;
}
INLINE V times(const K *k, TW t, V x)
{
    const V x1 = _mm512_shuffle_epi32(_mm512_add_epi64(x, k->half), _MM_PERM_DDBB);
    const V low = _mm512_add_epi64(_mm512_mul_epi32(t.u0, x), _mm512_mul_epi32(t.v0, x1));
    const V cross = _mm512_add_epi64(_mm512_mul_epi32(t.u1, x), _mm512_mul_epi32(t.v1, x1));
    const V middle = _mm512_add_epi64(cross, _mm512_srai_epi64(low, 32));
    const V h = _mm512_srai_epi64(middle, GEODEC_MODULUS_SHIFT - 32);
    const V l = _mm512_mask_shuffle_epi32(low, 0xaaaa, _mm512_and_si512(middle, k->upper), _MM_PERM_CCAA);
    return whole(_mm512_sub_epi64(l, _mm512_mul_epi32(h, k->c)));
}
INLINE void forward_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, b = times(k, t, *y);
    *x = _mm512_add_epi64(a, b);
    *y = _mm512_sub_epi64(a, b);
}
/* x = 2^59 h + l is l - c h modulo q: between -16c and 2^59 + 16c. */
INLINE V settle(const K *k, V x)
{
    const V h = _mm512_srai_epi64(x, GEODEC_MODULUS_SHIFT);
    return _mm512_sub_epi64(_mm512_and_si512(x, k->mask), _mm512_mul_epi32(h, k->c));
}
INLINE V canonical(const K *k, V x)
{
    const V r = settle(k, x), s = _mm512_min_epu64(r, _mm512_add_epi64(r, k->q));
    return _mm512_min_epu64(s, _mm512_sub_epi64(s, k->q));
}
/* Sums of 3 levels of values up to 1.07q are below 9q; the sums of the last level are settled. */
INLINE V inverse_settle(const K *k, V x) { return settle(k, x); }
INLINE void inverse_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = _mm512_add_epi64(a, b);
    *y = times(k, t, _mm512_sub_epi64(a, b));
}
INLINE void inverse_last(const K *k, TW n, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = canonical(k, times(k, n, _mm512_add_epi64(a, b)));
    *y = canonical(k, times(k, t, _mm512_sub_epi64(a, b)));
}

#include "lab/integer/ntt/ntt_wide_body.h"

#include "lab/integer/ntt/ntt_body.h"

const geodec__ntt_kernel geodec__ntt_wide_avx512 = KERNEL(GEODEC_NTT_AVX512);
