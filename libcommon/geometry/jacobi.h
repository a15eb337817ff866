/* The linear equation of neighbouring geodesics in coordinates: the derivative of x'' = -Gamma(x)(x', x') with respect
 * to its start. With J = dx and W = dv,
 *
 *     d/dt (J, W) = A (J, W),   A = [[0, I], [-(d_m Gamma^k_ij) v^i v^j, -2 Gamma^k_ij v^i]]   (rows k, columns m and
 * j)
 *
 * From (J, W) = (I, 0) the upper left block is Phi = dx(t)/dx(0) at fixed coordinate velocity. It is the Jacobi
 * equation D^2 J + R(J, v) v = 0 (sign of space.h: R^a_bcd v^b J^c v^d) written with coordinate derivatives: D J = J' +
 * Gamma(v, J). Mixing R with J' instead, as if Gamma were zero, gives a map that is wrong in first order. */
#ifndef GEODEC_GEOMETRY_JACOBI_H
#define GEODEC_GEOMETRY_JACOBI_H

#include "geometry/space.h"

/* Doubles of scratch at dimension n. */
GEODEC_API int64_t geodec_jacobi_scratch(int64_t n);
/* a [points][2n][2n] at positions x [points][n] and coordinate velocities v [points][n]. Errors of the space. */
GEODEC_API geodec_status geodec_jacobi_generators(const geodec_space *s, int64_t points, const double *x,
                                                  const double *v, double *a, double *scratch,
                                                  geodec_err *err) GEODEC_MUST_USE;

#endif
