/* What the other folders use beyond geodec/metric.h. */
#ifndef GEODEC_CHAIN_METRIC_H
#define GEODEC_CHAIN_METRIC_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "cluster/comm.h"
#include "geodec/metric.h"
#include "geometry/rbf.h"

#include <stdbool.h>
#include <stdint.h>

extern const char *const geodec_metric_type_names[]; /* by number, then NULL */
/* "mahalanobis", "gaussian-fisher", ..; "?" otherwise. Static storage. */
const char *geodec_metric_type_name(geodec_metric_type kind);
/* GEODEC_NOTFOUND. */
geodec_status geodec_metric_type_find(const char *name, geodec_metric_type *kind, geodec_err *err) GEODEC_MUST_USE;

/* As geodec_metric_fit, when the matrices of all points exceed the memory: they are passed to the sink, slab by slab in
 * the order of the points, and out->log_g stays NULL. The result does not depend on the slabs. Memory: 32 n + 12 k + 40
 * bytes a point (GEODEC_LIMIT when the machine has less), that of geodec_knn_search, and one slab. */
enum { GEODEC_METRIC_SLAB = 32 << 20 }; /* bytes */
/* log_g [count][n(n+1)/2] of points first .. first+count-1; called from the thread that called
 * geodec_metric_fit_slabs. */
typedef geodec_status (*geodec_metric_sink)(void *ctx, int64_t first, int64_t count, const double *log_g,
                                            geodec_err *err);
geodec_status geodec_metric_fit_slabs(int64_t points, int64_t n, const double *point,
                                      const geodec_metric_options *options, geodec_metric_sink sink, void *ctx,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_metric *out,
                                      geodec_err *err) GEODEC_MUST_USE;
/* One matrix for all points: the identity, or the inverse covariance of all points x [points][n]. g [points][n][n]
 * is new memory. GEODEC_NUMERIC when the covariance is singular. */
geodec_status geodec_metric_constant(int64_t points, int64_t n, const double *x, bool covariance, geodec_pool *pool,
                                     double **g, geodec_err *err) GEODEC_MUST_USE;
/* The control of a metric's figures: the same fit to a Gaussian cloud with the same number of points and the covariance
 * of all points. A local covariance of k points in n dimensions varies by sampling alone, and the shrinkage reflects
 * this. */
geodec_status geodec_metric_summary(const geodec_metric *m, geodec_metric_medians *out,
                                    geodec_err *err) GEODEC_MUST_USE;
/* g at the fitted points before any smoothing, [n][n]. */
geodec_status geodec_metric_at_point(const geodec_metric *m, int64_t p, double *g, geodec_err *err) GEODEC_MUST_USE;
/* The smooth field through its matrices, for any kind. The caller destroys it. */
geodec_status geodec_metric_field(const geodec_metric *m, geodec_rbf **out, geodec_err *err) GEODEC_MUST_USE;

/* The metric artifact. */
extern const geodec_kind geodec_metric_kind;
/* A geodec_metric_sink whose ctx is the writer: it writes logarithms slab by slab into a new artifact of
 * geodec_metric_kind, and geodec_metric_write adds the rest later. f32 halves the size of the file: each entry is
 * rounded to float32, and the largest change |dL|_F of a matrix is kept in `rounding`, for geodec_metric.rounding. |ln
 * (v^T g v / v^T g' v)| <= |dL|_F (k - 1) / ln k for every v, where k is the condition number of the matrix (rbf.h, the
 * bound on truncation). */
typedef struct geodec_metric_writer {
    geodec_artifact *file;
    int64_t n;
    bool f32;
    double rounding;
} geodec_metric_writer;
geodec_status geodec_metric_write_slab(void *writer, int64_t first, int64_t count, const double *log_g,
                                       geodec_err *err) GEODEC_MUST_USE;
/* As geodec_metric_read, without the matrices: log_g stays NULL. */
geodec_status geodec_metric_read_tables(const geodec_artifact *a, geodec_metric *out, geodec_err *err) GEODEC_MUST_USE;
/* Adds the matrices to an m that geodec_metric_read_tables read. */
geodec_status geodec_metric_read_matrices(const geodec_artifact *a, geodec_metric *m, geodec_err *err) GEODEC_MUST_USE;
/* The field through the matrices of the file from which the tables m were read. The matrices are read slab by slab.
 * They are mapped from an unnamed file in the artifact's folder if they take more than `limit` bytes, and are in memory
 * otherwise (rbf.h). */
geodec_status geodec_metric_field_from(const geodec_artifact *a, const geodec_metric *m, int64_t limit,
                                       geodec_rbf **out, geodec_err *err) GEODEC_MUST_USE;
/* A quarter of the machine's memory: the limit for fields in memory. */
int64_t geodec_metric_field_limit(void);
/* Logs the medians, and those of the control if the metric has one. */
void geodec_metric_say(const geodec_hooks *hooks, const geodec_metric *m, const geodec_metric_medians *own,
                       const geodec_metric_medians *control);

#endif
