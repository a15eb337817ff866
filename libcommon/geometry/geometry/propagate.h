/* Propagators along geodesics: how the points of a path move when its start is moved at fixed coordinate velocity,
 * Phi_k = dx(t_k)/dx(0), and the whole flow F_k = d(x, v)(t_k)/d(x, v)(0), by an exponential integrator (magnus.h) on
 * the generator below. */
#ifndef GEODEC_GEOMETRY_PROPAGATE_H
#define GEODEC_GEOMETRY_PROPAGATE_H

#include "geodec/geodesic.h"
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
int64_t geodec_propagate_generators_scratch(int64_t n);
geodec_status geodec_propagate_generators(const geodec_space *s, int64_t points, const double *x, const double *v,
                                          double *a, double *scratch, geodec_err *err) GEODEC_MUST_USE;

#endif
