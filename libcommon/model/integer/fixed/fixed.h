/* Fixed-point functions of the integer engine. They use integers alone and tables that are literals, so every processor
 * and compiler gives the same bits. Qn: a value times 2^n. Rounding is floor((v + half) / 2^n) unless stated. */
#ifndef GEODEC_INTEGER_FIXED_FIXED_H
#define GEODEC_INTEGER_FIXED_FIXED_H

#include "base/err.h"
#include "integer/fixed/wide.h"

enum { GEODEC_FIXED_ONE = 1 << 30 /* 1 in Q30 */ };

/* floor(sqrt(v)). */
uint32_t geodec_fixed_isqrt(uint64_t v);
/* exp(-d / 2^16) in Q30: monotone, relative error at most 5.3e-6, 0 from 31 binary orders on. */
uint32_t geodec_fixed_exp(uint32_t d);
/* Softmax of z [n] in Q16: p [n] in Q30, p = floor((2^30 e + floor(S / 2)) / S). Returns S, the sum of e in Q30. n >=
 * 1, at most 2^33; values differ by less than 2^31. */
uint64_t geodec_fixed_softmax(const int32_t *z, int64_t n, uint32_t *p);
/* 1 / (1 + exp(-x)) in Q30, x in Q16. */
uint32_t geodec_fixed_sigmoid(int64_t x);
/* tanh(x) in Q30 of x in Q16. */
int32_t geodec_fixed_tanh(int64_t x);
/* x sigmoid(x), and GELU in its tanh form, of x in Q24, in Q24. */
int64_t geodec_fixed_silu(int64_t x);
int64_t geodec_fixed_gelu(int64_t x);

/* 1 / sqrt(ss / n) = inv / 2^k: k is the largest one with floor(n 4^k / ss) < 2^62, inv = isqrt of that; it has 30 or
 * 31 bits. ss >= 1, n >= 1, both below 2^63. */
typedef struct geodec_fixed_rms {
    uint32_t inv;
    int k;
} geodec_fixed_rms;
geodec_fixed_rms geodec_fixed_rms_of(uint64_t ss, int64_t n);
/* x inv w / 2^k, rounded once, in the unit of w. |x|, |w| <= 2^31. */
static inline int64_t geodec_fixed_rms_apply(geodec_fixed_rms r, int64_t x, int64_t w)
{
    return geodec_wide_round(geodec_wide_mul(x * (int64_t)r.inv, w), r.k);
}

/* Cosine and sine, in Q30, of a turn times angle / 2^64; error below 2^-29. */
typedef struct geodec_fixed_turn {
    int32_t cosine, sine;
} geodec_fixed_turn;
geodec_fixed_turn geodec_fixed_turn_of(uint64_t angle);
/* Rotates (x, y), |x|, |y| < 2^31. */
static inline void geodec_fixed_rotate(geodec_fixed_turn t, int64_t *x, int64_t *y)
{
    const int64_t a = *x * t.cosine - *y * t.sine, b = *x * t.sine + *y * t.cosine;
    *x = (a + (1 << 29)) >> 30;
    *y = (b + (1 << 29)) >> 30;
}

/* SHA-256 of all tables, for manifests: [65]. */
void geodec_fixed_digest(char hex[65]);

#endif
