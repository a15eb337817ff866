/* Sums of products of transformed words, and of plain numbers, one table per instruction set.
 *
 * Sums of residues come in parts whose weights are powers of two, so that no part leaves 64 bits; reducing them is left
 * to the caller. All tables give sums with the same value, though not the same parts. */
#ifndef GEODEC_INTEGER_SCORES_DOTS_INTERNAL_H
#define GEODEC_INTEGER_SCORES_DOTS_INTERNAL_H

#include "kernels/settings.h"

#include <stdint.h>

enum {
    GEODEC__DOTS_WORDS = 16,  /* n of sums of residues is a multiple of it */
    GEODEC__DOTS_MOST = 4096, /* and at most this */
    GEODEC__DOTS_NARROW = 2,  /* parts */
    GEODEC__DOTS_WIDE = 6
};

typedef struct geodec__dots_ops {
    geodec_isa isa;
    /* a b of words below 2^30: part[0] + 2^32 part[1], each part below 2^44. 16 products are below 2^64. */
    void (*narrow)(const uint32_t *a, const uint32_t *b, int64_t n, uint64_t part[GEODEC__DOTS_NARROW]);
    /* a b of words below 2^60, by halves of 30 bits: part[0] + 2^32 part[1] + 2^30 (part[2] + 2^32 part[3]) + 2^60
     * (part[4] + 2^32 part[5]), each part below 2^44. */
    void (*wide)(const uint64_t *a, const uint64_t *b, int64_t n, uint64_t part[GEODEC__DOTS_WIDE]);
    /* c[i] = q . k[i] of n vectors [n][dim] whose sums fit in 64 bits. */
    void (*plain)(const int32_t *q, const int32_t *k, int64_t n, int64_t dim, int64_t *c);
} geodec__dots_ops;

extern const geodec__dots_ops geodec__dots_scalar, geodec__dots_avx2, geodec__dots_avx512;
/* NULL: the processor lacks it. */
const geodec__dots_ops *geodec__dots_for(geodec_isa isa);

#endif
