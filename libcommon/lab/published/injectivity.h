/* The harness's "spectral injectivity radius" and initial velocities, and the manuscript's calibration-free radius.
 *
 *     rho_raw = pi / ( sqrt(lambda_max(Cov(grad_x A))) |A| ),   A_y = exp(-d_g(x,y)^2 / 4 tau)
 *
 * over up to 12 neighbours y, with d_g by the metric at the middle of x and y and the gradient by central differences.
 * Its calibration target, rho_hat = C rho_raw by least squares through the origin on the "unsaturated" anchors, is not
 * an injectivity radius but the largest of eight perturbations at which the harness's propagator errs by at most 1e-9:
 * inside a cell of constant symbols that is the distance to the cell's wall.
 *
 * The initial velocity -grad_x(-log A) (a covector used as a vector) is compared with the direction y - x. Its second
 * form g^-1 g (y - x) is y - x again, so its agreement is an identity.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_INJECTIVITY_H
#define GEODEC_LAB_PUBLISHED_INJECTIVITY_H

#include "artifact/artifact.h"
#include "lab/harness/manifold.h"

typedef struct geodec_injectivity_published_radius_fit {
    int64_t fitted, total;
    double C, r_fit, r_all, mape, rmse; /* mape over anchors whose measured radius is above 1e-6 */
} geodec_injectivity_published_radius_fit;

typedef struct geodec_published_velocity {
    double cosine, error; /* gradient form: cosine with y - x, y the nearest other point; of the endpoints */
    double local_cosine, local_error; /* the form that is y - x */
} geodec_published_velocity;

/* Gamma(1/k) / sqrt(pi) (V_k / N)^(1/k) sigma, V_k the volume of the unit ball: the "universal" radius. The expected
 * distance to the nearest of N points of density f is Gamma(1 + 1/k) (N V_k f)^(-1/k), with V_k in the denominator. */
double geodec_injectivity_published_universal(int64_t k, int64_t points, double sigma);

/* ---- the whole experiment ---------------------------------------------------------------------------------------- */

/* The published run: its anchors with the radii measured there (both from numpy's samples, printed in its result file),
 * and its queries. The control repeats the calibration with every point as an anchor and radii measured along our own
 * directions. */
typedef struct geodec_injectivity_published {
    int64_t anchors, queries, points;
    int64_t *anchor, *query;             /* [anchors], [queries] */
    double *raw, *measured;              /* [anchors] */
    geodec_published_velocity *velocity; /* [queries] */
    double *all_raw, *all_measured;      /* [points] */
    geodec_injectivity_published_radius_fit fit, all;
    double cosine, error, local_cosine, local_error; /* means over the queries */
} geodec_injectivity_published;
void geodec_injectivity_published_clear(geodec_injectivity_published *r);
/* measured [anchors], or NULL: by our own samples. GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_NOMEM, GEODEC_INTERRUPTED. */
geodec_status geodec_injectivity_published_run(int64_t points, int64_t n, const double *point, int64_t anchors,
                                               const int64_t *anchor, const double *measured, int64_t queries,
                                               const int64_t *query, uint64_t seed, geodec_pool *pool,
                                               const geodec_hooks *hooks, geodec_injectivity_published *out,
                                               geodec_err *err) GEODEC_MUST_USE;
extern const geodec_kind geodec_injectivity_published_kind;
/* nn [4]: as in lab/injectivity/injectivity.h (universal radius, nearest distance, its closed form, its null). held_out
 * [3]: on all points, correlation and mean relative error of predictions with C of the others, and that error for a
 * constant. */
geodec_status geodec_injectivity_published_write(const geodec_injectivity_published *r, const double nn[4],
                                                 const double held_out[3], geodec_artifact *a,
                                                 geodec_err *err) GEODEC_MUST_USE;

/* The numbers of a list separated by commas; where text is NULL, `count` of `points` places, evenly spread. In new
 * memory. GEODEC_INVAL names the option. */
geodec_status geodec_injectivity_published_list(const char *text, const char *option, int64_t points, int64_t count,
                                                double **out, int64_t *n_out, geodec_err *err) GEODEC_MUST_USE;
/* The numbers x [n] of a list as numbers of points. GEODEC_INVAL: not whole, or not below `points`. */
geodec_status geodec_injectivity_published_points(const double *x, int64_t n, int64_t points, const char *option,
                                                  int64_t **out, geodec_err *err) GEODEC_MUST_USE;

#endif
