/* Lloyd's k-means (1982): centres that are the means of the points nearest to them. */
#ifndef GEODEC_LINALG_KMEANS_H
#define GEODEC_LINALG_KMEANS_H

#include "base/hooks.h"
#include "base/pool.h"

#include <stdint.h>

/* x [n][d], 1 <= k <= n; centre [k][d] starts from k points chosen by the seed and is updated `rounds` times; a centre
 * without points stays. Nearest is exact, ties by the lower index (linalg/knn.h): same bytes with any number of
 * threads. GEODEC_RANGE, GEODEC_NUMERIC (not finite), GEODEC_INTERRUPTED. */
geodec_status geodec_kmeans(int64_t n, int64_t d, const double *x, int64_t k, int64_t rounds, uint64_t seed,
                            double *centre, geodec_pool *pool, const geodec_hooks *hooks,
                            geodec_err *err) GEODEC_MUST_USE;

#endif
