/* The published validity radius: error of the published propagator (lab/harness/manifold.h) against the published
 * geodesic, both on the sampled manifold with the nearest sample's symbols,
 *
 *     error(d) = |x_T' - (x_T + Phi_T d)| / max(|x_T' - x0|, 1e-9),  both lengths in g(x_T'),  |d| = eps Euclidean,
 *
 *     eps*(tau) = the largest eps of the grid whose mean error is at most tau, 0 where there is none.
 *
 * On the sphere its mean error is of first order (slope 0.8 to 1.1), the sign of a wrong linear map, which the
 * manuscript took for the second order of the right one; where the symbols of a cell are of order 1e-4 the errors are
 * small because nothing is curved there, and eps* is the end of the grid. chain/validity.h has the experiment done
 * right.
 *
 * Two controls. The shift x_T + d (Phi = I) shows the propagator's contribution. In a space known in closed form the
 * same rule runs with exact geodesics and the true curvature: a remaining first-order error is that of the rule.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_VALIDITY_H
#define GEODEC_LAB_PUBLISHED_VALIDITY_H

#include "artifact/artifact.h"
#include "chain/validity.h"
#include "geometry/space.h"
#include "lab/harness/manifold.h"

extern const geodec_kind geodec_validity_published_kind;

/* Width of the accessor of the published sphere (radius 1). */
#define GEODEC_PUBLISHED_SPHERE_SIGMA 0.15

/* Random samples and settings of the harness. */
typedef struct geodec_published_perturbations {
    int64_t starts, n_eps, perturbations, steps, n_tau;
    double dl;
    const double *x0, *v0; /* [starts][n] */
    const double *delta0;  /* [starts][n_eps][perturbations][n] */
    const double *eps;     /* [n_eps] rising */
    const double *tau;     /* [n_tau] */
} geodec_published_perturbations;

/* The samples of a published file with their manifold: of a cloud's own table in /validity, or of the sphere's
 * at the root. p points to the rest. */
typedef struct geodec_validity_published_draws {
    const char *path; /* borrowed */
    bool sphere;
    geodec_harness_manifold m;
    geodec_published_perturbations p;
    double *point, *g, *gamma, *x0, *v0, *delta0, *eps, *tau;
    int64_t *index;
} geodec_validity_published_draws;
/* The errors of geodec_foreign_read; GEODEC_RANGE (steps, a start that is no sample). *out is empty on failure. */
geodec_status geodec_validity_published_draws_read(const char *path, geodec_validity_published_draws *out,
                                                   geodec_err *err) GEODEC_MUST_USE;
void geodec_validity_published_draws_clear(geodec_validity_published_draws *d);

typedef struct geodec_validity_published {
    int64_t starts, n, n_eps, perturbations, n_tau;
    double *eps, *tau;           /* [n_eps], [n_tau] */
    double *x_T, *phi;           /* [starts][n], [starts][n][n] */
    double *error;               /* [starts][n_eps][perturbations]; -1 = not finite: takes no part, counted */
    double *mean, *median, *p95; /* [n_eps]; 0 where no error is finite */
    double *shift;               /* [n_eps] control: mean error of x_T + d */
    int64_t *broken;             /* [n_eps] errors that are not finite */
    double *radius;              /* [n_tau] eps*; an eps with broken paths counts as beyond tau */
    double slope;                /* log-log, of the mean error over the smallest three eps; 0 = not measurable */
} geodec_validity_published;

/* GEODEC_RANGE, GEODEC_NUMERIC (input not finite), GEODEC_NOMEM, GEODEC_INTERRUPTED. */
geodec_status geodec_validity_published_run(const geodec_harness_manifold *m, const geodec_published_perturbations *p,
                                            geodec_pool *pool, const geodec_hooks *hooks,
                                            geodec_validity_published *out, geodec_err *err) GEODEC_MUST_USE;
/* The control: geodesics of the space by the Runge-Kutta of geometry/geodesic.h, the published rule with the space's
 * own Riemann tensor. */
geodec_status geodec_validity_published_control(const geodec_space *s, const geodec_published_perturbations *p,
                                                geodec_pool *pool, const geodec_hooks *hooks,
                                                geodec_validity_published *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_validity_published_clear(geodec_validity_published *v);

/* Fills a new artifact of geodec_validity_published_kind; the caller commits. control: the published rule with exact
 * geometry; correct: the right linear map on the same samples (geodec_validity_run); both or neither (NULL). */
geodec_status geodec_validity_published_write(const geodec_validity_published *v,
                                              const geodec_validity_published *control, const geodec_validity *correct,
                                              geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* On the unit sphere: the published rule with exact geometry (geodec_validity_published_control), and the right map
 * (geodec_validity_run), from the velocities of the samples, which become unit vectors. `bootstrap` replicates.
 * GEODEC_NUMERIC (a velocity is zero), GEODEC_LIMIT (more lengths or tolerances than geodec_validity has). */
geodec_status geodec_validity_published_sphere(geodec_validity_published_draws *d, int64_t bootstrap, uint64_t seed,
                                               geodec_pool *pool, const geodec_hooks *hooks,
                                               geodec_validity_published *rule, geodec_validity *correct,
                                               geodec_err *err) GEODEC_MUST_USE;

#endif
