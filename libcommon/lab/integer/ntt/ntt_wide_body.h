/* What the paths of p60 in 8 lanes of 64 bits share. A path defines before the inclusion V, and K with the vectors q, c
 * = q - 2^59 and round = 2^26. */
#include "lab/integer/ntt/ntt_internal.h"
#include "lab/integer/ntt/ntt_transpose_body.h"

#define WORD uint64_t
#define TWORD uint64_t
#define LOG_LANES 3
#define RADIX 3
#define UP_TO_LOG(X) X(1) X(2) X(3)

INLINE V take(const uint64_t *p) { return _mm512_loadu_si512(p); }
INLINE void put(const K *k, uint64_t *p, V x)
{
    (void)k;
    _mm512_storeu_si512(p, x);
}

/* a b = 2^59 h + l, both below 2^60. The quotient by q = 2^59 + c is h - c h / 2^59 and up to one more. g, rounded from
 * the upper word of h, differs from c h / 2^59 by less than 0.57, so a b - q (h - g) is between -q and 2q: its lower 64
 * bits are enough. */
INLINE V product(const K *k, V x, V y)
{
    const V x1 = _mm512_srli_epi64(x, 32), y1 = _mm512_srli_epi64(y, 32);
    const V p00 = _mm512_mul_epu32(x, y), p11 = _mm512_mul_epu32(x1, y1);
    /* below 2^62 */
    const V cross = _mm512_add_epi64(_mm512_add_epi64(_mm512_mul_epu32(x, y1), _mm512_mul_epu32(x1, y)),
                                     _mm512_srli_epi64(p00, 32));
    const V low = _mm512_mask_shuffle_epi32(p00, 0xaaaa, cross, _MM_PERM_CCAA);
    const V h = _mm512_add_epi64(_mm512_slli_epi64(p11, 5), _mm512_srli_epi64(cross, GEODEC_MODULUS_SHIFT - 32));
    const V part = _mm512_mul_epu32(_mm512_srli_epi64(h, 32), k->c);
    const V g = _mm512_srli_epi64(_mm512_add_epi64(part, k->round), GEODEC_MODULUS_SHIFT - 32);
    const V r = _mm512_sub_epi64(low, _mm512_mullo_epi64(_mm512_sub_epi64(h, g), k->q));
    const V s = _mm512_min_epu64(r, _mm512_add_epi64(r, k->q));
    return _mm512_min_epu64(s, _mm512_sub_epi64(s, k->q));
}
