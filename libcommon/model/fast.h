/* Products in integers: weights as panels (panels.h), activations rounded to bytes, one table an instruction set.
 *
 * The result is defined operation by operation, so the three sets, any batch and any number of threads give the same
 * bits. A row x of activations is cut in blocks of 32:
 *   a = max |x|, scale = a (1/127), q = x (127/a), each factor a float32, rounded to the nearest integer, ties to even;
 *   scale = q = 0 where a < 1e-30, scale = NaN and q = 0 where a value is not finite.
 * A group of weights is 32 columns, or 16 (Q2_K, Q3_K, Q6_K), its scale s = d times the integer scale, its minimum m
 * likewise; both are exact in float32. For every output the groups ascend, from acc = 0, through
 *   sum  = sum_i (code_i - offset) q_i                 an exact integer
 *   acc  = fma((float)sum, s * scale, acc)
 *   acc  = fma(-m, (float)(sum_i q_i) * scale, acc)    where the type has minima (Q4_1 and Q5_1 add m: sign +) */
#ifndef GEODEC_MODEL_FAST_H
#define GEODEC_MODEL_FAST_H

#include "model/panels.h"

/* 32 activations of a row. The sums are for weights of one offset and group. */
typedef struct geodec__fast_block {
    int8_t q[32];
    float scale;
    float sum[2];     /* (float)(sum of q) * scale of the group, or of both groups of 16 */
    int32_t start[2]; /* -offset times the sum of q, the same way */
    int32_t unused[3];
} geodec__fast_block;
_Static_assert(sizeof(geodec__fast_block) == 64, "one line of the cache");

enum {
    /* Activations of n rows come in tiles of 16 rows: tile t is [cols / 32][rows of the tile] at block 16 t cols / 32.
     */
    GEODEC__FAST_TILE = 16
};

typedef struct geodec__fast {
    geodec_isa isa;
    /* A row of activations for weights with this offset and group: block b goes to out[b stride]. */
    void (*quantise)(const float *x, int64_t cols, int offset, int group, geodec__fast_block *out, int64_t stride);
    /* y[r][o] for panels begin .. end-1 and all n rows of x. */
    void (*product)(const geodec__panels *w, int64_t begin, int64_t end, const geodec__fast_block *x, int64_t n,
                    float *const *y);
} geodec__fast;

extern const geodec__fast geodec__fast_scalar;
extern const geodec__fast geodec__fast_avx2;
extern const geodec__fast geodec__fast_vnni;

/* The best this CPU has, not above the set asked for; AUTO gives the best. Never NULL. */
const geodec__fast *geodec__fast_for(geodec_isa isa);

#endif
