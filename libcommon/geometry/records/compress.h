/* Compression of one record: the path is stored as a few waypoints, its propagators as the low-rank part of Phi - I.
 *
 * Phi is close to I and has no small singular values, so truncating Phi to rank r has a relative error of sqrt((n - r)
 * / n). Phi - I, the difference from a plain shift, does have a small numerical rank. */
#ifndef GEODEC_RECORDS_COMPRESS_H
#define GEODEC_RECORDS_COMPRESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- propagators ------------------------------------------------------------------------------------------------ */

typedef struct geodec_compress_factors {
    int32_t rank; /* r; n when full */
    bool full;    /* Phi - I stored entry by entry, because 2 n r >= n^2 */
    double error; /* largest over the matrices of |stored - Phi|_F / |Phi|_F, float32 rounding included */
    double naive; /* the same for Phi (instead of Phi - I) truncated to rank r: the control */
} geodec_compress_factors;

/* Number of values in a record of `count` matrices: count n^2 when full, else count 2 n r. */
int64_t geodec_compress_factors_size(int64_t n, int64_t count, int32_t rank, bool full);
/* Finds the smallest rank with |truncated - (Phi - I)|_F <= tolerance |Phi|_F for every matrix phi [count][n][n];
 * packed [count n^2] receives geodec_compress_factors_size numbers: per matrix U [n][r] then V [n][r], Phi - I = U V^T
 * with the singular values split evenly, or the matrix itself. GEODEC_NUMERIC when phi is not finite. */
geodec_status geodec_compress_factors_make(int64_t n, int64_t count, const double *phi, double tolerance, float *packed,
                                           geodec_compress_factors *out, geodec_err *err) GEODEC_MUST_USE;
/* Relative errors of one matrix phi [n][n] at ranks 1..n: with phi - I truncated (cut), and with phi truncated (naive);
 * each [n], relative to |phi|_F. */
geodec_status geodec_compress_factors_by_rank(int64_t n, const double *phi, float *cut, float *naive,
                                              geodec_err *err) GEODEC_MUST_USE;
/* Matrix i of a packed record: phi [n][n] = I + U V^T. */
void geodec_compress_factors_expand(int64_t n, int32_t rank, bool full, const float *packed, int64_t i, double *phi);

/* ---- paths ------------------------------------------------------------------------------------------------------ */

/* Waypoints at every stride-th node, relative to the first node, as float16 multiples of one scale each for x and v. */
typedef struct geodec_compress_waypoints {
    int64_t n, count;     /* count = steps / stride + 1 */
    double interval;      /* parameter length between waypoints */
    const double *origin; /* [n] */
    float x_scale, v_scale;
    const uint16_t *x, *v; /* [count][n] */
} geodec_compress_waypoints;

/* steps must be a multiple of stride. x [count][n], v [count][n] of w are written; xs, vs [steps + 1][n]. */
void geodec_compress_waypoints_make(int64_t n, int64_t steps, int64_t stride, const double *xs, const double *vs,
                                    uint16_t *x, uint16_t *v, float *x_scale, float *v_scale);
/* Position at parameter t in [0, (count - 1) interval] by cubic Hermite interpolation: x [n]. */
void geodec_compress_waypoints_at(const geodec_compress_waypoints *w, double t, double *x);

#endif
