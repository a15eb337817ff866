/* Internal: sums of products of int64 in 192 bits, two's complement, for exact checks of overflow. Sums of fewer than
 * 2^58 products times 42 fit. */
#ifndef GEODEC_INTEGER_RING_RING_INTERNAL_H
#define GEODEC_INTEGER_RING_RING_INTERNAL_H

#include "integer/fixed/wide.h"

#include <stdbool.h>

typedef struct geodec__ring_sum {
    uint64_t limb[3]; /* lowest first */
} geodec__ring_sum;

/* s += v 2^64 */
static inline void geodec__ring_sum_add_high(geodec__ring_sum *s, int64_t v)
{
    const uint64_t middle = s->limb[1] + (uint64_t)v;
    s->limb[2] += (v < 0 ? UINT64_MAX : 0) + (uint64_t)(middle < (uint64_t)v);
    s->limb[1] = middle;
}

/* s += v */
static inline void geodec__ring_sum_add_wide(geodec__ring_sum *s, geodec_wide v)
{
    const uint64_t low = s->limb[0] + v.low, carry = low < v.low;
    const uint64_t middle = s->limb[1] + (uint64_t)v.high, over = middle < (uint64_t)v.high;
    s->limb[0] = low;
    s->limb[1] = middle + carry;
    s->limb[2] += (v.high < 0 ? UINT64_MAX : 0) + over + (uint64_t)(s->limb[1] < carry);
}

/* s += a b */
static inline void geodec__ring_sum_add(geodec__ring_sum *s, int64_t a, int64_t b)
{
    geodec__ring_sum_add_wide(s, geodec_wide_mul(a, b));
}

/* s += sign t, sign 1 or -1 */
static inline void geodec__ring_sum_join(geodec__ring_sum *s, int sign, const geodec__ring_sum *t)
{
    uint64_t carry = sign < 0;
    for (int i = 0; i < 3; i++) {
        const uint64_t v = sign < 0 ? ~t->limb[i] : t->limb[i], part = s->limb[i] + v;
        s->limb[i] = part + carry;
        carry = (uint64_t)(part < v) | (uint64_t)(s->limb[i] < carry);
    }
}

/* s *= m, m below 2^32 */
static inline void geodec__ring_sum_scale(geodec__ring_sum *s, uint32_t m)
{
    uint64_t carry = 0;
    for (int i = 0; i < 3; i++) {
        const uint64_t low = (s->limb[i] & 0xffffffffu) * m + carry, high = (s->limb[i] >> 32) * m + (low >> 32);
        s->limb[i] = high << 32 | (low & 0xffffffffu);
        carry = high >> 32;
    }
}

/* The value modulo 2^64, and whether it is the value. */
static inline int64_t geodec__ring_sum_low(const geodec__ring_sum *s) { return (int64_t)s->limb[0]; }
static inline bool geodec__ring_sum_fits(const geodec__ring_sum *s)
{
    const uint64_t sign = s->limb[0] >> 63 ? UINT64_MAX : 0;
    return s->limb[1] == sign && s->limb[2] == sign;
}

/* From the four lane sums: real = ac - 41 bd, imag = ad + bc + bd. ac and ad become real and imag. */
static inline void geodec__ring_sum_combine(geodec__ring_sum *ac, const geodec__ring_sum *bd, geodec__ring_sum *ad,
                                            const geodec__ring_sum *bc)
{
    geodec__ring_sum scaled = *bd;
    geodec__ring_sum_scale(&scaled, 41);
    geodec__ring_sum_join(ac, -1, &scaled);
    geodec__ring_sum_join(ad, 1, bc);
    geodec__ring_sum_join(ad, 1, bd);
}

#endif
