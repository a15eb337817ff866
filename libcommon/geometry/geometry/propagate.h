/* Propagators along geodesics: how the points of a path move when its start is moved at fixed coordinate velocity,
 * Phi_k = dx(t_k)/dx(0), and the whole flow F_k = d(x, v)(t_k)/d(x, v)(0), by an exponential integrator (magnus.h) on
 * the generator below. */
#ifndef GEODEC_GEOMETRY_PROPAGATE_H
#define GEODEC_GEOMETRY_PROPAGATE_H

#include "geometry/geodesic.h"
#include "geometry/magnus.h"

/* The linear equation of neighbouring geodesics in coordinates: the derivative of x'' = -Gamma(x)(x', x') with respect
 * to its start. With J = dx and W = dv (rows k, columns m and j)
 *
 *     d/dt (J, W) = A (J, W),   A = [[0, I], [-(d_m Gamma^k_ij) v^i v^j, -2 Gamma^k_ij v^i]]
 *
 * From (J, W) = (I, 0) the upper left block is Phi = dx(t)/dx(0) at fixed coordinate velocity. It is the Jacobi
 * equation D^2 J + R(J, v) v = 0 (sign of space.h: R^a_bcd v^b J^c v^d) written with coordinate derivatives: D J = J' +
 * Gamma(v, J). Mixing R with J' instead, as if Gamma were zero, gives a map that is wrong in first order.
 *
 * a [points][2n][2n] = A at positions x [points][n] and coordinate velocities v [points][n]; scratch:
 * geodec_propagate_generators_scratch(n) doubles. Errors of the space. */
GEODEC_API int64_t geodec_propagate_generators_scratch(int64_t n);
GEODEC_API geodec_status geodec_propagate_generators(const geodec_space *s, int64_t points, const double *x,
                                                     const double *v, double *a, double *scratch,
                                                     geodec_err *err) GEODEC_MUST_USE;

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
