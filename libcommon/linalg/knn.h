/* Exact k nearest neighbours. Coarse distances (of points rounded to bytes or shorts, in exact integer arithmetic; by
 * float64 matrix products where that says too little, for few points and for k > 64) with a proven error bound keep
 * every possible neighbour, and those are measured again as sum (a-b)^2 in coordinate order: the same result on every
 * processor and any number of threads. Boxes round 256 points spare far ones in up to 32 dimensions. */
#ifndef GEODEC_LINALG_KNN_H
#define GEODEC_LINALG_KNN_H

#include "base/hooks.h"
#include "base/pool.h"

#include <stdint.h>

/* For each query its k nearest points in rising order of squared Euclidean distance, ties by the lower index.
 *   points [n_points][d]; queries [n_queries][d], or NULL: the points themselves, each without itself (others at the
 * same place count); index [n_queries][k]; dist2 [n_queries][k] or NULL. GEODEC_RANGE when k is below 1 or above the
 * number of points there are (n_points - 1 without queries), GEODEC_NUMERIC (not finite), GEODEC_INTERRUPTED. Cost at
 * most n_queries n_points d multiply-adds; memory n_points (d + 12) bytes (2 d + 12 with shorts) and about 2 MiB a
 * thread; by products n_points 8 d bytes and 16 MiB a thread. */
GEODEC_API geodec_status geodec_knn_search(int64_t n_points, int64_t d, const double *points, int64_t n_queries,
                                           const double *queries, int64_t k, int32_t *index, double *dist2,
                                           geodec_pool *pool, const geodec_hooks *hooks,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
