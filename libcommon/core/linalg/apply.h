/* A small square matrix applied to many vectors: y_b = A x_b, b < B. The cost of correcting B queries.
 *
 * A is packed once (columns padded to eight rows). y_i is the sum over even columns plus the sum over odd columns, each
 * in ascending order with fused multiply-adds, on every instruction set and for every B: all give the same bits. */
#ifndef GEODEC_LINALG_APPLY_H
#define GEODEC_LINALG_APPLY_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_APPLY_MAX_N = 128 };

typedef struct geodec_apply {
    int64_t n, rows; /* rows: n rounded up to eight */
    double *column;  /* [n][rows] */
    const struct geodec__small_kernels *kernels;
} geodec_apply;

/* a [n][n] row-major, 1 <= n <= GEODEC_APPLY_MAX_N. GEODEC_RANGE, GEODEC_NOMEM. */
geodec_status geodec_apply_init(int64_t n, const double *a, geodec_apply *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_apply_clear(geodec_apply *a);
/* x, y [count][n], y may not overlap x. */
void geodec_apply_many(const geodec_apply *a, int64_t count, const double *x, double *y);
/* Peak rate of a core: multiply-adds in registers alone, `rounds` times geodec_apply_peak_flops. Returns a number that
 * depends on all of them. */
int64_t geodec_apply_peak_flops(void);
double geodec_apply_peak(int64_t rounds);

#endif
