/* The three sums of a check (freivalds.h) modulo p = 2^59 + GEODEC_MODULUS_FOLD, one table per instruction set. All
 * give the same residues. */
#ifndef GEODEC_INTEGER_ATTEST_PROJECTION_INTERNAL_H
#define GEODEC_INTEGER_ATTEST_PROJECTION_INTERNAL_H

#include "integer/attest/transcript.h"
#include "integer/engine/product_internal.h"
#include "integer/ntt/modulus.h"
#include "integer/ntt/mulmod.h"

enum {
    GEODEC__PROJECTION_HALF = 30 /* bits */,
    GEODEC__PROJECTION_BITS = GEODEC_MODULUS_SHIFT /* of a random number */
};
#define GEODEC__PROJECTION_MASK ((1u << GEODEC__PROJECTION_HALF) - 1)

/* How claimed sums become results: y[i] = acc[i] 2^-(base + shift[i]), rounded as in a product. */
typedef struct geodec__projection_finish {
    const int32_t *shift; /* [rows], a whole number of panels */
    int32_t least, base;  /* the smallest of shift */
} geodec__projection_finish;

typedef struct geodec__projection_ops {
    /* Columns 64 begin .. 64 end - 1 of u = r^T W, W(r, c) = code multiplier, r below 2^59, zero behind the last row.
     * Each in two halves: u = low + 2^30 high, high in the upper 32 bits. Not with codes of 16 bits, unless scalar. */
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
uint64_t geodec__projection_reduce(geodec_mulmod_wide x);  /* x < 2^122 */
uint64_t geodec__projection_times(uint64_t a, uint64_t b); /* a, b < p */
uint64_t geodec__projection_plus(uint64_t a, uint64_t b);
uint64_t geodec__projection_minus(uint64_t a, uint64_t b);
/* Two halves of a residue. */
static inline uint64_t geodec__projection_split(uint64_t u)
{
    return u >> GEODEC__PROJECTION_HALF << 32 | (u & GEODEC__PROJECTION_MASK);
}
/* sum of u(c) v(c) 2^up from its halves. */
uint64_t geodec__projection_join(int64_t low, int64_t high);

/* r m modulo p without a division, between -2^47 and 2^59 + 2^47: r = low + 2^30 high, and the multiple of 2^59 in
 * 2^30 high m becomes one of -GEODEC_MODULUS_FOLD. */
static inline int64_t geodec__projection_scaled(uint64_t r, int m)
{
    const int64_t low = (int64_t)(r & GEODEC__PROJECTION_MASK) * m, high = (int64_t)(r >> GEODEC__PROJECTION_HALF) * m;
    const int rest = GEODEC_MODULUS_SHIFT - GEODEC__PROJECTION_HALF;
    return ((high & (((int64_t)1 << rest) - 1)) << GEODEC__PROJECTION_HALF) + low -
           (high >> rest) * GEODEC_MODULUS_FOLD;
}

#endif
