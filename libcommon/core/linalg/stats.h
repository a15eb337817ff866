/* Small statistics: moments, percentiles, line fits, covariance shrinkage, bootstrap. float64; sums in index order
 * unless stated, so the same input gives the same bytes. */
#ifndef GEODEC_LINALG_STATS_H
#define GEODEC_LINALG_STATS_H

#include "base/err.h"

#include <stdint.h>

/* Sorts in ascending order, in place; NaN goes to the end. */
void geodec_stats_sort(int64_t n, double *x);
/* Percentile p in 0..1 of sorted x [n], n >= 1, by linear interpolation between order statistics (Hyndman and Fan's
 * type 7: position p (n-1)). */
double geodec_stats_percentile(int64_t n, const double *sorted, double p);
/* Index of the largest of x [n], n >= 1; the lowest of equal ones. */
int64_t geodec_stats_argmax(int64_t n, const double *x);
/* NaN for n = 0. */
double geodec_stats_mean(int64_t n, const double *x);
/* Unbiased (divisor n-1), two passes; NaN for n < 2. */
double geodec_stats_variance(int64_t n, const double *x);
/* out [rows][width] = a less its column means, which go to mean [width]. */
void geodec_stats_centre(int64_t rows, int64_t width, const double *a, double *mean, double *out);
/* Median without changing x. */
geodec_status geodec_stats_median(int64_t n, const double *x, double *median, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_stats_line {
    double slope, intercept;
    double slope_se, intercept_se; /* standard errors from the scatter about the line; NaN with too few points */
    double r2;                     /* share of the (weighted) variance of y explained; NaN when y is constant */
    int64_t n;
} geodec_stats_line;
/* Weighted least squares y = intercept + slope x; weight NULL = all one. GEODEC_RANGE with fewer than 2 points of
 * positive weight or a negative weight, GEODEC_SINGULAR when all x are equal, GEODEC_NUMERIC when not finite. */
geodec_status geodec_stats_fit_line(int64_t n, const double *x, const double *y, const double *weight,
                                    geodec_stats_line *out, geodec_err *err) GEODEC_MUST_USE;

/* Ledoit-Wolf shrinkage intensity a in 0..1 for m samples x [m][n] that are centred (Ledoit and Wolf, J. Multivariate
 * Anal. 88 (2004) 365, with S = x^T x / m): the best mix (1-a) S + a tr(S)/n I. 1 when S is a multiple of I. scratch
 * [n*n]. */
double geodec_stats_ledoit_wolf(int64_t m, int64_t n, const double *x, double *scratch);

/* Spearman's rank correlation of a and b [n], ties at their mean rank. GEODEC_RANGE with fewer than 2 values,
 * GEODEC_NUMERIC when one is not finite or all of a or of b are equal, GEODEC_NOMEM. */
geodec_status geodec_stats_rank_correlation(int64_t n, const double *a, const double *b, double *rho,
                                            geodec_err *err) GEODEC_MUST_USE;

/* Bootstrap: n indices in 0..n-1 sampled with replacement; replicate r of stream `stream` (base/rng.h:
 * geodec_rng_id). */
void geodec_stats_resample(uint64_t seed, uint64_t stream, uint64_t replicate, int64_t n, int64_t *index);

/* An estimate with its 95 % interval: by the percentile bootstrap unless stated (low = high = value without
 * replicates). */
typedef struct geodec_estimate {
    double value, low, high;
} geodec_estimate;
/* The median of sorted x [n], n >= 1, and the order statistics that enclose the population's median in 95 of 100
 * samples: the number of values below it is binomial (n, 1/2), here by the normal approximation. Below 6 values the
 * interval is their whole range, which is less sure than that. */
geodec_estimate geodec_stats_median_interval(int64_t n, const double *sorted);
/* sum numerator / sum denominator of `groups` groups (texts, starts, clouds: independent units), which the bootstrap
 * resamples as a whole. denominator NULL = all one: the mean. Value NaN for no groups or a zero sum; replicates with a
 * zero sum are left out. GEODEC_NUMERIC (not finite), GEODEC_NOMEM. */
geodec_status geodec_stats_ratio(int64_t groups, const double *numerator, const double *denominator, int64_t replicates,
                                 uint64_t seed, uint64_t stream, geodec_estimate *out, geodec_err *err) GEODEC_MUST_USE;

#endif
