/* Geodesics of a space: x''^k = -Gamma^k_ij(x) x'^i x'^j from given start points and coordinate velocities
 * (do Carmo 1992, ch. 3, eq. 1).
 *
 * A path never ends in NaN alone: its report gives the last valid node and the reason for the stop, and nodes after
 * that repeat the last good one. */
#ifndef GEODEC_GEOMETRY_GEODESIC_H
#define GEODEC_GEOMETRY_GEODESIC_H

#include "base/hooks.h"
#include "base/pool.h"
#include "geometry/space.h"

#include <stdbool.h>

/* The methods, a row each: X(NAME, name, order, description). Names in artifacts, choices of --method and
 * docs/manual/integrators.md come from here. */
#define GEODEC_GEODESIC_TABLE(X)                                                                                       \
    X(RK4, rk4, 4, "classical Runge-Kutta, one step of size dl between nodes")                                         \
    X(ADAPTIVE, adaptive, 8, "Prince-Dormand 8(9) of GSL, steps chosen by rtol, output at the same nodes")

#define GEODEC__GEODESIC_ENUM(NAME, ...) GEODEC_GEODESIC_##NAME,
typedef enum geodec_geodesic_method {
    GEODEC_GEODESIC_TABLE(GEODEC__GEODESIC_ENUM) GEODEC_GEODESIC_METHODS
} geodec_geodesic_method;

#define GEODEC__GEODESIC_CHOICE(NAME, name, order, text) "|" #name
#define GEODEC__GEODESIC_ITEM(NAME, name, order, text) "; " #name ": " text
/* String constants: the names, separated by '|'; the names with their descriptions. */
#define GEODEC_GEODESIC_CHOICES (&(GEODEC_GEODESIC_TABLE(GEODEC__GEODESIC_CHOICE))[1])
#define GEODEC_GEODESIC_ITEMS (&(GEODEC_GEODESIC_TABLE(GEODEC__GEODESIC_ITEM))[2])

typedef struct geodec_geodesic_row {
    const char *name;
    int order;
    const char *text;
} geodec_geodesic_row;
/* NULL outside of the table. */
GEODEC_API const geodec_geodesic_row *geodec_geodesic_row_of(geodec_geodesic_method method);
/* GEODEC_NOTFOUND. */
GEODEC_API geodec_status geodec_geodesic_method_find(const char *name, geodec_geodesic_method *method,
                                                     geodec_err *err) GEODEC_MUST_USE;

/* When several apply: the first of NONFINITE, LEFT_HULL, DRIFT. */
typedef enum geodec_path_status {
    GEODEC_PATH_OK = 0,
    GEODEC_PATH_NONFINITE = 1, /* diverged, left the chart, or the adaptive step underflowed */
    GEODEC_PATH_DRIFT = 2,     /* the speed g(v,v) drifted by more than drift_max: the step is too long */
    GEODEC_PATH_LEFT_HULL = 3, /* a node lies outside the region that `inside` accepts */
} geodec_path_status;

/* *inside = whether the metric is supported by data at x. Thread-safe. */
typedef geodec_status (*geodec_inside_fn)(const void *ctx, const double *x, bool *inside, geodec_err *err);

typedef struct geodec_geodesic_options {
    int64_t steps; /* T >= 1 */
    double dl;     /* > 0: parameter length of a step; arc length for unit speed */
    geodec_geodesic_method method;
    double rtol;             /* adaptive: local error relative to the path's length */
    double drift_max;        /* > 0 */
    geodec_inside_fn inside; /* NULL = no hull */
    const void *inside_ctx;
} geodec_geodesic_options;

/* 16 steps of 0.1, RK4, rtol 1e-9, drift_max 1e-3, no hull. */
GEODEC_API geodec_geodesic_options geodec_geodesic_defaults(void);

typedef struct geodec_path_report {
    geodec_path_status status;
    int64_t good; /* nodes 0..good are valid; = T unless NONFINITE */
    double drift; /* max over the valid nodes of |g(v,v) / g(v0,v0) - 1| */
} geodec_path_report;

/* Scales v [n] at x [n] to g(v,v) = 1. GEODEC_NUMERIC when g(v,v) is not positive and finite. */
GEODEC_API geodec_status geodec_geodesic_unit(const geodec_space *s, const double *x, double *v,
                                              geodec_err *err) GEODEC_MUST_USE;

/* One path. x0, v0 [n]; xs, vs [T+1][n]; speed2 [T+1] = g(v,v), may be NULL. A path that breaks down is not an error
 * (see the report); GEODEC_NUMERIC only when x0 or v0 itself is not valid. */
GEODEC_API geodec_status geodec_geodesic_path(const geodec_space *s, const geodec_geodesic_options *o, const double *x0,
                                              const double *v0, double *xs, double *vs, double *speed2,
                                              geodec_path_report *report, geodec_err *err) GEODEC_MUST_USE;

/* n_paths paths over the pool; arrays as above with a leading [n_paths]. accel [n_paths][T+1][n] = -Gamma(v,v) at the
 * nodes, for geodec_propagate_batch; may be NULL. Bit-identical for any number of threads. */
GEODEC_API geodec_status geodec_geodesic_batch(const geodec_space *s, const geodec_geodesic_options *o,
                                               geodec_pool *pool, const geodec_hooks *hooks, int64_t n_paths,
                                               const double *x0, const double *v0, double *xs, double *vs,
                                               double *speed2, double *accel, geodec_path_report *report,
                                               geodec_err *err) GEODEC_MUST_USE;

/* ---- parts that other modules use ------------------------------------------------------------------------------- */

/* accel^k = -Gamma^k_ij v^i v^j; gamma [n][n][n], v, accel [n]. */
GEODEC_API void geodec_geodesic_accel(int64_t n, const double *gamma, const double *v, double *accel);
/* State (x, v) at parameter t_k, k = 0..n_out-1, ascending and >= 0, from (x0, v0) by the adaptive integrator:
 * xs, vs [n_out][n]. *reached = number of outputs obtained; the rest is untouched. */
GEODEC_API geodec_status geodec_geodesic_at(const geodec_space *s, double rtol, const double *x0, const double *v0,
                                            int64_t n_out, const double *t, double *xs, double *vs, int64_t *reached,
                                            geodec_err *err) GEODEC_MUST_USE;

#endif
