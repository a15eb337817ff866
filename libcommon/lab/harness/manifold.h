/* The published harness's sampled manifold: a metric and Christoffel symbols at sample points, looked up at the nearest
 * sample. Goldens fix every figure; geometry/ has the correct computation.
 *
 * Built in three steps: a metric at each point, the inverse of
 *     C = D^T D / (k - 1) + ridge I,   D = the k nearest neighbours minus the point,
 * with eigenvalues clipped; the field of lab/harness/field.h through them with the identity far away; its values and
 * its finite-difference Christoffel symbols at the points. The accessor then smooths the already smoothed samples
 * again.
 *
 * Consequences of the nearest-sample symbols: within a cell a geodesic solves an equation with constant coefficients
 * (which diverges in finite time), and the derivative of the symbols is zero, so the "Riemann tensor" is the quadratic
 * part alone and not a tensor, and the propagator made of it is not the derivative of the flow.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_HARNESS_MANIFOLD_H
#define GEODEC_LAB_HARNESS_MANIFOLD_H

#include "base/hooks.h"
#include "base/pool.h"
#include "chain/metric.h"
#include "geometry/space.h"
#include "lab/harness/field.h"

typedef struct geodec_harness_options {
    int64_t k;                 /* neighbours; at most points - 1; default 8 */
    double ridge;              /* default 1e-3 */
    double clip_min, clip_max; /* of the eigenvalues of g; default 1e-3 .. 1e3 */
    double sigma;              /* default 0.6 */
    double h;                  /* of the finite differences; default 1e-2 */
} geodec_harness_options;
geodec_harness_options geodec_harness_defaults(void);

/* The local metrics: g [points][n][n], index [points][k] nearest first (may be NULL).
 * GEODEC_RANGE, GEODEC_NUMERIC. */
geodec_status geodec_harness_metric(int64_t points, int64_t n, const double *point, const geodec_harness_options *o,
                                    geodec_pool *pool, const geodec_hooks *hooks, double *g, int32_t *index,
                                    geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_harness_manifold {
    geodec_space space; /* first: g by the accessor, Gamma of the nearest sample; dg is not there (UNSUPPORTED) */
    int64_t samples, n;
    double *point;                 /* [samples][n] */
    double *g;                     /* [samples][n][n] of the table: smoothed once */
    double *gamma;                 /* [samples][n][n][n] */
    double *g_raw;                 /* [samples][n][n] before smoothing; NULL for a manifold made from tables */
    double sigma;                  /* of the accessor; 0 = the nearest sample's g */
    geodec_harness_field fitted;   /* through g_raw; empty for a manifold made from tables */
    geodec_harness_field accessor; /* through g; empty when sigma is 0 */
} geodec_harness_manifold;

/* All three steps. The manifold must not be moved: it is its own space's context. */
geodec_status geodec_harness_manifold_fit(int64_t points, int64_t n, const double *point,
                                          const geodec_harness_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                          geodec_harness_manifold *m, geodec_err *err) GEODEC_MUST_USE;
/* A manifold from existing tables, which are copied. */
geodec_status geodec_harness_manifold_table(int64_t samples, int64_t n, const double *point, const double *g,
                                            const double *gamma, double sigma, geodec_harness_manifold *m,
                                            geodec_err *err) GEODEC_MUST_USE;
/* A metric of kind `published` with the unsmoothed local metrics of a fitted manifold, for the artifact. */
geodec_status geodec_harness_manifold_metric(const geodec_harness_manifold *m, const geodec_harness_options *o,
                                             geodec_pool *pool, const geodec_hooks *hooks, geodec_metric *out,
                                             geodec_err *err) GEODEC_MUST_USE;
/* The tables of a fitted manifold into a metric artifact whose other fields geodec_metric_write has written; h: step of
 * its differences. */
geodec_status geodec_harness_manifold_write(const geodec_harness_manifold *m, double h, geodec_artifact *a,
                                            geodec_err *err) GEODEC_MUST_USE;
/* Reads them; metric: the result of geodec_metric_read on the same artifact. GEODEC_FORMAT when it holds none. */
geodec_status geodec_harness_manifold_read(const geodec_artifact *a, const geodec_metric *metric,
                                           geodec_harness_manifold *m, geodec_err *err) GEODEC_MUST_USE;
void geodec_harness_manifold_clear(geodec_harness_manifold *m);

/* The field the samples' symbols were differenced from, as a space: g alone (no derivative, no symbols). */
typedef struct geodec_harness_fitted {
    geodec_space space;
    const geodec_harness_field *field;
} geodec_harness_fitted;
/* m must have been fitted and outlive it; h: step of the differences. */
void geodec_harness_fitted_init(geodec_harness_fitted *f, const geodec_harness_manifold *m, double h);

/* g [n][n] at x by the accessor. */
geodec_status geodec_harness_g_at(const geodec_harness_manifold *m, const double *x, double *g,
                                  geodec_err *err) GEODEC_MUST_USE;
/* Gamma [n][n][n] of the sample nearest to x; inside the manifold. */
const double *geodec_harness_gamma_at(const geodec_harness_manifold *m, const double *x);
/* v [n] to unit speed at x; unchanged when its squared length is below 1e-12. */
geodec_status geodec_harness_unit(const geodec_harness_manifold *m, const double *x, double *v,
                                  geodec_err *err) GEODEC_MUST_USE;
/* *d = |y - x| by the accessor's metric half-way between the two. */
geodec_status geodec_harness_distance(const geodec_harness_manifold *m, const double *x, const double *y, double *d,
                                      geodec_err *err) GEODEC_MUST_USE;
/* Classical Runge-Kutta: xs, vs [steps + 1][n] (vs may be NULL). Values that overflow are kept, NaN included. */
void geodec_harness_geodesic(const geodec_harness_manifold *m, const double *x0, const double *v0, int64_t steps,
                             double dl, double *xs, double *vs);
/* riem [n][n][n][n] at x with differences of step h (5e-3 in the harness) of the nearest sample's symbols.
 * scratch: n^4 doubles. */
void geodec_harness_riemann(const geodec_harness_manifold *m, const double *x, double h, double *riem, double *scratch);
/* The "Magnus-3" propagator along a path xs, vs [steps + 1][n]: a cubic Taylor step of the mean of the end points'
 * tensors; phi [steps + 1][n][n]. GEODEC_NOMEM. */
geodec_status geodec_harness_propagator(const geodec_harness_manifold *m, const double *xs, const double *vs,
                                        int64_t steps, double dl, double *phi, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_harness_propagator, with any other tensor: riem [n]^4 at x (with a space's true one, the remaining error is
 * that of the rule). */
typedef geodec_status (*geodec_harness_riemann_fn)(const void *ctx, const double *x, double *riem, geodec_err *err);
geodec_status geodec_harness_propagator_with(int64_t n, geodec_harness_riemann_fn tensor, const void *ctx,
                                             const double *xs, const double *vs, int64_t steps, double dl, double *phi,
                                             geodec_err *err) GEODEC_MUST_USE;
#endif
