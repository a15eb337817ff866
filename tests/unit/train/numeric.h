/* Central differences against an analytic gradient, in float64. */
#ifndef GEODEC_TESTS_TRAIN_NUMERIC_H
#define GEODEC_TESTS_TRAIN_NUMERIC_H

#include "base/rng.h"

#include <math.h>
#include <stdint.h>

typedef double (*numeric_fn)(void *ctx);

/* Largest |numeric - analytic| over x[0..n) divided by the largest |analytic|; every `stride`-th element is tried.
 * f must read x; x is left as it was. Fourth-order differences, so that h may be large against rounding. */
static inline double numeric_error(numeric_fn f, void *ctx, double *x, const double *analytic, int64_t n,
                                   int64_t stride)
{
    double worst = 0, scale = 0;
    const double h = 1e-3;
    for (int64_t i = 0; i < n; i++) scale = fmax(scale, fabs(analytic[i]));
    for (int64_t i = 0; i < n; i += stride) {
        const double keep = x[i];
        double y[4];
        const double step[4] = {h, -h, 2 * h, -2 * h};
        for (int k = 0; k < 4; k++) {
            x[i] = keep + step[k];
            y[k] = f(ctx);
        }
        x[i] = keep;
        const double numeric = (8 * (y[0] - y[1]) - (y[2] - y[3])) / (12 * h);
        const double e = fabs(numeric - analytic[i]);
        worst = e > worst || isnan(e) ? (isnan(e) ? INFINITY : e) : worst;
    }
    return scale > 0 ? worst / scale : INFINITY;
}

static inline void numeric_fill(double *x, int64_t n, uint64_t stream, double scale)
{
    geodec_rng r = geodec_rng_stream(20, stream);
    for (int64_t i = 0; i < n; i++) x[i] = scale * geodec_rng_normal(&r);
}

static inline double numeric_dot(const double *a, const double *b, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

#endif
