/* What a search for neighbours takes, from a pilot run on some of its queries. */
#ifndef GEODEC_LINALG_KNN_PILOT_H
#define GEODEC_LINALG_KNN_PILOT_H

#include "base/hooks.h"
#include "base/pool.h"

#include <stdint.h>

/* Processor seconds. */
typedef struct geodec_knn_cost {
    double order;    /* ordering the points; one thread */
    double fixed;    /* rounding them; all threads */
    double query;    /* of one query; all threads */
    int64_t queries; /* of the pilot run */
} geodec_knn_cost;

/* The search of geodec_knn_search: points [n_points][d]; queries [n_queries][d], or NULL: the points themselves. All
 * points are searched for runs of 256 neighbouring queries, spread over all of them, for about `budget` processor
 * seconds and at least two runs. Points of more than 32 dimensions are searched among themselves, until the budget is
 * spent. Errors: those of the search. */
geodec_status geodec_knn_pilot(int64_t n_points, int64_t d, const double *points, int64_t n_queries,
                               const double *queries, int64_t k, double budget, geodec_pool *pool,
                               const geodec_hooks *hooks, geodec_knn_cost *out, geodec_err *err) GEODEC_MUST_USE;

/* Bytes that the search allocates beside its arguments, with bytes as coarse coordinates (twice as many for shorts). */
double geodec_knn_bytes(int64_t n_points, int64_t d, int64_t n_queries, int64_t k, int64_t threads);

#endif
