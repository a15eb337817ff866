/* Residual of the geodesic equation along a path of nodes, and of Jacobi's equation between two neighbouring paths.
 *
 * With D2 s_l = s_{l+1} - 2 s_l + s_{l-1} and Dc s_l = (s_{l+1} - s_{l-1}) / 2,
 *
 *     r_l = D2 s_l + Gamma(s_l)(Dc s_l, Dc s_l)      (of fourth order in the step for exact geodesics)
 *
 *     q_l = D2 J_l + 2 Gamma(s_l)(Dc s_l, Dc J_l) + (d_m Gamma(s_l) J_l^m)(Dc s_l, Dc s_l),  J = s' - s
 *
 * q is the linear part in J of the difference of the two paths' r, in coordinates (no covariant derivative: no
 * curvature term of its own is to be added). "Kinetic" is D2 s alone, the quantity that a penalty on second differences
 * squares; "connection" is Gamma(Dc s, Dc s), the part it omits. Components are those of the chart; lengths are taken
 * in g(s_l) and relative to |Dc s_l|_g, so that figures of paths with other steps are comparable: |r| / |Dc s| is the
 * turn of a step. */
#ifndef GEODEC_LAB_HARNESS_RESIDUAL_H
#define GEODEC_LAB_HARNESS_RESIDUAL_H

#include "geometry/space.h"

/* Squared lengths at the inner nodes l = 1 .. nodes - 2; any pointer may be NULL. [nodes - 2] each. */
typedef struct geodec_residual_parts {
    double *total, *kinetic, *connection; /* |r|^2, |D2 s|^2, |Gamma(Dc s, Dc s)|^2, Euclidean in the chart */
    double *total_g, *kinetic_g;          /* the first two in g(s_l) */
    double *step_g;                       /* |Dc s|^2 in g(s_l) */
} geodec_residual_parts;

/* xs [nodes][n], nodes >= 3. GEODEC_RANGE; GEODEC_NUMERIC where the metric has no value. */
geodec_status geodec_residual_path(const geodec_space *s, int64_t nodes, const double *xs,
                                   const geodec_residual_parts *out, geodec_err *err) GEODEC_MUST_USE;
/* Neighbouring paths xs, ys [nodes][n] (J = ys - xs): jacobi [nodes - 2] = |q|^2 and field [nodes - 2] = |D2 J|^2, both
 * in g(s_l); either may be NULL. */
geodec_status geodec_residual_jacobi(const geodec_space *s, int64_t nodes, const double *xs, const double *ys,
                                     double *jacobi, double *field, geodec_err *err) GEODEC_MUST_USE;
/* Penalty P = sum_l |r_l|^2 (Euclidean in the chart) and its gradient with respect to every node, gradient [nodes][n]
 * (may be NULL): dr_l/ds_{l+-1} = I +- Gamma(s_l)(Dc s_l, .), dr_l/ds_l = -2 I + d_m Gamma(s_l)(Dc s_l, Dc s_l). */
geodec_status geodec_residual_penalty(const geodec_space *s, int64_t nodes, const double *xs, double *penalty,
                                      double *gradient, geodec_err *err) GEODEC_MUST_USE;

#endif
