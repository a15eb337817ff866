/* Internal: the parts of TwoNN that the estimate along texts (geometry/theiler.h) shares. */
#ifndef GEODEC_GEOMETRY_TWONN_INTERNAL_H
#define GEODEC_GEOMETRY_TWONN_INTERNAL_H

#include "geometry/twonn.h"

/* geodec_twonn_from_distances of ratios that depend on each other within blocks: block [n] has numbers 0 .. blocks-1,
 * and the bootstrap draws blocks. block NULL: each ratio is drawn alone. */
geodec_status geodec__twonn_blocks(int64_t n, const double *d2, const int32_t *block, int64_t blocks,
                                   const geodec_twonn_options *o, geodec_twonn *out, geodec_err *err) GEODEC_MUST_USE;

/* The different points of x [n][d], scaled near 1: *point [*kept][d] and their rows *row [*kept], rising, in new
 * memory. GEODEC_SCARCE (n < 8, fewer than 4 different), GEODEC_NUMERIC (not finite), GEODEC_NOMEM. */
geodec_status geodec__twonn_points(int64_t n, int64_t d, const double *x, double **point, int32_t **row, int64_t *kept,
                                   geodec_err *err) GEODEC_MUST_USE;

#endif
