/* Nearest record of a query, d^2 = (q - c)^T g (q - c): g either the metric at the query (one for all records) or each
 * record's own, the one its radius rho is measured in.
 *
 * Two stages. Stage 1: squared Euclidean distances to all anchors in float32. Since
 * lambda_min(g) |q - c|^2 <= d^2, a record whose lower bound (rounding of stage 1 taken into account) exceeds the best
 * exact distance found so far cannot win. Stage 2: exact distances in float64, first for the 8 most promising records,
 * then for whatever the bound lets through. The result equals exhaustive search, ties by the lowest index. O(R n + e
 * n^2). */
#ifndef GEODEC_RECORDS_LOOKUP_H
#define GEODEC_RECORDS_LOOKUP_H

#include "records/records.h"

typedef struct geodec_lookup geodec_lookup; /* immutable; may be shared between threads */

/* anchors q [records][n]; metrics g [records][n(n+1)/2] of each record, rows of the upper triangle, or NULL (then every
 * search needs the query's). Both are copied. GEODEC_NUMERIC when a metric is not positive definite or not finite. */
GEODEC_API geodec_status geodec_lookup_create(int64_t records, int64_t n, const double *q, const float *g,
                                              geodec_lookup **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_lookup_destroy(geodec_lookup *l); /* NULL ok */

typedef struct geodec_lookup_hit {
    int64_t index;
    double distance;     /* sqrt(d^2) */
    int64_t evaluations; /* exact distances computed */
} geodec_lookup_hit;

/* q [n]; g [n][n] symmetric positive definite, or NULL for each record's own; scratch [records] floats.
 * GEODEC_NUMERIC when q or g is no good. */
GEODEC_API geodec_status geodec_lookup_nearest(const geodec_lookup *l, const double *q, const double *g, float *scratch,
                                               geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;
/* The control: every record in float64. */
GEODEC_API geodec_status geodec_lookup_exhaustive(const geodec_lookup *l, const double *q, const double *g,
                                                  geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;
/* What a plain screen finds: the best of the `keep` nearest by Euclid (1..64), without the bound. */
GEODEC_API geodec_status geodec_lookup_screened(const geodec_lookup *l, const double *q, const double *g, int64_t keep,
                                                float *scratch, geodec_lookup_hit *hit,
                                                geodec_err *err) GEODEC_MUST_USE;

/* The three on many queries [count][n] in the metric of the space at each query. The share inside rho is counted with
 * each record's own metric. GEODEC_INTERNAL should the two-stage search ever miss. */
GEODEC_API geodec_status geodec_lookup_try(const geodec_records *r, const geodec_space *s, int64_t count,
                                           const double *queries, geodec_pool *pool, const geodec_hooks *hooks,
                                           geodec_lookup_trial *out, geodec_err *err) GEODEC_MUST_USE;

#endif
