/* Nearest record to a query, d^2 = (q - c)^T g (q - c), where g is either the metric at the query (one for all records)
 * or each record's own metric, in which its radius rho is measured.
 *
 * The search has two stages. Stage 1, float32: with g = F^T F, lengths |F (q - c)| are computed for sixteen anchors at
 * a time, and only if their bounding box can contain an anchor nearer than the best so far. For a box x_i >= b_i > 0
 * (or its mirror image)
 *     d^2 >= max_i b_i^2 / (g^-1)_ii   and   d^2 >= sum_i b_i^2 / sum_j |(g^-1)_ij|,
 * which is tighter than lambda_min(g) |b|^2 and needs no eigenvalue. For many records in a badly conditioned metric,
 * d^2 >= sum_k (distance of f_k (q - box) from zero)^2 with the rows f_k of F is used too. Stage 2, float64: the exact
 * distances of all anchors that pass the bounds, which are widened by a proven margin for all rounding. The result
 * equals exhaustive search bit for bit, ties by the lowest index. With a metric too badly conditioned for the margin,
 * the search is exhaustive. Up to 48 records are computed only in float64. Anchors are stored in the order of a k-d
 * tree, with boxes of 16, 256, 4096, .. records. */
#ifndef GEODEC_RECORDS_LOOKUP_H
#define GEODEC_RECORDS_LOOKUP_H

#include "base/hooks.h"
#include "chain/metric.h"
#include "geodec/records.h"
#include "records/records.h"

/* As geodec_lookup_nearest, for q [count][n] with g [count][n][n] or NULL: hit [count]. Faster for few records. On an
 * error, hit holds the results of the searches before it. */
geodec_status geodec_lookup_many(const geodec_lookup *l, int64_t count, const double *q, const double *g,
                                 geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;
/* The control: exhaustive search in float64. */
geodec_status geodec_lookup_exhaustive(const geodec_lookup *l, const double *q, const double *g, geodec_lookup_hit *hit,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Control: a plain screen, the best of the `keep` nearest by Euclidean distance (1..64), without the bound. */
geodec_status geodec_lookup_screened(const geodec_lookup *l, const double *q, const double *g, int64_t keep,
                                     geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;

/* Chooses queries for a trial: at most `most` points of the metric at which no path begins, selected by the seed and in
 * their order, in new memory: x [count][n]. GEODEC_FORMAT when a path does not begin at a point of the metric. */
geodec_status geodec_lookup_choose(const geodec_metric *m, const geodec_propagators *p, int64_t most, uint64_t seed,
                                   double **x, int64_t *count, geodec_err *err) GEODEC_MUST_USE;

/* Runs all three searches on queries [count][n] in the metric of the space at each query. The share inside rho uses
 * each record's own metric. GEODEC_INTERNAL if the two-stage search does not find the nearest record. */
geodec_status geodec_lookup_try(const geodec_records *r, const geodec_space *s, int64_t count, const double *queries,
                                geodec_pool *pool, const geodec_hooks *hooks, geodec_lookup_trial *out,
                                geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures. */
void geodec_records_say(const geodec_hooks *hooks, const geodec_records *r, const geodec_lookup_trial *t,
                        double seconds);

#endif
