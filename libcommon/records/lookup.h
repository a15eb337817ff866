/* Nearest record of a query, d^2 = (q - c)^T g (q - c): g either the metric at the query (one for all records) or each
 * record's own, in which its radius rho is measured.
 *
 * Two stages. Stage 1, float32: with g = F^T F, lengths |F (q - c)| of sixteen anchors at a time, only where the box
 * around them can hold an anchor nearer than the best so far. For a box x_i >= b_i > 0 (or its mirror image)
 *     d^2 >= max_i b_i^2 / (g^-1)_ii   and   d^2 >= sum_i b_i^2 / sum_j |(g^-1)_ij|,
 * which is tighter than lambda_min(g) |b|^2 and needs no eigenvalue; among many records in a badly conditioned metric
 * also d^2 >= sum_k (distance of f_k (q - box) from zero)^2 by the rows f_k of F. Stage 2, float64: the exact distance
 * of all anchors that pass the bounds, widened by a proven margin for all rounding. The result equals exhaustive search
 * bit for bit, ties by the lowest index; a metric too badly conditioned for the margin is searched exhaustively. Up to
 * 48 records are computed in float64 alone. Anchors lie in the order of a k-d tree, with boxes of 16, 256, 4096, ..
 * records. */
#ifndef GEODEC_RECORDS_LOOKUP_H
#define GEODEC_RECORDS_LOOKUP_H

#include "base/hooks.h"
#include "chain/metric.h"
#include "records/records.h"

typedef struct geodec_lookup geodec_lookup; /* immutable; may be shared between threads */

/* anchors q [records][n]; metrics g [records][n(n+1)/2] of each record, rows of the upper triangle, or NULL (then every
 * search needs the query's). Both are borrowed, must outlive the lookup and may lie in a mapped file. A lookup takes
 * about n + n(n+1)/2 floats a record more (n without metrics). GEODEC_NUMERIC when a metric is not positive definite or
 * not finite. */
GEODEC_API geodec_status geodec_lookup_create(int64_t records, int64_t n, const double *q, const float *g,
                                              geodec_lookup **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_lookup_destroy(geodec_lookup *l); /* NULL ok */

typedef struct geodec_lookup_hit {
    int64_t index;
    double distance;     /* sqrt(d^2) */
    int64_t evaluations; /* exact distances computed */
} geodec_lookup_hit;

/* q [n]; g [n][n] symmetric positive definite (the upper triangle is read), or NULL for each record's own.
 * GEODEC_NUMERIC when q or g is not valid. */
GEODEC_API geodec_status geodec_lookup_nearest(const geodec_lookup *l, const double *q, const double *g,
                                               geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;
/* The same for q [count][n] with g [count][n][n] or NULL: hit [count]. Faster where there are few records. On an error
 * hit holds the searches before it. */
GEODEC_API geodec_status geodec_lookup_many(const geodec_lookup *l, int64_t count, const double *q, const double *g,
                                            geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;
/* The control: every record in float64. */
GEODEC_API geodec_status geodec_lookup_exhaustive(const geodec_lookup *l, const double *q, const double *g,
                                                  geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;
/* Control: a plain screen, the best of the `keep` nearest by Euclidean distance (1..64), without the bound. */
GEODEC_API geodec_status geodec_lookup_screened(const geodec_lookup *l, const double *q, const double *g, int64_t keep,
                                                geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;

/* Queries for a trial: at most `most` points of the metric at which no path begins, a seeded choice in their order, in
 * new memory: x [count][n]. GEODEC_FORMAT when a path begins at no point of the metric. */
GEODEC_API geodec_status geodec_lookup_choose(const geodec_metric *m, const geodec_propagators *p, int64_t most,
                                              uint64_t seed, double **x, int64_t *count,
                                              geodec_err *err) GEODEC_MUST_USE;

/* All three on many queries [count][n] in the metric of the space at each query. The share inside rho is counted with
 * each record's own metric. GEODEC_INTERNAL if the two-stage search misses. */
GEODEC_API geodec_status geodec_lookup_try(const geodec_records *r, const geodec_space *s, int64_t count,
                                           const double *queries, geodec_pool *pool, const geodec_hooks *hooks,
                                           geodec_lookup_trial *out, geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures in words. */
GEODEC_API void geodec_records_say(const geodec_hooks *hooks, const geodec_records *r, const geodec_lookup_trial *t,
                                   double seconds);

#endif
