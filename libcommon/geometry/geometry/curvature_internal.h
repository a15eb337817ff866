/* The scalars of a curvature tensor in an orthonormal frame. */
#ifndef GEODEC_GEOMETRY_CURVATURE_INTERNAL_H
#define GEODEC_GEOMETRY_CURVATURE_INTERNAL_H

#include "geometry/curvature.h"

#include <stdbool.h>

/* f [n][n][n][n] lowered; flat: the residuals are rounding errors and are set to 0. */
void geodec__curvature_invariants(int64_t n, const double *f, bool flat, geodec_curvature_invariants *inv);

#endif
