/* Work on single rows between products, one table per instruction set. All give the same bits: the scalar one is the
 * definition; the others take the numbers that fit their registers, and leave the rest to it. */
#ifndef GEODEC_INTEGER_ENGINE_ROWS_INTERNAL_H
#define GEODEC_INTEGER_ENGINE_ROWS_INTERNAL_H

#include "integer/engine/network.h"
#include "integer/engine/rounded.h"
#include "integer/fixed/fixed.h"
#include "kernels/settings.h"

enum { GEODEC__ROWS_SCORE = 16 /* scores are Q16 */ };

typedef struct geodec__rows_ops {
    /* As geodec_rounded_of. */
    void (*round)(const int64_t *y, int64_t n, int unit, int bits, geodec_rounded *out);
    /* Largest magnitude of x [n], with one less for negative numbers. */
    uint64_t (*reach)(const int64_t *x, int64_t n);
    /* Sum of (x 2^-shift)^2, rounded before they are squared. */
    uint64_t (*squares)(const int64_t *x, int64_t n, int shift);
    /* y = x 2^-shift w / rms, geodec_fixed_rms_apply. */
    void (*scale)(geodec_fixed_rms r, const int64_t *x, int shift, const int32_t *w, int64_t n, int64_t *y);
    /* x += y, all at most 2^61 in magnitude: a damaged model's must not overflow. */
    void (*add)(int64_t *x, const int64_t *y, int64_t n);
    /* y = act(y) up, Q24. */
    void (*gate)(int64_t *y, const int64_t *up, int64_t n, bool gelu);
    /* Rotates n pairs of y, below 2^30: (i, n + i) of halves, else (2i, 2i + 1). */
    void (*rotate)(const geodec_fixed_turn *turn, int64_t n, bool halves, int64_t *y);
    /* v = y 2^-shift, at most 32767 in magnitude. */
    void (*store)(const int64_t *y, int64_t n, int shift, int16_t *v);
    /* z = raw f 2^-(base + exponent) in Q16, at most INT32_MAX / 2 in magnitude. */
    void (*scores)(const int32_t *raw, const int32_t *exponent, int64_t n, int32_t f, int base, int32_t *z);
    /* w = exp(z - top) in Q30, in units of 2^-(exponent - least); returns the sum of them before the units. */
    uint64_t (*weights)(const int32_t *z, const int32_t *exponent, int64_t n, int32_t top, int32_t least, int32_t *w);
    /* Q24 to Q16, at most INT32_MAX / 2 in magnitude. */
    void (*logits)(const int64_t *x, int64_t n, int32_t *z);
    /* sum[i] = q . k[i], i < n */
    void (*dots)(const int16_t *q, const int16_t *k, int64_t n, int64_t dim, int32_t *sum);
    /* acc[d] += sum over i < n of w[i] v[i][d], 0 <= w <= 2^30, |v| < 2^15 */
    void (*mix)(const int32_t *w, const int16_t *v, int64_t n, int64_t dim, int64_t *acc);
    /* y = acc inverse 2^-shift, 0 < inverse < 2^63. */
    void (*share)(const int64_t *acc, int64_t n, int64_t inverse, int shift, int64_t *y);
} geodec__rows_ops;
extern const geodec__rows_ops geodec__rows_scalar, geodec__rows_avx2, geodec__rows_avx512;
/* The functions for the instruction set of the products (product_internal.h). */
const geodec__rows_ops *geodec__rows_for(geodec_isa isa);

static inline int32_t geodec__rows_limit(int64_t z)
{
    return (int32_t)(z > INT32_MAX / 2 ? INT32_MAX / 2 : z < -INT32_MAX / 2 ? -INT32_MAX / 2 : z);
}
/* A weight in Q30 for a value of this exponent, in the unit of the least one. */
static inline int32_t geodec__rows_weight(uint32_t e, int32_t exponent, int32_t least)
{
    const int64_t shift = (int64_t)exponent - least;
    return (int32_t)(shift == 0 ? e : shift > 31 ? 0 : ((int64_t)e + ((int64_t)1 << (shift - 1))) >> shift);
}

#endif
