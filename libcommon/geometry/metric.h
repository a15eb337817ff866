/* A metric at every point of a cloud: the inverse of the local covariance (Mahalanobis metric) of its k nearest
 * neighbours,
 *
 *     C_p = D^T D / (k-1),  D = neighbours minus their mean (or minus the point),
 *
 *     C'_p = (1-a) C_p + (a tr(C_p)/n + ridge + ridge_relative tr(C_p)/n) I,   g_p = C'_p^-1 with eigenvalues clipped.
 *
 * With k <= n neighbours C_p has no full rank, and what the metric says outside their span is the ridge alone: such k
 * are refused unless forced. The metric is free of scale: k neighbours have a mean squared g-length of about n, however
 * dense the cloud is. It is no Fisher metric: no likelihood is differentiated. */
#ifndef GEODEC_GEOMETRY_METRIC_H
#define GEODEC_GEOMETRY_METRIC_H

#include "base/hooks.h"
#include "base/pool.h"
#include "geometry/rbf.h"
#include "io/artifact.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum geodec_metric_centre { GEODEC_CENTRE_MEAN, GEODEC_CENTRE_POINT } geodec_metric_centre;

typedef struct geodec_metric_options {
    int64_t k;                   /* neighbours; 0 = max(2n, 16) */
    bool force_k;                /* allow k <= n */
    geodec_metric_centre centre; /* default the neighbours' mean */
    double shrink;               /* a in 0..1; negative = Ledoit-Wolf, each point its own (the default) */
    double ridge;                /* added to the diagonal, squared unit of the points; default 0 */
    double ridge_relative;       /* multiple of tr(C)/n added to the diagonal; default 0 */
    double clip_min, clip_max;   /* limits of the eigenvalues of g; defaults 0 and infinity */
    double sigma;    /* width of the field; 0 = sigma_nn times the median distance to the nearest neighbour */
    double sigma_nn; /* default 1 */
} geodec_metric_options;
GEODEC_API geodec_metric_options geodec_metric_defaults(void);

typedef struct geodec_metric {
    int64_t points, n, k;
    double *point;                 /* [points][n] */
    int32_t *knn_index;            /* [points][k], nearest first, ties by index */
    double *knn_distance;          /* [points][k] Euclidean */
    double *log_g;                 /* [points][n(n+1)/2] */
    double *condition;             /* [points] largest over smallest eigenvalue of g */
    double *shrinkage;             /* [points] a */
    int32_t *clipped;              /* [points] eigenvalues that were clipped or floored */
    double median_nn;              /* median distance to the nearest neighbour */
    double sigma;                  /* of the field */
    geodec_metric_options options; /* with k and clip as used */
} geodec_metric;

/* point [points][n]. Eigenvalues of C' below 1e-12 tr(C)/n are lifted to it and counted as clipped.
 * GEODEC_RANGE (k, n, options), GEODEC_NUMERIC (not finite; all neighbours of a point at one place),
 * GEODEC_INTERRUPTED. */
GEODEC_API geodec_status geodec_metric_fit(int64_t points, int64_t n, const double *point,
                                           const geodec_metric_options *options, geodec_pool *pool,
                                           const geodec_hooks *hooks, geodec_metric *out,
                                           geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_metric_clear(geodec_metric *m);
/* What the figures of a metric are worth: the same fit to a Gaussian cloud with as many points and the covariance of
 * all points together. A local covariance of k points in n dimensions is uneven by chance alone, and shrinks
 * accordingly. */
typedef struct geodec_metric_medians {
    double condition, shrinkage, nn_distance;
} geodec_metric_medians;
GEODEC_API geodec_status geodec_metric_summary(const geodec_metric *m, geodec_metric_medians *out,
                                               geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_metric_control(const geodec_metric *m, uint64_t seed, geodec_pool *pool,
                                               const geodec_hooks *hooks, geodec_metric_medians *out,
                                               geodec_err *err) GEODEC_MUST_USE;
/* g at the fitted points before any smoothing, [n][n]. */
GEODEC_API geodec_status geodec_metric_at_point(const geodec_metric *m, int64_t p, double *g,
                                                geodec_err *err) GEODEC_MUST_USE;
/* The smooth field through it. Caller destroys. */
GEODEC_API geodec_status geodec_metric_field(const geodec_metric *m, geodec_rbf **out, geodec_err *err) GEODEC_MUST_USE;

/* The metric artifact. */
GEODEC_API extern const geodec_kind geodec_kind_metric;
/* Where the points came from; all members but sequence and position are needed. Coordinates of a state x:
 * basis (x - mean). */
typedef struct geodec_metric_source {
    const int32_t *cloud_row;      /* [points] row of the cloud */
    const int32_t *activation_row; /* [points] row of the activations */
    const int32_t *sequence,
        *position;                 /* [points] place in the text, both or neither (NULL): geodesics begin along it */
    int64_t d;                     /* width of the states */
    const double *basis;           /* [n][d] first n principal directions */
    const double *mean;            /* [d] */
    int64_t layer;                 /* of the model */
    geodec_metric_medians control; /* geodec_metric_control */
} geodec_metric_source;
/* Writes all fields and attributes into a new artifact of geodec_kind_metric; the caller commits. */
GEODEC_API geodec_status geodec_metric_write(const geodec_metric *m, const geodec_metric_source *source,
                                             geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;
/* Everything back but `options`, of which k and sigma are set. geodec_metric_clear frees it. */
GEODEC_API geodec_status geodec_metric_read(const geodec_artifact *a, geodec_metric *out,
                                            geodec_err *err) GEODEC_MUST_USE;
/* Opens METRIC.h5 and builds its field: what the later stages begin with. *file (may be NULL) gets the open artifact,
 * for provenance; the caller closes it. */
GEODEC_API geodec_status geodec_metric_open_field(const char *path, geodec_rbf **field, geodec_artifact **file,
                                                  geodec_err *err) GEODEC_MUST_USE;

#endif
