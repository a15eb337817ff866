/* Forward-mode derivatives of the operators of the perspective model: each takes its inputs with tangents, and gives
 * its output with the tangent, the derivative of the output in the direction of the inputs' tangents. In float and in
 * double; sums are in double.
 *
 * A value x has its tangent dx of the same shape. A tangent that is NULL is zero. Outputs are never among the inputs
 * unless it is said, and dy is always filled. Matrices are row-major.
 *
 *   matvec         y [rows] = W x, W [rows][cols], x [cols];  dy = W dx + dW x
 *   lowrank        y [rows] += B (A x), A [rank][cols], B [rows][rank]; adds to dy likewise. work [2 rank]
 *   rmsnorm        y = gain x / sqrt(mean x^2 + eps), [n]
 *   sigmoid        y = 1 / (1 + e^-x), [n]; y may be x and dy may be dx, here and in silu and multiply
 *   silu           y = x sigmoid(x), [n]
 *   multiply       y = a b, [n]
 *   softmax        [n]
 *   rope           pairs (2 i, 2 i + 1) of x [heads][width] turned by position base^(-2 i / width); width is even
 *   step           recurrence with decay: S <- diag(g) S + v k^T, o = S q, with S [d][r], g, v, o [d], k, q [r]; the
 *                  state and its tangent ds are updated in place, and ds is not NULL
 *   attend         o [heads][width]: query head h over the last min(n, window) rows of key, value
 *                  [n][kv_heads][width], scores / sqrt(width), head h reads kv head h / (heads / kv_heads).
 *                  work [2 n]
 *   cross_entropy  *loss = -ln softmax(logits)[target] in nats, logits [n] */
#ifndef GEODEC_PERSPECTIVE_DUAL_DUAL_H
#define GEODEC_PERSPECTIVE_DUAL_DUAL_H

#include "geodec/err.h"

#include <stdint.h>

#define GEODEC_DUAL_DECLARE(REAL, N)                                                                                   \
    void N##_matvec(int64_t rows, int64_t cols, const REAL *w, const REAL *dw, const REAL *x, const REAL *dx, REAL *y, \
                    REAL *dy);                                                                                         \
    void N##_lowrank(int64_t rows, int64_t cols, int64_t rank, const REAL *b, const REAL *db, const REAL *a,           \
                     const REAL *da, const REAL *x, const REAL *dx, REAL *y, REAL *dy, REAL *work);                    \
    void N##_rmsnorm(int64_t n, double eps, const REAL *gain, const REAL *x, const REAL *dx, REAL *y, REAL *dy);       \
    void N##_sigmoid(int64_t n, const REAL *x, const REAL *dx, REAL *y, REAL *dy);                                     \
    void N##_silu(int64_t n, const REAL *x, const REAL *dx, REAL *y, REAL *dy);                                        \
    void N##_multiply(int64_t n, const REAL *a, const REAL *da, const REAL *b, const REAL *db, REAL *y, REAL *dy);     \
    void N##_softmax(int64_t n, const REAL *x, const REAL *dx, REAL *y, REAL *dy);                                     \
    void N##_rope(int64_t heads, int64_t width, int64_t position, double base, const REAL *x, const REAL *dx, REAL *y, \
                  REAL *dy);                                                                                           \
    void N##_step(int64_t d, int64_t r, const REAL *g, const REAL *dg, const REAL *v, const REAL *dv, const REAL *k,   \
                  const REAL *dk, const REAL *q, const REAL *dq, REAL *s, REAL *ds, REAL *o, REAL *d_o);               \
    void N##_attend(int64_t heads, int64_t kv_heads, int64_t width, int64_t n, int64_t window, const REAL *q,          \
                    const REAL *dq, const REAL *key, const REAL *dkey, const REAL *value, const REAL *dvalue, REAL *o, \
                    REAL *d_o, REAL *work);                                                                            \
    void N##_cross_entropy(int64_t n, int64_t target, const REAL *logits, const REAL *dlogits, double *loss,           \
                           double *dloss)

GEODEC_DUAL_DECLARE(float, geodec_dual_f32);
GEODEC_DUAL_DECLARE(double, geodec_dual_f64);

#endif
