/* What geodec_metric_fit_slabs and geodec_metric_control need. */
#ifndef GEODEC_CHAIN_METRIC_NEEDS_H
#define GEODEC_CHAIN_METRIC_NEEDS_H

#include "artifact/size.h"
#include "base/needs.h"
#include "chain/cloud.h"
#include "chain/metric.h"

/* Bytes that the stage allocates at most, for `points` of a cloud of K coordinates (`in_file` points), in n dimensions
 * with k neighbours: while it reads the cloud, all coordinates of it and those in use; while it makes the control, the
 * points (8 n), two metrics without matrices (8 n + 12 k + 20 a point each), the points of the control, a slab of
 * matrices and the search for neighbours. */
double geodec_metric_bytes(int64_t in_file, int64_t K, int64_t points, int64_t n, int64_t k, int64_t threads);

/* x [cloud->points][n]: coordinates in use. Adds sizes, memory and times of rank 0: the search among the points, that
 * among the points of the control (a Gaussian cloud, which is made), and the matrices of some points. *size: the
 * artifact, with matrices as float32 if f32. Errors: those of the stage. */
geodec_status geodec_metric_needs(const geodec_cloud *cloud, int64_t in_file, int64_t n, const double *x,
                                  const geodec_metric_options *o, bool f32, uint64_t seed, double budget,
                                  geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
