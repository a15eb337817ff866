/* A warp that carries a fact: a change of the metric of R^n within a ball, after which the geodesic from a query with
 * an unchanged velocity ends at a target. Everything is a closed form, because the warped metric is a flat one in other
 * coordinates:
 *
 *     x = F(y) = y + strength b(|y - e|) (t - e),   b(r) = (1 - r^2 / rho^2)^4 for r < rho, 0 beyond,
 *     g(x) = M^T M,  M = dF^-1 = I - w c^T,  w = strength (t - e),  c = db / (1 + db . w)
 *
 * for the query q, the end e = q + length u of the straight geodesic along u, and the target t at the distance `length`
 * and the angle 0.3 from u, rho = 0.8 length. Geodesics are F(straight lines): that from q along u ends at F(e) = e +
 * strength (t - e), so the distance to the target shrinks by exactly `strength`; lines that do not meet the ball |y -
 * e| < rho are unchanged. q = (-length/2, 0, ..), u = (1, 0, ..). */
#ifndef GEODEC_LAB_WORLDS_CARRY_H
#define GEODEC_LAB_WORLDS_CARRY_H

#include "geodec/space.h"

typedef struct geodec_world_carry {
    geodec_space space; /* first */
    int32_t n;
    double length, rho;
    double query[GEODEC_SPACE_DIM_MAX], end[GEODEC_SPACE_DIM_MAX], target[GEODEC_SPACE_DIM_MAX];
    double w[GEODEC_SPACE_DIM_MAX];
} geodec_world_carry;

/* n in 2..64, length > 0, strength in 0..1; GEODEC_RANGE. Nothing to free. */
geodec_status geodec_world_carry_init(geodec_world_carry *c, int32_t n, double length, double strength,
                                      geodec_err *err) GEODEC_MUST_USE;
/* y = F^-1(x), and M v of a vector v at x (dy; v and dy may be NULL). */
void geodec_world_carry_unwarp(const geodec_world_carry *c, const double *x, const double *v, double *y, double *dy);
/* x = F(y), and the vector v with M v = dy. */
void geodec_world_carry_warp(const geodec_world_carry *c, const double *y, const double *dy, double *x, double *v);

#endif
