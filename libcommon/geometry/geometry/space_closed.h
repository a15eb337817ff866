/* Spaces whose geometry is known in closed form: references for the code that works on measured metrics, and controls
 * of curvature, propagation and validity.
 *
 * Each init fills a value of the caller: no heap, nothing to free, safe for concurrent use. */
#ifndef GEODEC_GEOMETRY_SPACE_CLOSED_H
#define GEODEC_GEOMETRY_SPACE_CLOSED_H

#include "geodec/space.h"
#include "geometry/space.h"

/* The plane in polar coordinates (r, theta), r > 0: g = diag(1, r^2); flat, with non-zero Gamma. */
void geodec_space_polar_init(geodec_space *s);

/* length [n] positive and finite, n in 1..GEODEC_SPACE_DIM_MAX; GEODEC_RANGE otherwise. */
geodec_status geodec_space_torus_init(geodec_space_torus *s, int32_t n, const double *length,
                                      geodec_err *err) GEODEC_MUST_USE;

/* Normal distributions (mu, sigma), sigma > 0, with the Fisher information g = diag(1, 2) / sigma^2: curvature -1/2. */
void geodec_space_fisher_init(geodec_space *s);

#endif
