/* Coverage: how often a new point has a cached one within g-distance eps, as a function of the number of cached points.
 *
 * For each share of the points and each random split, the metric is fitted on the cached points alone, the field
 * through them is evaluated at the held-out points, and the exact g-nearest cached point is found. (If the metric is
 * also fitted on the held-out point, the result is an identity: this is the leaky control.) Controls of every figure:
 *
 *   closed form  1 - C(N-1-k, c) / C(N-1, c): the probability that the nearest of c cached points is one of the k
 *                nearest of all N - 1, without any model
 *   leaky        the same experiment with the metric fitted on all points, the held-out ones included: the k neighbours
 *                of a point then lie at g-length about sqrt(k - 1) for any data, so just above that eps the result is
 *                the closed form
 *   nulls        the whole experiment on surrogates (linalg/surrogate.h), several seeds: mean, standard deviation and
 *                the z-score of the measured figure. Gaussian ones keep only the covariance. The second null keeps the
 *                correlations along the text (phase) or, without an order, each coordinate's values (shuffle).
 *
 *   twin         what a hit means at the noise of the points: the share of held-out points that have a second
 *                measurement of the same state within eps. Where it is small, eps is below the noise, and no state is
 *                found again; where hits are as many, eps cannot tell the same state from its neighbours
 *
 * Over several sizes N the mean distance is fitted as distance = a N^trend: in a metric that follows the density the
 * trend is 0, so more data do not bring points closer.
 *
 * Dimensions: L sizes, S shares, E eps. */
#ifndef GEODEC_CHAIN_COVERAGE_H
#define GEODEC_CHAIN_COVERAGE_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "base/hooks.h"
#include "chain/metric.h"
#include "linalg/surrogate.h"

extern const geodec_kind geodec_coverage_kind; /* of geodec_coverage */

enum { GEODEC_COVERAGE_SHARES = 16, GEODEC_COVERAGE_EPS = 32, GEODEC_COVERAGE_SIZES = 8 };

typedef struct geodec_coverage_options {
    int64_t n_sizes;
    int64_t size[GEODEC_COVERAGE_SIZES]; /* N, ascending, each at most the number of points; n_sizes = 0: all points */
    int64_t n_shares;
    double share[GEODEC_COVERAGE_SHARES]; /* cached share of the points, in (0, 1), ascending; default .1 .25 .5 .75 */
    int64_t n_eps;
    double eps[GEODEC_COVERAGE_EPS]; /* g-distances, ascending; default .1 .4 1 2 3 4 6 8 */
    int64_t repeats;                 /* random splits; default 8 */
    int64_t queries;                 /* limit of the held-out points in each split; default 200 */
    int64_t nulls;                   /* clouds of each null; default 10, 0 = none */
    geodec_surrogate second;         /* the second null; default shuffle */
    int64_t null_repeats;            /* splits of each; default 2 */
    double noise; /* standard deviation of an error in each coordinate (geodec_cloud_noise); default 0 */
    geodec_metric_options metric; /* k = 0: max(2n, 16), lowered to the smallest cache - 1 */
    uint64_t seed;
    geodec_sweep *sweep; /* runs the splits in slices, which are not summarised; NULL: all at once */
} geodec_coverage_options;
geodec_coverage_options geodec_coverage_defaults(void);

typedef struct geodec_coverage {
    int64_t sizes, shares, n_eps, n, k;
    int64_t *size;                   /* [L] */
    double *share, *eps;             /* [S], [E] */
    int64_t *cached;                 /* [L][S] c */
    double *hit, *hit_p10, *hit_p90; /* [L][S][E] share of held-out points within eps; percentiles over splits */
    double *distance;                /* [L][S] mean g-distance to the nearest cached point */
    double *recall;      /* [L][S] share where the nearest cached point in Euclidean distance is also the g-nearest */
    double *closed_form; /* [L][S] */
    double *leaky, *leaky_distance;  /* [L][S][E], [L][S] */
    double *null_mean, *null_sd, *z; /* [L][S][E]; z with the larger of null_sd and one query; 0 below 2 clouds */
    double *null_distance;           /* [L][S] */
    double *second_mean, *second_sd, *second_z, *second_distance; /* the same for the second null */
    double *twin, *twin_distance; /* [L][S][E], [L][S]; 0 without noise: distance 0, all within eps */
    double *trend, *null_trend;   /* [S] slope of ln distance over ln N; 0 with fewer than 2 sizes */
    double *trend_se;             /* [S] standard error about the line; 0 with fewer than 3 sizes */
    int64_t repeats, nulls;
    double noise;
    geodec_surrogate second;
} geodec_coverage;

/* point [points][n]. GEODEC_SCARCE when a cache would be too small for a metric (GEODEC_RANGE if k is given). */
geodec_status geodec_coverage_compute(int64_t points, int64_t n, const double *point, const geodec_coverage_options *o,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_coverage *out,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_coverage_clear(geodec_coverage *c);

/* 1 - C(N-1-k, c) / C(N-1, c), as a product of c ratios; 1 when c > N - 1 - k. 0 <= k < N, 0 <= c <= N - 1. */
double geodec_coverage_closed_form(int64_t n_points, int64_t k, int64_t cached);

/* Sizes for `count` points: all, and with `sweep` also a quarter and half of them. If the smallest cache of a quarter
 * is too small for a metric in n dimensions, the sizes begin at the smallest sufficient number and are evenly spaced in
 * the logarithm. */
void geodec_coverage_sizes(geodec_coverage_options *o, bool sweep, int64_t count, int64_t n);

/* Logs a summary of the figures. */
void geodec_coverage_say(const geodec_hooks *hooks, const geodec_coverage *v);

#endif
