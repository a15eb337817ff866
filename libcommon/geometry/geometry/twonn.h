/* Intrinsic dimension from the two nearest neighbours (Facco, d'Errico, Rodriguez, Laio, Sci. Rep. 7 (2017) 12140):
 * mu = r2 / r1 has the distribution F(mu) = 1 - mu^-D where the density is locally uniform.
 *
 * Two estimates from the same mu: maximum likelihood D = count / sum ln mu, and the slope through the origin of
 * -ln(1-F) against ln mu without the largest `trim` of the mu. Points with r1 = 0 or mu = 1 (within 1e-9) are dropped
 * and counted.
 *
 * Ties dominate if the different values of mu are fewer than half of the points: continuous data have one for almost
 * every point, a lattice or coarsely rounded data have few. The estimate is then of the grid, its bootstrap interval
 * has no width worth the name, and it is not measured: GEODEC_SCARCE.
 *
 * Equal points are one point: of rows equal in every coordinate the first is kept and the others are counted, before
 * the search for neighbours. So repeated rows do not change the estimate. (Dropping points with r1 = 0 is not enough:
 * it drops the repeated points and leaves the others with neighbours at equal distances.) Coordinates are
 * multiplied by a power of two that brings them near 1, so squares neither underflow nor overflow, and the estimate
 * does not depend on the unit; for units a power of two apart it has the same bits. Intervals are 95 % percentile
 * bootstraps over the mu. They cover the scatter of a sample of this size, not its bias: both estimates are too low
 * in high dimension and in small samples, so compare with a control. */
#ifndef GEODEC_GEOMETRY_TWONN_H
#define GEODEC_GEOMETRY_TWONN_H

#include "base/hooks.h"
#include "base/pool.h"
#include "geodec/cloud.h"

#include <stdint.h>

/* As geodec_twonn_estimate, from squared distances to the two nearest neighbours, d2 [n][2]; duplicates stays 0: a
 * distance of 0 is dropped like a tie. */
geodec_status geodec_twonn_from_distances(int64_t n, const double *d2, const geodec_twonn_options *o, geodec_twonn *out,
                                          geodec_err *err) GEODEC_MUST_USE;

#endif
