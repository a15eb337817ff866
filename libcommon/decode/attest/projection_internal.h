/* The random numbers and the three sums of a check (freivalds.h) modulo p = 2^61 - 1, one table per instruction set.
 * All give the same residues. 2^61 is 1 modulo p: a product of residues and a sum need no division and no
 * multiplication. */
#ifndef GEODEC_INTEGER_ATTEST_PROJECTION_INTERNAL_H
#define GEODEC_INTEGER_ATTEST_PROJECTION_INTERNAL_H

#include "attest/transcript.h"
#include "integer/engine/product_internal.h"
#include "integer/fixed/mulmod.h"

enum {
    GEODEC__PROJECTION_PRIME = 61,                      /* bits, all of them set */
    GEODEC__PROJECTION_HALF = 31,                       /* bits of the lower half of a residue; the upper one has 30 */
    GEODEC__PROJECTION_BITS = 60,                       /* of a random number */
    GEODEC__PROJECTION_COLUMNS = 2 * GEODEC_CODED_BLOCK /* of a pair of blocks */
};
#define GEODEC__PROJECTION_MASK ((1u << GEODEC__PROJECTION_HALF) - 1)
#define GEODEC__PROJECTION_P (((uint64_t)1 << GEODEC__PROJECTION_PRIME) - 1)

/* How claimed sums become results: y[i] = acc[i] 2^-(base + shift[i]), rounded as in a product. */
typedef struct geodec__projection_finish {
    const int32_t *shift; /* [rows], a whole number of panels */
    int32_t least, base;  /* the smallest of shift */
} geodec__projection_finish;

typedef struct geodec__projection_ops {
    /* The upper 60 bits of values 0 to n - 1 of a stream (base/rng.h), zeros up to a multiple of 16. Returns their sum.
     */
    uint64_t (*draw)(uint64_t seed, uint64_t stream, int64_t n, uint64_t *r);
    /* Columns 64 begin .. 64 end - 1 of u = r^T W, W(r, c) = code multiplier, r below 2^60, zero behind the last row.
     * Each in two halves: u = low + 2^31 high, high in the upper 32 bits. Not with codes of 16 bits, unless scalar. */
    void (*columns)(const geodec_panels16 *w, const uint64_t *r, int64_t begin, int64_t end, uint64_t *u);
    /* sum of u(c) v(c) 2^up. */
    uint64_t (*input)(const uint64_t *u, const geodec_rounded *x, int64_t blocks);
    /* sum of r(i) acc(i) for n claimed sums, total = sum of r(i); fills y [n]. next: bytes that are read soon, or NULL.
     */
    uint64_t (*output)(const geodec_transcript_sums *s, const uint64_t *r, uint64_t total, int64_t n,
                       const geodec__projection_finish *f, int64_t *y, const uint8_t *next);
} geodec__projection_ops;
extern const geodec__projection_ops geodec__projection_scalar, geodec__projection_avx2, geodec__projection_vbmi;
/* The best of this processor up to the set, which it has. */
const geodec__projection_ops *geodec__projection_for(geodec_isa isa);

/* Residues. */
uint64_t geodec__projection_residue(int64_t x);
uint64_t geodec__projection_reduce(geodec_mulmod_wide x);  /* x < 2^124 */
uint64_t geodec__projection_times(uint64_t a, uint64_t b); /* a, b < p */
uint64_t geodec__projection_shifted(uint64_t a, int n);    /* a 2^n; a < p, 0 <= n < 61 */
uint64_t geodec__projection_plus(uint64_t a, uint64_t b);
uint64_t geodec__projection_minus(uint64_t a, uint64_t b);
/* Two halves of a residue. */
static inline uint64_t geodec__projection_split(uint64_t u)
{
    return u >> GEODEC__PROJECTION_HALF << 32 | (u & GEODEC__PROJECTION_MASK);
}
static inline uint64_t geodec__projection_whole(uint64_t halves)
{
    return (halves >> 32 << GEODEC__PROJECTION_HALF) + (halves & UINT32_MAX);
}
/* low + 2^31 high. */
uint64_t geodec__projection_join(int64_t low, int64_t high);

/* r m modulo p, between -2^46 and 2^61 + 2^46: r = low + 2^31 high, and of 2^31 high m the multiples of 2^61 become
 * ones. */
static inline int64_t geodec__projection_scaled(uint64_t r, int m)
{
    const int64_t low = (int64_t)(r & GEODEC__PROJECTION_MASK) * m, high = (int64_t)(r >> GEODEC__PROJECTION_HALF) * m;
    const int rest = GEODEC__PROJECTION_PRIME - GEODEC__PROJECTION_HALF;
    return ((high & (((int64_t)1 << rest) - 1)) << GEODEC__PROJECTION_HALF) + low + (high >> rest);
}

#endif
