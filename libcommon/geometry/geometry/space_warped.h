/* A space whose metric is changed near one point and along one direction, in the logarithm: positive definite for any
 * strength, unchanged far away, and unchanged everywhere for strength 0.
 *
 *     log g'(x) = log g(x) - alpha b(x) v v^T,   b(x) = exp(-|x - c|^2 / 2 sigma^2)
 *
 * with v of Euclidean unit length in the chart. Where g is a multiple of the identity, lengths along v shrink by
 * exp(-alpha b / 2) and others stay. The derivative is exact: d_a log g by divided differences of the logarithm from
 * d_a g, d_a b = -b (x - c)_a / sigma^2, then those of the exponential (Higham, Functions of Matrices, 2008, th. 3.11).
 */
#ifndef GEODEC_GEOMETRY_SPACE_WARPED_H
#define GEODEC_GEOMETRY_SPACE_WARPED_H

#include "geometry/space_closed.h"

typedef struct geodec_space_warped {
    geodec_space base;         /* first: the warped space; stays where it is */
    const geodec_space *inner; /* borrowed */
    double alpha, sigma;
    double centre[GEODEC_SPACE_DIM_MAX], direction[GEODEC_SPACE_DIM_MAX]; /* direction: unit, or zero */
} geodec_space_warped;

/* centre, direction [n]; direction is scaled to unit length (zero = no warp). Where alpha b(x) is below 1e-18 in
 * magnitude, the result has the bits of the inner space. GEODEC_RANGE (sigma, alpha not finite). */
geodec_status geodec_space_warped_init(geodec_space_warped *s, const geodec_space *inner, const double *centre,
                                       const double *direction, double alpha, double sigma,
                                       geodec_err *err) GEODEC_MUST_USE;

#endif
