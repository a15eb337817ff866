/* Exact k nearest neighbours. Coarse distances with a proven error bound keep every possible neighbour: of points
 * rounded to bytes or shorts, in exact integer arithmetic, or by float64 matrix products where rounding discriminates
 * too little, for few points and for k > 64. The candidates are measured again as sum (a-b)^2 in coordinate order, so
 * the result is the same on every processor and any number of threads. Bounding boxes of 256 points skip far ones in up
 * to 32 dimensions. */
#ifndef GEODEC_LINALG_KNN_H
#define GEODEC_LINALG_KNN_H

#include "base/hooks.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

/* For each query its k nearest points in ascending order of squared Euclidean distance, ties by the lower index.
 *   points [n_points][d]; queries [n_queries][d], or NULL: the points themselves, each without itself (others at the
 * same place count); index [n_queries][k]; dist2 [n_queries][k] or NULL. GEODEC_RANGE when k is below 1 or above the
 * number of points (n_points - 1 without queries), GEODEC_NUMERIC (not finite), GEODEC_INTERRUPTED. Cost at most
 * n_queries n_points d multiply-adds; memory n_points (d + 12) bytes (2 d + 12 with shorts) and about 2 MiB a thread;
 * by products n_points 8 d bytes and 16 MiB a thread. */
geodec_status geodec_knn_search(int64_t n_points, int64_t d, const double *points, int64_t n_queries,
                                const double *queries, int64_t k, int32_t *index, double *dist2, geodec_pool *pool,
                                const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

/* A search among a part of the points, whose results are merged with those of other parts. */
typedef struct geodec_knn_part {
    /* [n_points] the points' numbers, all different, which are returned and by which ties are decided; NULL: 0, 1, ..
     */
    const int32_t *id;
    /* [n_queries] squared distances beyond which no neighbour is needed: a query may then have fewer than k, and its
     * other places hold -1 and INFINITY. NULL: no limits */
    const double *bound;
    bool ordered; /* points and queries are in the order of geodec_knn_order (queries: or a part of it) */
} geodec_knn_part;
/* geodec_knn_search among a part. dist2 is needed. */
geodec_status geodec_knn_search_part(const geodec_knn_part *part, int64_t n_points, int64_t d, const double *points,
                                     int64_t n_queries, const double *queries, int64_t k, int32_t *index, double *dist2,
                                     geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

/* Orders points [n][d] so that each run of 256 is spatially close: medians along the widest coordinate. order [n]
 * becomes a permutation of 0 .. n-1. GEODEC_NOMEM. */
geodec_status geodec_knn_order(int64_t n, int64_t d, const double *points, int32_t *order,
                               geodec_err *err) GEODEC_MUST_USE;

#endif
