/* How far a start may be moved before the linear map Phi fails to predict the end of the geodesic.
 *
 * For a start x0, velocity v0 and perturbation d, with x_T' the end of the geodesic from x0 + d (same coordinate
 * velocity),
 *
 *     error(d) = |x_T' - (x_T + Phi_T d)| / |x_T' - x0|,  both lengths in g(x_T').
 *
 * Phi is the derivative of the flow exactly when the error is of second order in d: the log-log slope of the mean error
 * over the smallest perturbations is 2. A slope near 1 means that the linear map is wrong. The radius eps*(tau) is the
 * g-length at which the mean error reaches tau.
 *
 * The denominator contains the perturbation itself, so the error saturates for large ones, and the plain shift x_T + d
 * also has a small error there. The result therefore has two more figures: the error of the shift (Phi = I), which is
 * the control, and the miss |x_T' - (x_T + Phi_T d)|, which does not saturate. */
#ifndef GEODEC_CHAIN_VALIDITY_H
#define GEODEC_CHAIN_VALIDITY_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "base/hooks.h"
#include "chain/metric.h"
#include "geometry/propagate.h"

#include <stdbool.h>

enum { GEODEC_VALIDITY_TAUS = 3, GEODEC_VALIDITY_EPS_MAX = 64 };

typedef struct geodec_validity_options {
    geodec_geodesic_options path;
    geodec_propagate_options propagate;
    int64_t perturbations;               /* directions per start, >= 1 */
    int64_t n_eps;                       /* 3..GEODEC_VALIDITY_EPS_MAX */
    double eps[GEODEC_VALIDITY_EPS_MAX]; /* ascending, > 0: g-lengths of the perturbations */
    double tau[GEODEC_VALIDITY_TAUS];    /* ascending, > 0 */
    int64_t bootstrap;                   /* replicates over starts for the 95 % intervals; 0 = none */
    double slope_min;                    /* a smaller slope fails the check */
    double floor;                        /* mean errors below it are rounding and take no part in the slope */
    bool settles;                        /* the step was chosen by geodec_validity_settle; recorded in the file */
    int halvings;
    double noise;        /* standard deviation of an error of a state in each direction; 0: unknown */
    double settled;      /* last change of the propagators */
    geodec_sweep *sweep; /* runs the reference paths and the grid of the starts in slices. The bisection needs all
                            starts, so a slice is not summarised. NULL: all at once */
} geodec_validity_options;
/* 16 steps of 0.1, Magnus-4; 8 directions; eps .005 .01 .02 .05 .1 .2 .4 .8 1.5 3 5; tau 5, 10, 20 %; 1000 replicates;
 * slope_min 1.8; floor 1e-12. */
geodec_validity_options geodec_validity_defaults(void);
/* Replaces the grid by n lengths from low to high, evenly spaced in the logarithm. */
void geodec_validity_grid(geodec_validity_options *o, int64_t n, double low, double high);

/* ---- one start -------------------------------------------------------------------------------------------------- */

typedef struct geodec_validity_start {
    const double *x0, *v0;   /* [n] */
    const double *x_T, *phi; /* [n], [n][n]: end of the reference path, and its propagator */
} geodec_validity_start;

/* u [n] of unit length in g(x), uniform over directions in g: g = L L^T, u = L^-T z/|z|, z normal, from the stream. */
geodec_status geodec_validity_direction(const geodec_space *s, const double *x, uint64_t seed, uint64_t stream,
                                        double *u, geodec_err *err) GEODEC_MUST_USE;
typedef struct geodec_validity_miss {
    double error; /* |x_T' - (x_T + Phi_T d)| / |x_T' - x0| in g(x_T'); -1 = the perturbed path broke down; the other
                     members are then -1 too */
    double shift; /* the same for x_T + d: the control */
    double miss;  /* |x_T' - (x_T + Phi_T d)| in g(x_T') */
} geodec_validity_miss;
/* The miss of one perturbation d [n]. */
geodec_status geodec_validity_error(const geodec_space *s, const geodec_geodesic_options *o,
                                    const geodec_validity_start *start, const double *d, geodec_validity_miss *out,
                                    geodec_err *err) GEODEC_MUST_USE;

typedef enum geodec_censored {
    GEODEC_CENSORED_NONE = 0,
    GEODEC_CENSORED_ABOVE = 1, /* the error is still below tau at the largest eps: the radius is at least that */
    GEODEC_CENSORED_BELOW = 2, /* the error exceeds tau at the smallest eps: the radius is less than that */
} geodec_censored;

/* Radius of one start: the g-length r in [eps_min, eps_max] at which a mean over directions u [n_directions][n] reaches
 * tau, to 1 %. The mean is of the error (length = 0), or of miss / length. The radius is bracketed by quadrupling, then
 * found by false position and bisection in the logarithms. A broken path counts as beyond tau. */
geodec_status geodec_validity_radius(const geodec_space *s, const geodec_geodesic_options *o,
                                     const geodec_validity_start *start, int64_t n_directions, const double *u,
                                     double length, double tau, double eps_min, double eps_max, double *radius,
                                     geodec_censored *censored, geodec_err *err) GEODEC_MUST_USE;

/* ---- the experiment --------------------------------------------------------------------------------------------- */

/* An estimate with its bootstrap interval (equal to the value without replicates). */
typedef struct geodec_validity_estimate {
    double value, low, high;
} geodec_validity_estimate;

typedef struct geodec_validity {
    int64_t starts, n, n_eps, perturbations;
    double *x0, *v0;   /* [starts][n] */
    double *x_T, *phi; /* [starts][n], [starts][n][n] */
    uint8_t *status;   /* [starts] geodec_path_status of the reference path; broken ones are left out */
    double *error;     /* [starts][n_eps][perturbations]; -1 = the perturbed path broke down */
    double *eps;       /* [n_eps] */
    double *mean, *mean_low, *mean_high, *median, *p95; /* [n_eps] of error over unbroken paths; 0 = there are none */
    double *shift, *miss; /* [n_eps] means: error of x_T + d (the control); miss in g-length */
    int64_t *broken;      /* [n_eps] */
    bool slope_known;     /* three eps have a mean error above the floor */
    bool slope_ok;        /* the slope is known, and slope.value >= slope_min */
    bool flat;            /* all mean errors are at the floor and no path broke down: the map is exact to rounding */
    geodec_validity_estimate slope;
    geodec_validity_estimate radius[GEODEC_VALIDITY_TAUS];
    uint8_t censored[GEODEC_VALIDITY_TAUS]; /* geodec_censored */
    double tau[GEODEC_VALIDITY_TAUS];
    double noise_length; /* mean g-length of such an error at the starts, sqrt(noise^2 tr g); 0: unknown. A radius below
                            it is not reached by two measurements of one state */
} geodec_validity;

/* Starts x0, v0 [starts][n]. delta0 [starts][n_eps][perturbations][n] prescribes every perturbation (then eps only
 * labels them and there is no bisection: radii are the largest eps of the grid with mean <= tau); NULL: directions are
 * random, from `seed`, and the same for all eps. GEODEC_NUMERIC when every reference path breaks down. */
geodec_status geodec_validity_run(const geodec_space *s, const geodec_validity_options *o, geodec_pool *pool,
                                  const geodec_hooks *hooks, int64_t starts, const double *x0, const double *v0,
                                  const double *delta0, uint64_t seed, geodec_validity *out,
                                  geodec_err *err) GEODEC_MUST_USE;
void geodec_validity_clear(geodec_validity *v);

/* The control: the same on the unit sphere in dimension n (starts uniform in the ball |x| < 1 of the stereographic
 * chart), where the exact slope is 2. */
geodec_status geodec_validity_sphere(int32_t n, const geodec_validity_options *o, geodec_pool *pool,
                                     const geodec_hooks *hooks, int64_t starts, uint64_t seed, geodec_validity *out,
                                     geodec_err *err) GEODEC_MUST_USE;

/* Further controls, on spaces in closed form (geodec_metric_test_space): hyperbolic space of curvature -1 and a flat
 * torus in dimension n, and normal distributions with the Fisher information (dimension 2). In a flat space the linear
 * map is exact, errors are rounding and there is no slope. In bounded charts large perturbations leave the chart: such
 * paths are counted as broken. */
enum { GEODEC_VALIDITY_CASES = 3 };
/* "hyperbolic", "flat", "gaussian-fisher". */
geodec_metric_type geodec_validity_case_kind(int which);
geodec_status geodec_validity_case(int which, int32_t n, const geodec_validity_options *o, geodec_pool *pool,
                                   const geodec_hooks *hooks, int64_t starts, uint64_t seed, geodec_validity *out,
                                   geodec_err *err) GEODEC_MUST_USE;

/* Starts for a measured field: a seeded random subset of the metric's points without replacement, velocities uniform
 * over directions in g. x0, v0 [starts][n]; GEODEC_RANGE when starts exceeds the number of points. */
geodec_status geodec_validity_starts(const geodec_metric *m, const geodec_space *s, int64_t starts, uint64_t seed,
                                     double *x0, double *v0, geodec_err *err) GEODEC_MUST_USE;

/* Halves the step of o->path (twice the steps, the same length) until the propagators of all starts change by at most
 * `tolerance` (largest relative Frobenius norm) when it is halved once more, or `most` times. A step that is too long
 * where the curvature is large leaves an error of first order in the perturbation, which the slope would attribute to
 * the map. halvings: their number; change: the last change of the propagators. x0, v0 [starts][n]. */
geodec_status geodec_validity_settle(const geodec_space *s, geodec_validity_options *o, geodec_pool *pool,
                                     const geodec_hooks *hooks, int64_t starts, const double *x0, const double *v0,
                                     double tolerance, int most, int *halvings, double *change,
                                     geodec_err *err) GEODEC_MUST_USE;

/* ---- the artifact ----------------------------------------------------------------------------------------------- */

extern const geodec_kind geodec_validity_kind;
/* Fills a new artifact with the experiment and its controls, which must agree in eps and perturbations (the sphere in n
 * too); cases [GEODEC_VALIDITY_CASES] may be NULL; the caller commits. */
geodec_status geodec_validity_write(const geodec_validity *field, const geodec_validity *sphere,
                                    const geodec_validity *cases, const geodec_validity_options *o, geodec_artifact *a,
                                    geodec_err *err) GEODEC_MUST_USE;

/* Logs a summary of the figures; what: the name of the space. */
void geodec_validity_say(const geodec_hooks *hooks, const char *what, const geodec_validity *v);

#endif
