/* What the other folders use beyond geodec/curvature.h. */
#ifndef GEODEC_GEOMETRY_CURVATURE_H
#define GEODEC_GEOMETRY_CURVATURE_H

#include "base/hooks.h"
#include "base/pool.h"
#include "geodec/curvature.h"
#include "geometry/space.h"

/* riem [n][n][n][n] from gamma [n][n][n] and dgamma [n][n][n][n]. One (n^2 x n)(n x n^2) product: 2 n^5 flops. */
geodec_status geodec_curvature_tensor(int32_t n, const double *gamma, const double *dgamma, double *riem,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
