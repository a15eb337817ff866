/* Internal: the first step of each method that makes a metric. */
#ifndef GEODEC_CHAIN_METRIC_INTERNAL_H
#define GEODEC_CHAIN_METRIC_INTERNAL_H

#include "chain/metric.h"

/* From points, n, k and options, allocates all arrays (log_g only with `matrices`) and sets the points, their
 * neighbours and sigma. The caller computes the matrices, and frees m on failure. */
geodec_status geodec__metric_begin(geodec_metric *m, const double *point, bool matrices, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
