/* Products modulo q: Barrett, Shoup, Harvey, Montgomery. Functions named lazy return a value in [0, 2q). A processor
 * without a type of 128 bits uses four products of 32 bits; both forms give the same bits. */
#ifndef GEODEC_INTEGER_FIXED_MULMOD_H
#define GEODEC_INTEGER_FIXED_MULMOD_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_mulmod_wide {
    uint64_t low, high;
} geodec_mulmod_wide;

static inline geodec_mulmod_wide geodec_mulmod_product_portable(uint64_t a, uint64_t b)
{
    const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0;
    const uint64_t middle = (p00 >> 32) + (p01 & 0xffffffffu) + (p10 & 0xffffffffu);
    return (geodec_mulmod_wide){(middle << 32) | (p00 & 0xffffffffu),
                                a1 * b1 + (p01 >> 32) + (p10 >> 32) + (middle >> 32)};
}

static inline geodec_mulmod_wide geodec_mulmod_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    const u128 p = (u128)a * b;
    return (geodec_mulmod_wide){(uint64_t)p, (uint64_t)(p >> 64)};
#else
    return geodec_mulmod_product_portable(a, b);
#endif
}

/* The low 64 bits of x / 2^s, 0 <= s < 128. */
static inline uint64_t geodec_mulmod_shifted(geodec_mulmod_wide x, int s)
{
    if (s >= 64) return x.high >> (s - 64);
    return s == 0 ? x.low : x.low >> s | x.high << (64 - s);
}

/* floor(w 2^bits / q) mod 2^64; w < q < 2^63. *rest, unless NULL: what is left. */
uint64_t geodec_mulmod_quotient(uint64_t w, int bits, uint64_t q, uint64_t *rest);

/* Barrett: t = ((x >> first) mu) >> second, r = x - t q, and subtractions of q until r < q. x < q^2. */
typedef struct geodec_mulmod_barrett {
    uint64_t q, mu;
    int first, second;
} geodec_mulmod_barrett;
/* mu = floor(2^2n / q), shifts n - 1 and n + 1: one correction for the primes of 30 bits, up to two for p60. */
geodec_mulmod_barrett geodec_mulmod_classical(uint64_t q);
/* mu = floor(2^(2n+1) / q), shifts n - 2 and n + 3: at most one correction for every q. */
geodec_mulmod_barrett geodec_mulmod_tight(uint64_t q);
/* x mod q. *corrections, unless NULL: the number of subtractions. */
static inline uint64_t geodec_mulmod_reduce(const geodec_mulmod_barrett *c, geodec_mulmod_wide x, int *corrections)
{
    const uint64_t t =
        geodec_mulmod_shifted(geodec_mulmod_product(geodec_mulmod_shifted(x, c->first), c->mu), c->second);
    uint64_t r = x.low - t * c->q;
    int n = 0;
    for (; r >= c->q; n++) r -= c->q;
    if (corrections) *corrections = n;
    return r;
}

/* As geodec_mulmod_reduce, with products of 32 bits. */
static inline uint64_t geodec_mulmod_reduce_portable(const geodec_mulmod_barrett *c, geodec_mulmod_wide x)
{
    const uint64_t t =
        geodec_mulmod_shifted(geodec_mulmod_product_portable(geodec_mulmod_shifted(x, c->first), c->mu), c->second);
    uint64_t r = x.low - t * c->q;
    while (r >= c->q) r -= c->q;
    return r;
}

/* Shoup: r = w x - floor(w' x / 2^B) q with w' = floor(w 2^B / q), lazy for every x < 2^B. 64: q < 2^63; 52: q < 2^50;
 * 32: q < 2^31. w' comes from geodec_mulmod_quotient(w, B, q, NULL). */
static inline uint64_t geodec_mulmod_shoup64_lazy(uint64_t x, uint64_t w, uint64_t scaled, uint64_t q)
{
    return w * x - geodec_mulmod_product(scaled, x).high * q;
}
static inline uint64_t geodec_mulmod_shoup64_portable(uint64_t x, uint64_t w, uint64_t scaled, uint64_t q)
{
    return w * x - geodec_mulmod_product_portable(scaled, x).high * q;
}
static inline uint64_t geodec_mulmod_shoup52_lazy(uint64_t x, uint64_t w, uint64_t scaled, uint64_t q)
{
    return w * x - geodec_mulmod_shifted(geodec_mulmod_product(scaled, x), 52) * q;
}
static inline uint32_t geodec_mulmod_shoup32_lazy(uint32_t x, uint32_t w, uint32_t scaled, uint32_t q)
{
    return w * x - (uint32_t)((uint64_t)scaled * x >> 32) * q;
}
/* One correction of a lazy value. */
static inline uint64_t geodec_mulmod_once(uint64_t r, uint64_t q) { return r >= q ? r - q : r; }

/* Harvey's lazy butterflies, 4q < 2^64. Forward: inputs and outputs in [0, 4q). Inverse: in [0, 2q). */
static inline void geodec_mulmod_harvey_forward(uint64_t *x, uint64_t *y, uint64_t w, uint64_t scaled, uint64_t q)
{
    const uint64_t a = geodec_mulmod_once(*x, 2 * q), t = geodec_mulmod_shoup64_lazy(*y, w, scaled, q);
    *x = a + t;
    *y = a - t + 2 * q;
}
static inline void geodec_mulmod_harvey_inverse(uint64_t *x, uint64_t *y, uint64_t w, uint64_t scaled, uint64_t q)
{
    const uint64_t a = *x, b = *y;
    *x = geodec_mulmod_once(a + b, 2 * q);
    *y = geodec_mulmod_shoup64_lazy(a - b + 2 * q, w, scaled, q);
}

/* Montgomery, R = 2^64 or 2^32, q odd. `negative` = -q^-1 mod R. */
typedef struct geodec_mulmod_montgomery {
    uint64_t q, negative, one, square; /* one = R mod q, square = R^2 mod q */
    int bits;
} geodec_mulmod_montgomery;
/* bits: 64 (q < 2^63) or 32 (q < 2^31). */
geodec_mulmod_montgomery geodec_mulmod_montgomery_of(uint64_t q, int bits);
/* x / R mod q, x < qR; lazy. */
static inline uint64_t geodec_mulmod_redc64_lazy(const geodec_mulmod_montgomery *c, geodec_mulmod_wide x)
{
    const geodec_mulmod_wide m = geodec_mulmod_product(x.low * c->negative, c->q);
    return x.high + m.high + (x.low != 0); /* the low words sum to 0 or 2^64 */
}
static inline uint32_t geodec_mulmod_redc32_lazy(const geodec_mulmod_montgomery *c, uint64_t x)
{
    const uint32_t m = (uint32_t)x * (uint32_t)c->negative;
    return (uint32_t)((x + (uint64_t)m * c->q) >> 32);
}
/* a b mod q of plain residues by two reductions. */
uint64_t geodec_mulmod_montgomery_multiply(const geodec_mulmod_montgomery *c, uint64_t a, uint64_t b);

#endif
