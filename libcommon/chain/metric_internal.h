/* Internal: the first step of every way to make a metric. */
#ifndef GEODEC_CHAIN_METRIC_INTERNAL_H
#define GEODEC_CHAIN_METRIC_INTERNAL_H

#include "chain/metric.h"

/* Given points, n, k and options: all arrays (log_g only with `matrices`), the points, their neighbours and sigma.
 * Matrices are left to the caller, as is freeing m on failure. */
geodec_status geodec__metric_begin(geodec_metric *m, const double *point, bool matrices, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
