/* The metric field of the published harness, which geodec-published computes with.
 *
 *     g(x) = exp( sum_p w_p log(g_p + 1e-9 I) / sum_p w_p ),   w_p = exp(-|x - s_p|^2 / 2 sigma^2)
 *
 * with its details: eigenvalues are floored at 1e-12 before the logarithm, weights below 1e-12 are left out of the
 * upper sum but not of the lower, and where all weights together are below 1e-12 the field jumps: to the identity while
 * a manifold is fitted, to the matrix of the nearest site in the sampled manifold. At sigma = 0.6 and points 2 to 6
 * apart the field is constant in cells with steep walls between them. geometry/rbf.h is the field without these
 * defects.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_HARNESS_FIELD_H
#define GEODEC_LAB_HARNESS_FIELD_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_PUBLISHED_MAX_N = 64 };

typedef struct geodec_harness_field {
    int64_t sites, n;
    double sigma;
    bool nearest;   /* far from all sites: the nearest site's matrix; else the identity */
    double *site;   /* [sites][n] */
    double *site_t; /* [n][padded], the last site repeated */
    int64_t padded; /* sites, rounded up to a multiple of eight */
    double *g;      /* [sites][n][n] as given */
    double *log_g;  /* [sites][n][n] */
} geodec_harness_field;

/* site [sites][n], g [sites][n][n] symmetric positive definite; copied. sigma > 0. 1 <= n <= 64.
 * GEODEC_RANGE, GEODEC_NUMERIC (not finite). */
geodec_status geodec_harness_field_init(geodec_harness_field *f, int64_t sites, int64_t n, const double *site,
                                        const double *g, double sigma, bool nearest, geodec_err *err) GEODEC_MUST_USE;
void geodec_harness_field_clear(geodec_harness_field *f);
/* Index of the nearest of `sites` points site [sites][n], the lowest of several; x [n]. With a coordinate
 * that is not a number the result is 0, as in the harness's argmin. */
int64_t geodec_harness_field_nearest(int64_t sites, int64_t n, const double *site, const double *x);
/* g [n][n] at x [n]; scratch: geodec_harness_field_scratch(n) doubles. GEODEC_NUMERIC at a point that is not finite.
 */
int64_t geodec_harness_field_scratch(int64_t n);
geodec_status geodec_harness_field_at(const geodec_harness_field *f, const double *x, double *g, double *scratch,
                                      geodec_err *err) GEODEC_MUST_USE;

/* The metric of geodec_harness_field_at as eigenvalues d [n] of g, rising, and eigenvectors, rows of v [n][n]; *far =
 * there is no weight (the fallback applies; d and v are unchanged). */
geodec_status geodec_harness_field_eigen(const geodec_harness_field *f, const double *x, double *d, double *v,
                                         bool *far, double *scratch, geodec_err *err) GEODEC_MUST_USE;

/* Gamma^k_ij by central differences of step h of any metric function, with the inverse of (g_x + 1e-9 I), where g_x
 * [n][n] is the metric at x; gamma [n][n][n], k last. scratch: geodec_harness_field_christoffel_scratch(n) doubles. */
typedef geodec_status (*geodec_harness_field_metric_fn)(const void *ctx, const double *x, double *g, geodec_err *err);
int64_t geodec_harness_field_christoffel_scratch(int64_t n);
geodec_status geodec_harness_field_christoffel(int64_t n, geodec_harness_field_metric_fn fn, const void *ctx,
                                               const double *x, const double *g_x, double h, double *gamma,
                                               double *scratch, geodec_err *err) GEODEC_MUST_USE;

#endif
