/* Products in integers: weights as panels (panels_internal.h), activations rounded block by block, one table per
 * instruction set.
 *
 * The result is defined operation by operation, so the three sets, any batch and any number of threads give the same
 * bits. A row x of activations is divided into blocks of 32. With M = 127 in fast arithmetic and 8225600 in exact:
 *   a = max |x|, scale = a (1/M), q = x (M/a), each factor a float32, rounded to the nearest integer, ties to even;
 *   scale = q = 0 where a < 1e-30, scale = NaN and q = 0 where a value is not finite.
 * In exact arithmetic q has the precision of the mantissa of the block's largest value, stored as three digits: q = 254
 * (254 q2 + q1) + q0, each -127 to 127: r1 = q (1/254), rounded in the same way, q0 = q - 254 r1; so r1 again.
 *
 * A group of weights is 32 columns, or 16 (Q2_K, Q3_K, Q6_K, some IQ types, NVFP4), its scale s = d times the integer
 * scale (times the unit of the levels; MXFP4 and NVFP4: a float alone), its minimum m likewise; both are exact in
 * float32. (code - offset) is the level of a code where the type has levels. For every output the groups ascend, from
 * acc = 0, through fast    sum = (float) sum_i (code_i - offset) q_i                              from an exact integer
 *   exact   sum = fma((float)high, 64516, (float)low)                              from two exact integers,
 *           high = sum_i (code_i - offset) q2_i, low = sum_i (code_i - offset) (254 q1_i + q0_i)
 *   acc  = fma(sum, s * scale, acc)
 *   acc  = fma(-m, (float)(sum_i q_i) * scale, acc)    if the type has minima (Q4_1 and Q5_1 add m: sign +) */
#ifndef GEODEC_MODEL_KERNELS_PRODUCTS_INTERNAL_H
#define GEODEC_MODEL_KERNELS_PRODUCTS_INTERNAL_H

#include "kernels/panels_internal.h"

/* 32 activations of a row, for weights of one offset and group. Weights have minima or an offset, never both. */
typedef struct geodec__rounded {
    float scale;
    union {
        float sum[2];        /* of the group, or of both groups of 16: (float)(sum of q) * scale */
        int32_t start[2][3]; /* the same for each digit: the start of a sum of codes, which subtracts the offset */
    } group;
    int32_t unused;
    int8_t q[][32]; /* [1] in fast arithmetic, [3] in exact: q0, q1, q2 */
} geodec__rounded;
_Static_assert(sizeof(geodec__rounded) == 32, "one line of the cache with one digit, two with three");

enum {
    /* Activations of n rows are in tiles of 16 rows: tile t is [cols / 32][rows of the tile] at block 16 t cols /
     * 32. */
    GEODEC__PRODUCT_TILE = 16
};

typedef struct geodec__product {
    int64_t block_bytes; /* bytes of a block of activations of the type of x and out */
    /* A row of activations for weights with this offset and group: block b goes to out[b stride]. */
    void (*round)(const float *x, int64_t cols, int offset, int group, void *out, int64_t stride);
    /* y[r][o] for panels begin .. end-1 and all n rows of x. */
    void (*multiply)(const geodec__panels *w, int64_t begin, int64_t end, const void *x, int64_t n, float *const *y);
} geodec__product;

typedef struct geodec__products {
    geodec_isa isa;
    geodec__product fast, exact; /* exact: only formats that it has (panels_internal.h) */
} geodec__products;

extern const geodec__products geodec__products_scalar;
extern const geodec__products geodec__products_avx2;
extern const geodec__products geodec__products_vnni;

/* The best of this CPU up to the requested set; AUTO: the best. Never NULL. */
const geodec__products *geodec__products_for(geodec_isa isa);
static inline const geodec__product *geodec__product_of(const geodec__products *p, geodec_arithmetic a)
{
    return a == GEODEC_FAST ? &p->fast : &p->exact;
}

#endif
