/* Injectivity radius: the distance up to which the exponential map of a point is one to one. It is limited by a
 * conjugate point (exp stops being an immersion: the propagator dx(t)/dv0 loses rank), by a second geodesic to the same
 * point that is not longer, or by a geodesic loop of twice the length (Klingenberg: inj >= min(pi / sqrt(K_max), half
 * the shortest loop); do Carmo 1992, ch. 13). All three are searched along seeded directions, so the result is an upper
 * bound. Where nothing is found up to the reach, the radius is censored there.
 *
 * Also measured: the manuscript's estimate from a heat kernel (lab/published/injectivity.h: the raw value, here with
 * the given metric), calibrated on all anchors but the predicted one, and its targets: the validity radius of the
 * propagator and the injectivity radius. Controls: a constant (the mean of the other anchors), permuted anchors, and a
 * sphere (pi), hyperbolic space (none) and a flat torus (half its shortest side). */
#ifndef GEODEC_LAB_INJECTIVITY_INJECTIVITY_H
#define GEODEC_LAB_INJECTIVITY_INJECTIVITY_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "geometry/space.h"

#include <stdbool.h>

typedef struct geodec_injectivity_options {
    int64_t anchors;    /* points, evenly spread; default 16 */
    int64_t directions; /* geodesics from each; default 3 */
    int64_t steps;      /* of each; default 32 */
    double reach;       /* g-length of each; 0 = 4 times the median g-distance of an anchor to its nearest point */
    double tau;         /* tolerance of the validity radius; default 0.05 */
    double kernel;      /* tau of the heat kernel; 0 = the square of the median g-distance to the nearest point / 8, so
                           that a typical neighbour has A = e^-2, as the published 0.5 has at a distance of 2 */
    uint64_t seed;
    geodec_sweep *sweep; /* anchors in slices, which are not summed up; NULL: at once */
} geodec_injectivity_options;
geodec_injectivity_options geodec_injectivity_defaults(void);

/* One anchor. A radius equal to the reach was not found (censored); infinity: no bound. */
typedef struct geodec_injectivity_anchor {
    int64_t point;
    double conjugate, meeting, half_loop; /* nearest found */
    double radius;                        /* the least of them */
    bool censored;                        /* radius = reach */
    double k_max;                         /* largest sectional curvature found, at the anchor and on its geodesics */
    double k_operator;                    /* largest eigenvalue of the curvature operator there: not less */
    double bound;                         /* pi / sqrt(k_max), infinite for k_max <= 0 */
    double raw;                           /* heat-kernel estimate before calibration */
    double validity;                      /* perturbation (g-length) at which the propagator errs by tau */
    bool validity_censored;
    int64_t broken; /* geodesics that left the chart or drifted */
} geodec_injectivity_anchor;

/* rho_i = C_(-i) raw_i, C_(-i) by least squares through the origin on all others. */
typedef struct geodec_injectivity_held_out {
    int64_t count;         /* anchors whose target is not censored */
    double C;              /* of all */
    double r_in, r_out, p; /* correlation in sample, held out; share of 2000 permutations with at least |r_in| */
    double mape_in, mape_out, mape_constant; /* mean |error| / target: in sample, held out, the others' mean */
} geodec_injectivity_held_out;
/* Over the entries with use[i] (NULL = all). Zero everywhere below 3 of them. */
void geodec_injectivity_leave_one_out(int64_t count, const double *raw, const double *target, const uint8_t *use,
                                      uint64_t seed, geodec_injectivity_held_out *out);

typedef struct geodec_injectivity {
    int64_t anchors;
    double reach, kernel;
    geodec_injectivity_anchor *anchor; /* [anchors] */
    int64_t found;                     /* anchors whose radius is not censored */
    double median_radius, median_bound, median_validity;
    int64_t below_bound; /* anchors with a radius below the bound: loops or a search along other planes */
    geodec_injectivity_held_out on_validity, on_radius;
    double sphere, torus; /* control: relative errors of pi and of half the shortest side */
    int64_t hyperbolic;   /* control: conjugate points and meetings found where there are none */
} geodec_injectivity;
void geodec_injectivity_clear(geodec_injectivity *r);

/* point [points][n] of the space's chart. period [n]: lengths after which the chart repeats itself, 0 = never; NULL =
 * never. GEODEC_SCARCE (fewer than 4 points, or equal ones), GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_NOMEM,
 * GEODEC_INTERRUPTED. */
geodec_status geodec_injectivity_run(const geodec_space *s, int64_t points, const double *point, const double *period,
                                     const geodec_injectivity_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                     geodec_injectivity *out, geodec_err *err) GEODEC_MUST_USE;

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* First conjugate point along the geodesic of x0 with g-unit v0 up to `reach`; *t = reach when there is none.
 * Between two nodes a singular value of the propagator changes sign where its polar factor turns by a reflection, which
 * counts double zeros too. *good: length up to which the path is sound. */
geodec_status geodec_injectivity_conjugate(const geodec_space *s, const double *x0, const double *v0, double reach,
                                           int64_t steps, double *t, double *good, geodec_err *err) GEODEC_MUST_USE;
/* Largest sectional curvature at x by alternating maximisation over the two vectors of a plane (each step an
 * eigenproblem) from seeded planes, and the largest eigenvalue of the curvature operator. n <= 24. */
geodec_status geodec_injectivity_sectional(const geodec_space *s, const double *x, uint64_t seed, double *k_max,
                                           double *k_operator, geodec_err *err) GEODEC_MUST_USE;

extern const geodec_kind geodec_injectivity_kind;
/* Fills a new artifact; the caller commits. universal, nn: of the published calibration-free radius (see the
 * attributes); nn [4]: universal, mean nearest distance, its closed form for a normal cloud of the same covariance, the
 * same measured on such a cloud. */
geodec_status geodec_injectivity_write(const geodec_injectivity *r, const double nn[4], geodec_artifact *a,
                                       geodec_err *err) GEODEC_MUST_USE;
/* The four numbers nn, Euclidean, for point [points][n], points > 21. sigma of the universal formula: root mean
 * eigenvalue of the covariance of the 20 nearest neighbours, averaged. Closed form of the mean distance to the nearest
 * of N points of a normal cloud, for large N: Gamma(1 + 1/n) (N V_n)^(-1/n) sqrt(2 pi) det(Sigma)^(1/2n) (n / (n -
 * 1))^(n/2). */
geodec_status geodec_injectivity_nearest(int64_t points, int64_t n, const double *point, uint64_t seed,
                                         geodec_pool *pool, double nn[4], geodec_err *err) GEODEC_MUST_USE;

#endif
