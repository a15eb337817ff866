/* Internal: the first step of each method that makes a metric. */
#ifndef GEODEC_CHAIN_METRIC_INTERNAL_H
#define GEODEC_CHAIN_METRIC_INTERNAL_H

#include "chain/metric.h"

/* From points, n, k and options, allocates all arrays (log_g only with `matrices`) and sets the points, their
 * neighbours and sigma. The caller computes the matrices, and frees m on failure. */
geodec_status geodec__metric_begin(geodec_metric *m, const double *point, bool matrices, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

/* Checks the options for points in n dimensions and replaces k = 0 by the default. */
geodec_status geodec__metric_check(int64_t points, int64_t n, geodec_metric_options *o,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Logarithms of points first .. first+count-1 from their neighbour lists, log_g [count][n(n+1)/2]. */
geodec_status geodec__metric_fit_slab(const geodec_metric *m, int64_t first, int64_t count, double *log_g,
                                      geodec_pool *pool, geodec_err *err) GEODEC_MUST_USE;
/* Points of the control, x [points][n], zero before: a Gaussian cloud with the covariance of point [points][n]. */
geodec_status geodec__metric_control_points(int64_t points, int64_t n, const double *point, uint64_t seed,
                                            geodec_pool *pool, double *x, geodec_err *err) GEODEC_MUST_USE;

#endif
