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
#ifndef GEODEC_METRIC_H
#define GEODEC_METRIC_H

#include "geodec/artifact.h"
#include "geodec/run.h"
#include "geodec/space.h"

#include <stdbool.h>
#include <stdint.h>

struct geodec_comm;

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
    /* spaces with a closed form (geometry/space_closed.h) */
    GEODEC_METRIC_SPHERE,     /* constant curvature `curvature` > 0 */
    GEODEC_METRIC_HYPERBOLIC, /* constant curvature `curvature` < 0 */
    GEODEC_METRIC_POLAR,
    GEODEC_METRIC_GAUSSIAN_FISHER,
    GEODEC_METRIC_KINDS
} geodec_metric_type;
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
    struct geodec_comm *comm;
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
    double noise;                  /* standard deviation of an error of a state in each direction; 0: unknown */
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
GEODEC_API geodec_status geodec_metric_control(const geodec_metric *m, uint64_t seed, geodec_pool *pool,
                                               const geodec_hooks *hooks, geodec_metric_medians *out,
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

/* Must not be moved: `space` may point into it. */
typedef struct geodec_metric_space {
    const geodec_space *space;
    geodec_rbf *field; /* of the kinds that are fields; NULL otherwise */
    union {
        geodec_space base;
        geodec_space_conformal conformal;
        geodec_space_torus torus;
        geodec_space_constant constant;
    } exact;
} geodec_metric_space;

/* GEODEC_FORMAT when the matrices at the points are not those of the kind's space (a relative difference above 1e-9),
 * GEODEC_UNSUPPORTED for GEODEC_METRIC_PUBLISHED (lab/harness/manifold.h), GEODEC_RANGE, GEODEC_NUMERIC. */
GEODEC_API geodec_status geodec_metric_space_init(const geodec_metric *m, geodec_metric_space *out,
                                                  geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_metric_space_clear(geodec_metric_space *s);

#endif
