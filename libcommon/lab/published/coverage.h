/* The published coverage: how often a held-out point lies within g-distance eps of the Euclid-nearest cached point, the
 * metric taken at the held-out point, where it was fitted on that point, the cached and all other held-out ones.
 *
 * With k neighbours the metric is (k - 1) times the inverse scatter of these neighbours, so each of them lies within
 * sqrt(k - 1) of the point for any data (2.6458 for k = 8). "Within 3.0" means "the nearest cached point is one of my 8
 * nearest neighbours", and its probability is 1 - C(N-1-k,c) / C(N-1,c). The controls are that closed form and the same
 * count on clouds of normal noise of the same covariance. chain/coverage.h has the corrected experiment.
 *
 * Dimensions: V = 3 variants of the metric (as fitted, smoothed once, smoothed twice: the harness printed each of
 * them in some version), S cache sizes, E eps, N points, n, R splits.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_COVERAGE_H
#define GEODEC_LAB_PUBLISHED_COVERAGE_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "lab/harness/manifold.h"

extern const geodec_kind geodec_coverage_published_kind;

typedef enum geodec_published_smoothing {
    GEODEC_PUBLISHED_RAW,
    GEODEC_PUBLISHED_ONCE,
    GEODEC_PUBLISHED_TWICE,
    GEODEC_PUBLISHED_VARIANTS,
} geodec_published_smoothing;

/* Splits and radii of the harness. */
typedef struct geodec_coverage_published_splits {
    int64_t points, n;
    const double *point;        /* [N][n] */
    int64_t shares, repeats;    /* S, R */
    const int64_t *cached;      /* [S] in 1 .. N - 1 */
    const int64_t *permutation; /* [S][R][N] of 0 .. N - 1: the first `cached` are the cache */
    int64_t n_eps;
    const double *eps; /* [E] */
} geodec_coverage_published_splits;

typedef struct geodec_coverage_published {
    int64_t shares, n_eps, repeats, points, n, nulls;
    int64_t *cached;                                                         /* [S] */
    double *eps;                                                             /* [E] */
    double *hit[GEODEC_PUBLISHED_VARIANTS];                                  /* [S][E] means over splits */
    double *p10[GEODEC_PUBLISHED_VARIANTS], *p90[GEODEC_PUBLISHED_VARIANTS]; /* [S][E] */
    double *distance[GEODEC_PUBLISHED_VARIANTS];                             /* [S] mean g-distance */
    double *closed_form;                                                     /* [S] */
    double *null_mean, *null_sd, *z; /* [S][E] of the metric smoothed once; 0 without nulls */
} geodec_coverage_published;

/* nulls: normal clouds of the same covariance (GEODEC_SURROGATE_GAUSSIAN), each with the same splits; 0 = none.
 * GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_NOMEM. Cost of a cloud: N metrics and 2 N field evaluations of N sites. */
geodec_status geodec_coverage_published_compute(const geodec_coverage_published_splits *splits,
                                                const geodec_harness_options *o, int64_t nulls, uint64_t seed,
                                                geodec_pool *pool, const geodec_hooks *hooks,
                                                geodec_coverage_published *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_coverage_published_clear(geodec_coverage_published *c);
/* Fills a new artifact of geodec_coverage_published_kind; the caller commits. */
geodec_status geodec_coverage_published_write(const geodec_coverage_published *c, geodec_artifact *a,
                                              geodec_err *err) GEODEC_MUST_USE;

/* The points, permutations, sizes of caches and distances of a file of draws; *s is all zero before and is cleared on
 * failure too. The errors of geodec_foreign_read. */
geodec_status geodec_coverage_published_draws(const char *draws, geodec_coverage_published_splits *s,
                                              geodec_err *err) GEODEC_MUST_USE;
void geodec_coverage_published_draws_clear(geodec_coverage_published_splits *s);

/* Logs the figures in words. */
void geodec_coverage_published_say(const geodec_hooks *hooks, const geodec_coverage_published *v);

#endif
