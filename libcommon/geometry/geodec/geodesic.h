/* Geodesics of a space, the logarithm map, and propagators along geodesics.
 *
 * Geodesics: x''^k = -Gamma^k_ij(x) x'^i x'^j from given start points and coordinate velocities (do Carmo 1992, ch. 3,
 * eq. 1). A path never ends in NaN alone: its report gives the last valid node and the reason for the stop, and nodes
 * after that repeat the last good one. */
#ifndef GEODEC_GEODESIC_H
#define GEODEC_GEODESIC_H

#include "geodec/space.h"

#include <stdbool.h>
#include <stdint.h>

/* The methods, a row each: X(NAME, name, order, description). Names in artifacts, choices of --method and
 * docs/manual/integrators.md come from here. */
#define GEODEC_GEODESIC_TABLE(X)                                                                                       \
    X(RK4, rk4, 4, "classical Runge-Kutta, one step of size dl between nodes")                                         \
    X(ADAPTIVE, adaptive, 8, "Prince-Dormand 8(9) of GSL, steps chosen by rtol, output at the same nodes")
#define GEODEC__GEODESIC_ENUM(NAME, ...) GEODEC_GEODESIC_##NAME,

typedef enum geodec_geodesic_method {
    GEODEC_GEODESIC_TABLE(GEODEC__GEODESIC_ENUM) GEODEC_GEODESIC_METHODS
} geodec_geodesic_method;

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

/* ---- the logarithm map by shooting ----------------------------------------------------------------------------------
 *
 * w with exp_x(w) = y, the initial velocity of a geodesic that reaches y at parameter 1. Newton's iteration with
 * Broyden's update of the inverse derivative (Broyden, Math. Comp. 19 (1965) 577). Several geodesics may join two
 * points, in particular beyond the cut locus. The iteration finds one of them, as a rule the one closest to the chord,
 * or none. */

typedef struct geodec_logmap_options {
    double rtol;      /* of the geodesics; default 1e-3 */
    double drift_max; /* largest relative change of g(v,v) along a geodesic; default 1e-2 */
    double tolerance; /* of exp_x(w) - y, in lengths of y - x; default 1e-3 */
    int rounds;       /* largest number of geodesics; default 12 */
} geodec_logmap_options;
GEODEC_API geodec_logmap_options geodec_logmap_defaults(void);

/* x, y, w [n], n <= 64. *found = false (w is then not valid) when the iteration does not converge or a geodesic
 * breaks down; this is not an error. GEODEC_NUMERIC when x is not valid; GEODEC_RANGE (n). */
GEODEC_API geodec_status geodec_logmap(const geodec_space *s, const geodec_logmap_options *o, const double *x,
                                       const double *y, double *w, bool *found, geodec_err *err) GEODEC_MUST_USE;

/* ---- propagators
 * ------------------------------------------------------------------------------------------------------
 *
 * How the points of a path move when its start is moved at fixed coordinate velocity, Phi_k = dx(t_k)/dx(0), and the
 * whole flow F_k = d(x, v)(t_k)/d(x, v)(0), by an exponential integrator on the linear equation of neighbouring
 * geodesics (Magnus 1954; Blanes, Casas, Oteo, Ros, Phys. Rep. 470 (2009) 151). With J = dx and W = dv
 *
 *     d/dt (J, W) = A (J, W),   A = [[0, I], [-(d_m Gamma^k_ij) v^i v^j, -2 Gamma^k_ij v^i]] */

/* The schemes, a row each: X(NAME, name, order of the global error for smooth A, nodes of a step, description). Names
 * in artifacts, choices of --scheme and docs/manual/integrators.md come from here; a new one is a row and step_<name>()
 * in magnus.c. Nodes: ENDS of the step, or 1, 2, 3 points of GAUSS. */
#define GEODEC_MAGNUS_TABLE(X)                                                                                         \
    X(TAYLOR3, taylor3, 2, ENDS, "cubic cut of the exponential of the mean of both ends: the published rule")          \
    X(MIDPOINT, midpoint, 2, GAUSS1, "exponential of the midpoint")                                                    \
    X(MAGNUS3, magnus3, 4, GAUSS3, "three terms of the Magnus series, each exact for the quadratic interpolant")       \
    X(MAGNUS4, magnus4, 4, GAUSS2, "two terms of the Magnus series")                                                   \
    X(CF4, cf4, 4, GAUSS2, "two exponentials, no commutator")                                                          \
    X(MAGNUS6, magnus6, 6, GAUSS3, "the Magnus series to order 6, commutators nested")
#define GEODEC__MAGNUS_ENUM(NAME, ...) GEODEC_MAGNUS_##NAME,

typedef enum geodec_magnus_scheme {
    GEODEC_MAGNUS_TABLE(GEODEC__MAGNUS_ENUM) GEODEC_MAGNUS_SCHEMES
} geodec_magnus_scheme;

/* Where a step's inner nodes come from. */
typedef enum geodec_propagate_dense {
    /* Cubic Hermite interpolation of x (from x, v) and of v (from v, -Gamma(v,v)): error O(h^4), enough for schemes of
     * order 4; costs Gamma at the path's nodes only. */
    GEODEC_DENSE_HERMITE,
    /* The geodesic integrated again from the step's start by the adaptive method: holds the order of every scheme. */
    GEODEC_DENSE_INTEGRATE
} geodec_propagate_dense;

typedef struct geodec_propagate_options {
    geodec_magnus_scheme scheme;
    geodec_propagate_dense dense;
    double rtol; /* of GEODEC_DENSE_INTEGRATE */
} geodec_propagate_options;

/* Magnus-4, Hermite, rtol 1e-12. */
GEODEC_API geodec_propagate_options geodec_propagate_defaults(void);

typedef struct geodec_propagate_report {
    /* The flow preserves the form dx^k ^ dp_k, p = g v. In (x, v) that form is Omega = [[C - C^T, g], [-g, 0]],
     * C_km = (d_m g_kl) v^l: max |F^T Omega_T F - Omega_0| / max |Omega_0|. */
    double symplectic;
    /* |ln det F + ln det g(x_T) - ln det g(x_0)| (Liouville): zero for the exact flow. */
    double volume;
    /* Largest h |A|_F of a step; the Magnus series converges below pi (sufficient). */
    double norm;
    /* The flow, or the metric at an end, leaves the range of numbers: the path has no propagator. Then phi and flow are
     * the identity at every node and the numbers above 0. */
    bool broken;
} geodec_propagate_report;

/* One path: xs, vs [T+1][n] with step dl; phi [T+1][n][n], flow [T+1][2n][2n] or NULL. Row-major: phi[k][i][j] =
 * dx^i(t_k)/dx^j(0); phi[0] = I. Only nodes 0..good are used; later ones repeat the last (see geodec_path_report). A
 * flow that leaves the range of numbers is not an error but a broken path (see the report); GEODEC_NUMERIC only with
 * good = 0, where the metric at the start is not valid. */
GEODEC_API geodec_status geodec_propagate_path(const geodec_space *s, const geodec_propagate_options *o, int64_t steps,
                                               double dl, int64_t good, const double *xs, const double *vs, double *phi,
                                               double *flow, geodec_propagate_report *report,
                                               geodec_err *err) GEODEC_MUST_USE;

/* n_paths paths over the pool: arrays with a leading [n_paths]; good [n_paths]. accel: what geodec_geodesic_batch left,
 * or NULL; the results are the same. */
GEODEC_API geodec_status geodec_propagate_batch(const geodec_space *s, const geodec_propagate_options *o,
                                                geodec_pool *pool, const geodec_hooks *hooks, int64_t n_paths,
                                                int64_t steps, double dl, const int64_t *good, const double *xs,
                                                const double *vs, const double *accel, double *phi, double *flow,
                                                geodec_propagate_report *report, geodec_err *err) GEODEC_MUST_USE;

/* The control: phi_T [n][n] by central differences of the flow itself, step h > 0 in the unit of x (0 = the space's
 * fd_step / 100), from 2 n geodesics. GEODEC_NUMERIC when one of them breaks down. */
GEODEC_API geodec_status geodec_propagate_by_differences(const geodec_space *s, const geodec_geodesic_options *o,
                                                         const double *x0, const double *v0, double h, double *phi_T,
                                                         geodec_err *err) GEODEC_MUST_USE;

#endif
