/* What the other folders use beyond geodec/space.h. */
#ifndef GEODEC_GEOMETRY_SPACE_H
#define GEODEC_GEOMETRY_SPACE_H

#include "base/err.h"
#include "geodec/space.h"

#include <stdbool.h>
#include <stdint.h>

/* For geodesics: at any number of points x [points][n] with velocities v [points][n]: speed2 [points] = g(v,v),
 * accel [points][n] = -Gamma^k_ij v^i v^j; either may be NULL. work: n^3 + n^2 doubles. The error is that of
 * the first point that fails; the results are then undefined. The result at a point does not depend on the others. */
geodec_status geodec_space_path(const geodec_space *s, int64_t points, const double *x, const double *v, double *speed2,
                                double *accel, double *work, geodec_err *err) GEODEC_MUST_USE;
/* For the variation of geodesics: gv [points][k][j] = Gamma^k_ij v^i, dgvv [points][k][m] = (d_m Gamma^k_ij) v^i v^j.
 * work: n^3 (n + 1) doubles. Otherwise as geodec_space_path. */
geodec_status geodec_space_variation(const geodec_space *s, int64_t points, const double *x, const double *v,
                                     double *gv, double *dgvv, double *work, geodec_err *err) GEODEC_MUST_USE;
/* dg [n][n][n] by central differences of g with step h > 0: the control of an analytic one, O(h^2) from it. */
geodec_status geodec_space_dg_fd(const geodec_space *s, const double *x, double h, double *dg,
                                 geodec_err *err) GEODEC_MUST_USE;
/* gamma [n][n][n] from those differences. */
geodec_status geodec_space_christoffel_fd(const geodec_space *s, const double *x, double h, double *gamma,
                                          geodec_err *err) GEODEC_MUST_USE;

#endif
