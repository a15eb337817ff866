/* A metric at every point of a cloud: the inverse of the local covariance (Mahalanobis metric) of its k nearest
 * neighbours.
 *
 *     C_p = D^T D / (k-1),  D = neighbours minus their mean (or minus the point),
 *     C'_p = (1-a) C_p + (a tr(C_p)/n + ridge + ridge_relative tr(C_p)/n) I,
 *     g_p = C'_p^-1 with eigenvalues clipped.
 *
 * With k <= n neighbours C_p does not have full rank, and outside their span the metric is the ridge alone: such k are
 * an error unless forced. The metric is independent of scale: k neighbours have a mean squared g-length of about n, at
 * any density of the cloud. It is not a Fisher metric, since no likelihood is differentiated.
 *
 * Metrics of other kinds use the same structure and file. These hold the matrices at the points and the kind, which
 * defines the metric between the points (metric_space.h). */
#ifndef GEODEC_CHAIN_METRIC_H
#define GEODEC_CHAIN_METRIC_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "cluster/comm.h"
#include "geometry/rbf.h"

#include <stdbool.h>
#include <stdint.h>

/* The metric between the points. */
typedef enum geodec_metric_type {
    /* log-Euclidean fields through the matrices at the points */
    GEODEC_METRIC_MAHALANOBIS, /* inverse local covariances */
    GEODEC_METRIC_FISHER,      /* pull-back of the Fisher information of the next token */
    GEODEC_METRIC_BLEND,       /* a mixture of the two */
    /* the same matrix everywhere, that of point 0 */
    GEODEC_METRIC_EUCLIDEAN, /* the identity or the inverse covariance of all points */
    GEODEC_METRIC_FLAT,      /* flat torus: diag(L_i^2) */
    /* the published harness's sampled manifold (lab/harness/manifold.h) */
    GEODEC_METRIC_PUBLISHED,
    /* spaces with a closed form (spaces.h) */
    GEODEC_METRIC_SPHERE,     /* constant curvature `curvature` > 0 */
    GEODEC_METRIC_HYPERBOLIC, /* constant curvature `curvature` < 0 */
    GEODEC_METRIC_POLAR,
    GEODEC_METRIC_GAUSSIAN_FISHER,
    GEODEC_METRIC_KINDS
} geodec_metric_type;
GEODEC_API extern const char *const geodec_metric_type_names[]; /* by number, then NULL */
/* "mahalanobis", "gaussian-fisher", ..; "?" otherwise. Static storage. */
GEODEC_API const char *geodec_metric_type_name(geodec_metric_type kind);
/* GEODEC_NOTFOUND. */
GEODEC_API geodec_status geodec_metric_type_find(const char *name, geodec_metric_type *kind,
                                                 geodec_err *err) GEODEC_MUST_USE;

typedef enum geodec_metric_centre { GEODEC_CENTRE_MEAN, GEODEC_CENTRE_POINT } geodec_metric_centre;

typedef struct geodec_metric_options {
    int64_t k;                   /* neighbours; 0 = max(2n, 16) */
    bool force_k;                /* allow k <= n */
    geodec_metric_centre centre; /* default the neighbours' mean */
    double shrink;               /* a in 0..1; negative = Ledoit-Wolf, separately at each point (the default) */
    double ridge;                /* added to the diagonal, squared unit of the points; default 0 */
    double ridge_relative;       /* multiple of tr(C)/n added to the diagonal; default 0 */
    double clip_min, clip_max;   /* limits of the eigenvalues of g; defaults 0 and infinity */
    double sigma;    /* width of the field; 0 = sigma_nn times the median distance to the nearest neighbour */
    double sigma_nn; /* default 1 */
    /* Ranks that divide the work of geodec_metric_fit_slabs and geodec_metric_control, which all of them call; rank 0
     * alone has the results and calls the sink. NULL (the default): one process. Every rank holds the points, and n
     * doubles more for those that it searches. */
    geodec_comm *comm;
} geodec_metric_options;
GEODEC_API geodec_metric_options geodec_metric_defaults(void);

typedef struct geodec_metric_medians {
    double condition, shrinkage, nn_distance;
} geodec_metric_medians;
/* Where the points came from; all members but sequence and position are needed. Coordinates of a state x:
 * basis (x - mean). */
typedef struct geodec_metric_source {
    const int32_t *cloud_row;      /* [points] row of the cloud */
    const int32_t *activation_row; /* [points] row of the activations */
    const int32_t *sequence,
        *position;       /* [points] position in the text, both or neither (NULL): geodesics follow the text */
    int64_t d;           /* width of the states */
    const double *basis; /* [n][d] first n principal directions */
    const double *mean;  /* [d] */
    int64_t layer;       /* of the model */
    geodec_metric_medians control; /* geodec_metric_control; all 0 = none */
} geodec_metric_source;
/* How a Fisher metric was made: attributes of the file. */
typedef struct geodec_metric_fisher {
    double scale; /* median mean eigenvalue before the ridge; 0 = not a Fisher metric */
    double ridge, condition;
    int64_t floored;
    bool blended;
    double blend;
} geodec_metric_fisher;

typedef struct geodec_metric {
    geodec_metric_type kind;
    double curvature; /* of GEODEC_METRIC_SPHERE and GEODEC_METRIC_HYPERBOLIC; 0 otherwise */
    int64_t points, n, k;
    double *point;                 /* [points][n] */
    int32_t *knn_index;            /* [points][k], nearest first, ties by index */
    double *knn_distance;          /* [points][k] Euclidean */
    double *log_g;                 /* [points][n(n+1)/2], NULL after geodec_metric_fit_slabs and _read_tables */
    double *condition;             /* [points] largest over smallest eigenvalue of g */
    double *shrinkage;             /* [points] a */
    int32_t *clipped;              /* [points] eigenvalues that were clipped or floored */
    double median_nn;              /* median distance to the nearest neighbour */
    double sigma;                  /* of the field */
    geodec_metric_options options; /* with the values of k and clip that were used */
    /* only in the file: given to geodec_metric_write */
    geodec_metric_fisher fisher;
    bool rounded; /* log_g was rounded to float32 (geodec_metric_writer), which changed it by `rounding` */
    double rounding;
    /* only in the file: set by geodec_metric_write */
    geodec_metric_source source;
    geodec_metric_medians median;
    double sigma_nn; /* sigma in median distances to the nearest neighbour */
    int64_t n_clipped;
} geodec_metric;

/* point [points][n]. Eigenvalues of C' below 1e-12 tr(C)/n are raised to that value and counted as clipped. k = 0 means
 * max(2n, 16) neighbours, or all other points in a small cloud. GEODEC_RANGE (k, n, options), GEODEC_NUMERIC (not
 * finite), GEODEC_SCARCE (k = 0 and fewer than n + 2 points; all neighbours of a point coincide), GEODEC_LIMIT (tables
 * and field beyond the machine's memory: 16 n(n+1)/2 + 32 n + 12 k + 40 bytes a point), GEODEC_INTERRUPTED. */
GEODEC_API geodec_status geodec_metric_fit(int64_t points, int64_t n, const double *point,
                                           const geodec_metric_options *options, geodec_pool *pool,
                                           const geodec_hooks *hooks, geodec_metric *out,
                                           geodec_err *err) GEODEC_MUST_USE;
/* The same when the matrices of all points exceed the memory: they are passed to the sink, slab by slab in the order of
 * the points, and out->log_g stays NULL. The result does not depend on the slabs. Memory: 32 n + 12 k + 40 bytes a
 * point (GEODEC_LIMIT when the machine has less), that of geodec_knn_search, and one slab. */
enum { GEODEC_METRIC_SLAB = 32 << 20 }; /* bytes */
/* log_g [count][n(n+1)/2] of points first .. first+count-1; called from the thread that called
 * geodec_metric_fit_slabs. */
typedef geodec_status (*geodec_metric_sink)(void *ctx, int64_t first, int64_t count, const double *log_g,
                                            geodec_err *err);
GEODEC_API geodec_status geodec_metric_fit_slabs(int64_t points, int64_t n, const double *point,
                                                 const geodec_metric_options *options, geodec_metric_sink sink,
                                                 void *ctx, geodec_pool *pool, const geodec_hooks *hooks,
                                                 geodec_metric *out, geodec_err *err) GEODEC_MUST_USE;
/* Makes a metric of the given kind from its matrices g [points][n][n] at the points, which are symmetric and positive
 * definite. Computes logarithms, neighbours, condition numbers and sigma; shrinkage is 0. The options k (0 = max(2n,
 * 16), at most points - 1), clip_min, clip_max, sigma and sigma_nn apply. GEODEC_SCARCE (fewer than 2 points),
 * GEODEC_RANGE, GEODEC_NUMERIC (not positive definite, not finite), GEODEC_INTERRUPTED. */
GEODEC_API geodec_status geodec_metric_from_matrices(geodec_metric_type kind, int64_t points, int64_t n,
                                                     const double *point, const double *g,
                                                     const geodec_metric_options *options, geodec_pool *pool,
                                                     const geodec_hooks *hooks, geodec_metric *out,
                                                     geodec_err *err) GEODEC_MUST_USE;
/* A test space: `points` random points of a chart domain, from a seed, with the exact metric at them. Sphere and
 * hyperbolic space: uniform in the ball |x| < 1/sqrt|K| and 0.6/sqrt|K|, curvature 0 = 1 and -1; flat: the unit cube,
 * sides 1, 3/2, 2, ..; polar: r in 1..3, theta in 0..2; gaussian-fisher: mu in -1..1, sigma in 1/2..2 (both of
 * dimension 2). GEODEC_RANGE (another kind, dimension, curvature of the wrong sign), GEODEC_INTERRUPTED. */
GEODEC_API geodec_status geodec_metric_test_space(geodec_metric_type kind, int64_t points, int64_t n, double curvature,
                                                  uint64_t seed, const geodec_metric_options *options,
                                                  geodec_pool *pool, const geodec_hooks *hooks, geodec_metric *out,
                                                  geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_metric_clear(geodec_metric *m);
/* The same matrix at every point: the identity, or the inverse covariance of all points x [points][n]. g [points][n][n]
 * is new memory. GEODEC_NUMERIC when the covariance is singular. */
GEODEC_API geodec_status geodec_metric_constant(int64_t points, int64_t n, const double *x, bool covariance,
                                                geodec_pool *pool, double **g, geodec_err *err) GEODEC_MUST_USE;
/* The control of a metric's figures: the same fit to a Gaussian cloud with the same number of points and the covariance
 * of all points. A local covariance of k points in n dimensions varies by sampling alone, and the shrinkage reflects
 * this. */
GEODEC_API geodec_status geodec_metric_summary(const geodec_metric *m, geodec_metric_medians *out,
                                               geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_metric_control(const geodec_metric *m, uint64_t seed, geodec_pool *pool,
                                               const geodec_hooks *hooks, geodec_metric_medians *out,
                                               geodec_err *err) GEODEC_MUST_USE;
/* g at the fitted points before any smoothing, [n][n]. */
GEODEC_API geodec_status geodec_metric_at_point(const geodec_metric *m, int64_t p, double *g,
                                                geodec_err *err) GEODEC_MUST_USE;
/* The smooth field through its matrices, for any kind. The caller destroys it. */
GEODEC_API geodec_status geodec_metric_field(const geodec_metric *m, geodec_rbf **out, geodec_err *err) GEODEC_MUST_USE;

/* The metric artifact. */
GEODEC_API extern const geodec_kind geodec_metric_kind;
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
GEODEC_API geodec_status geodec_metric_write_slab(void *writer, int64_t first, int64_t count, const double *log_g,
                                                  geodec_err *err) GEODEC_MUST_USE;
/* Writes all fields (log_g unless its slabs are already written) and attributes into a new artifact of
 * geodec_metric_kind; the caller commits. source NULL: the points do not come from a cloud (rows are -1, coordinates
 * are those of the chart). */
GEODEC_API geodec_status geodec_metric_write(const geodec_metric *m, const geodec_metric_source *source,
                                             geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;
/* Reads everything back, and of `options` all but force_k and comm, which are not in the file. geodec_metric_clear
 * frees it. */
GEODEC_API geodec_status geodec_metric_read(const geodec_artifact *a, geodec_metric *out,
                                            geodec_err *err) GEODEC_MUST_USE;
/* The same without the matrices: log_g stays NULL. */
GEODEC_API geodec_status geodec_metric_read_tables(const geodec_artifact *a, geodec_metric *out,
                                                   geodec_err *err) GEODEC_MUST_USE;
/* Adds them. */
GEODEC_API geodec_status geodec_metric_read_matrices(const geodec_artifact *a, geodec_metric *m,
                                                     geodec_err *err) GEODEC_MUST_USE;
/* The field through the matrices of the file from which the tables m were read. The matrices are read slab by slab.
 * They are mapped from an unnamed file in the artifact's folder if they take more than `limit` bytes, and are in memory
 * otherwise (rbf.h). */
GEODEC_API geodec_status geodec_metric_field_from(const geodec_artifact *a, const geodec_metric *m, int64_t limit,
                                                  geodec_rbf **out, geodec_err *err) GEODEC_MUST_USE;
/* A quarter of the machine's memory: the limit for fields in memory. */
GEODEC_API int64_t geodec_metric_field_limit(void);
/* Logs the medians, and those of the control if the metric has one. */
GEODEC_API void geodec_metric_say(const geodec_hooks *hooks, const geodec_metric *m, const geodec_metric_medians *own,
                                  const geodec_metric_medians *control);

#endif
