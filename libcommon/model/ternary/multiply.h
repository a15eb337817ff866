/* Products of ternary matrices with vectors: y_o = s_o sum_i t_oi x_i, in two arithmetics. Both are defined operation
 * by operation, so that every instruction set, any number of vectors and any number of threads give the same bits.
 *
 * INT8. Activations are rounded vector by vector: sx = max |x| / 127, q = x / sx rounded to the nearest integer, ties
 * to even; sx = q = 0 where max |x| < 1e-30; sx = NaN and q = 0 where a value is not finite. With the codes c = t + 1
 *   y = (float)(sum c q - sum q) (sx s)
 * from exact integers: |sum c q| <= 254 GEODEC_TERNARY_COLUMNS < 2^31.
 *
 * FLOAT. Additions and subtractions of float32 under masks; the only multiplication is that by s. Column i belongs to
 * lane i mod 16. In each lane, from 0, columns ascend: x is added where t = 1, subtracted where t = -1. Then lane l and
 * lane l + 8 are added, l and l + 4, l and l + 2, l and l + 1. NaN and infinity count only where t is not 0. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_MULTIPLY_H
#define GEODEC_PERSPECTIVE_TERNARY_MULTIPLY_H

#include "base/pool.h"
#include "kernels/settings.h"
#include "ternary/ternary.h"

typedef enum geodec_ternary_arithmetic { GEODEC_TERNARY_INT8, GEODEC_TERNARY_FLOAT } geodec_ternary_arithmetic;

/* Vectors of one length, prepared for matrices of either encoding. Members are read by geodec_ternary_multiply. */
typedef struct geodec_ternary_input {
    geodec_ternary_arithmetic arithmetic;
    int64_t cols, most; /* vectors that fit */
    int64_t stride;     /* of vectors in q or x; further columns are 0 */
    float *x;           /* FLOAT: [most][stride] */
    int8_t *q;          /* INT8: [most][stride] */
    float *scale;       /* INT8: sx [most] */
    int32_t *sum;       /* INT8: sum of q [most] */
} geodec_ternary_input;

/* GEODEC_LIMIT (cols, most), GEODEC_NOMEM. Free with geodec_ternary_input_clear. */
geodec_status geodec_ternary_input_create(geodec_ternary_arithmetic a, int64_t cols, int64_t most,
                                          geodec_ternary_input *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_ternary_input_clear(geodec_ternary_input *in); /* may be all zero */
/* Vector i becomes x [cols]. */
void geodec_ternary_input_set(geodec_ternary_input *in, int64_t i, const float *x);

/* Row o as float32, (float)t s of each column; the same bits with every set. */
void geodec_ternary_expand(const geodec_ternary_matrix *m, int64_t o, geodec_isa isa, float *out);
/* y[i] [rows] for the first n vectors, in 64-row tasks of the pool (NULL: on this thread). in->cols = m->cols; m is a
 * matrix that geodec_ternary_check accepts. isa: the best of this CPU up to the requested set. */
void geodec_ternary_multiply(const geodec_ternary_matrix *m, const geodec_ternary_input *in, int64_t n, geodec_isa isa,
                             geodec_pool *pool, float *const *y);

#endif
