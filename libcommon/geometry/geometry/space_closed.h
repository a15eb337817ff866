/* Spaces whose geometry is known in closed form: references for the code that works on measured metrics, and controls
 * of curvature, propagation and validity.
 *
 * Each init fills a value of the caller: no heap, nothing to free, safe for concurrent use. */
#ifndef GEODEC_GEOMETRY_SPACE_CLOSED_H
#define GEODEC_GEOMETRY_SPACE_CLOSED_H

#include "geometry/space.h"

enum { GEODEC_SPACE_DIM_MAX = 64 }; /* largest dimension any part of the geometry chain accepts */

/* Constant curvature K in the conformal (stereographic) chart g = (2 / (1 + K |x|^2))^2 I: the sphere for K > 0,
 * Euclidean space (scaled by 2) for K = 0, the Poincare ball |x| < 1/sqrt(-K) for K < 0. */
typedef struct geodec_space_conformal {
    geodec_space base;
    double curvature;
} geodec_space_conformal;

/* n in 1..GEODEC_SPACE_DIM_MAX, curvature finite; GEODEC_RANGE otherwise. */
GEODEC_API geodec_status geodec_space_conformal_init(geodec_space_conformal *s, int32_t n, double curvature,
                                                     geodec_err *err) GEODEC_MUST_USE;
/* The plane in polar coordinates (r, theta), r > 0: g = diag(1, r^2); flat, with non-zero Gamma. */
GEODEC_API void geodec_space_polar_init(geodec_space *s);

/* The same metric everywhere: Gamma = 0. */
typedef struct geodec_space_constant {
    geodec_space base;
    double g[GEODEC_SPACE_DIM_MAX * GEODEC_SPACE_DIM_MAX];
} geodec_space_constant;
/* g [n][n] symmetric and positive definite, n in 1..GEODEC_SPACE_DIM_MAX; GEODEC_RANGE, GEODEC_NUMERIC otherwise. */
GEODEC_API geodec_status geodec_space_constant_init(geodec_space_constant *s, int32_t n, const double *g,
                                                    geodec_err *err) GEODEC_MUST_USE;

/* Flat torus with side lengths L_i in the chart x_i in R/Z: g = diag(L_i^2), Gamma = 0. */
typedef geodec_space_constant geodec_space_torus;
/* length [n] positive and finite, n in 1..GEODEC_SPACE_DIM_MAX; GEODEC_RANGE otherwise. */
GEODEC_API geodec_status geodec_space_torus_init(geodec_space_torus *s, int32_t n, const double *length,
                                                 geodec_err *err) GEODEC_MUST_USE;

/* Normal distributions (mu, sigma), sigma > 0, with the Fisher information g = diag(1, 2) / sigma^2: curvature -1/2. */
GEODEC_API void geodec_space_fisher_init(geodec_space *s);

#endif
