/* The cloud: hidden states of one layer as points in their principal coordinates, with estimates of their dimension.
 *
 * The activations are read in slabs (memory: d^2, the spectrum, 48 bytes a row and the points of TwoNN):
 *   1. states that equal an earlier one bit for bit are dropped (every sequence begins with the same state);
 *   2. rows of extreme norm (massive activations, the first token) are counted: norms above the median by more than
 *      GEODEC_CLOUD_EXTREME standard deviations, estimated as GEODEC_CLOUD_MAD times the median absolute deviation.
 *      They are kept unless drop_outliers is set;
 *   3. a seeded random subset of at most max_points of the rest is kept, in text order;
 *   4. principal components: the smallest K that explain `variance`; all K coordinates are written;
 *   5. K and the TwoNN dimension of nested random subsets of N/4, N/2, N points, because K grows with N and TwoNN is
 *      biased at small N. TwoNN is that of the space that was given, all d coordinates of a state; beside it stands
 *      TwoNN of the K kept coordinates, which one large direction can rule. The control of both is a Gaussian cloud
 *      with the measured spectrum, whole and cut after K;
 *   6. the same TwoNN with neighbours in time left out (geometry/theiler.h), because consecutive states of a text are
 *      near in space, and the dimension that is recommended: that estimate, corrected for the number of points by the
 *      closed form of spheres (geometry/twonn_sphere.h). The control has as many independent points in as many parts.
 * Later stages work on the K coordinates, or fewer.
 * Coordinates have the unit of the activations (no whitening). */
#ifndef GEODEC_CLOUD_H
#define GEODEC_CLOUD_H

#include "geodec/artifact.h"
#include "geodec/run.h"

#include <stdbool.h>
#include <stdint.h>

struct geodec_sweep;

typedef struct geodec_activations {
    const geodec_artifact *file; /* borrowed */
    int64_t rows, layers, d;
    bool half; /* stored as /state_f16 */
} geodec_activations;

/* Reads the sizes and checks that the file has states. The artifact must outlive the view. */
GEODEC_API geodec_status geodec_activations_view(const geodec_artifact *a, geodec_activations *out,
                                                 geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_twonn {
    int64_t points, duplicates, used; /* points given; those equal to an earlier one; mu used */
    int64_t ratios;                   /* different values of mu among them, within 1e-9 */
    double ml, ml_low, ml_high;
    double fit, fit_low, fit_high;
} geodec_twonn;

/* TwoNN with neighbours in time left out, and the recommended dimension. With one part twonn is plain TwoNN. */
typedef struct geodec_theiler {
    geodec_twonn twonn;  /* ratios of all parts */
    int64_t part_points; /* points of a part: the sample that each ratio is of */
    /* twonn.ml and its interval corrected for part_points: the dimension of the sphere on which so many uniform points
     * have the same mean of ln mu; NaN outside of 0.01 .. 10000 */
    double dimension, low, high;
} geodec_theiler;

typedef struct geodec_twonn_options {
    double trim;        /* share of the largest mu left out of the fit; default 0.1 */
    int64_t replicates; /* of the bootstrap; default 200, 0 = intervals of zero width */
    uint64_t seed, stream;
} geodec_twonn_options;
GEODEC_API geodec_twonn_options geodec_twonn_defaults(void);

/* x [n][d], n >= 8; n d doubles of memory. GEODEC_RANGE (trim), GEODEC_NUMERIC (not finite), GEODEC_SCARCE (fewer than
 * 8 points, or than 4 with two different neighbour distances, or ties dominate): *out has the counts, and NaN. */
GEODEC_API geodec_status geodec_twonn_estimate(int64_t n, int64_t d, const double *x, const geodec_twonn_options *o,
                                               geodec_pool *pool, const geodec_hooks *hooks, geodec_twonn *out,
                                               geodec_err *err) GEODEC_MUST_USE;

enum { GEODEC_CLOUD_SUBSETS = 3, GEODEC_CLOUD_MIN_POINTS = 32 };

/* Standard deviations above the median norm; the deviation of a Gaussian over its median absolute deviation. */
#define GEODEC_CLOUD_EXTREME 10
#define GEODEC_CLOUD_MAD 1.4826

/* Principal components from the whole covariance, or from two passes with a random sketch that is widened until it
 * explains the share (geometry/sketch.h). AUTO: a sketch of width at most d/16 when d >= 2048, otherwise the
 * covariance. With at most d points the components always come from the Gram matrix. */
typedef enum geodec_cloud_pca {
    GEODEC_CLOUD_PCA_AUTO,
    GEODEC_CLOUD_PCA_EXACT,
    GEODEC_CLOUD_PCA_RANDOMIZED
} geodec_cloud_pca;

typedef struct geodec_cloud_options {
    int64_t layer;          /* of the model (0 = embedding); must be in the file */
    double variance;        /* share to explain, default 0.95 */
    int64_t max_points;     /* 0 = all */
    int64_t twonn_points;   /* limit of the points in TwoNN (quadratic cost); default 20000 */
    int64_t control_points; /* limit of the points in the control's spectrum; default 4096 */
    int64_t theiler;        /* window in positions; -1, the default: from the data; 0 and 1: none */
    int64_t k_int;      /* integer dimension; 0 = the trimmed fit of TwoNN with neighbours in time left out, rounded,
                           in 1..K; K if not measured */
    bool drop_outliers; /* leave out the rows of extreme norm */
    geodec_cloud_pca pca;
    uint64_t seed;
    struct geodec_sweep *sweep; /* computes the covariance in 16 blocks of points; a slice stops after it. NULL: all at
                            once. GEODEC_UNSUPPORTED for a slice when the components do not come from the covariance
                            (sketches, or at most d points) */
} geodec_cloud_options;
GEODEC_API geodec_cloud_options geodec_cloud_defaults(void);

typedef struct geodec_cloud_subset {
    int64_t points, components; /* K at this many points */
    /* of min(points, twonn_points) of them: in the space that was given, and in the K kept coordinates; NaN where ties
     * dominate (geometry/twonn.h) */
    geodec_twonn twonn, kept;
    geodec_theiler theiler, theiler_kept; /* the same with neighbours in time left out */
} geodec_cloud_subset;

/* What the dimension is in doubt for. FEW: the dimension is above 2 log10 of the points of a part (Eckmann and Ruelle,
 * Physica D 56 (1992) 185), or the intervals of N/4 and N points, half as wide again, are disjoint: the estimate has
 * not converged. */
enum {
    GEODEC_CLOUD_DOUBT_TIME = 1,    /* time neighbours, which a window leaves out */
    GEODEC_CLOUD_DOUBT_REMAINS = 2, /* time neighbours remain: too few points for a window that leaves them out */
    GEODEC_CLOUD_DOUBT_FEW = 4      /* too few points */
};

typedef struct geodec_cloud_summary {
    int64_t rows, duplicates, points, d, k, k_int;
    int64_t extreme, dropped; /* different rows of extreme norm, and how many of them were left out */
    double extreme_share;     /* of the squared norms of all different rows; 0 without extreme rows */
    double extreme_norm;      /* largest norm over the median norm */
    int64_t sketch_width;     /* 0: exact components */
    double sketch_residual;   /* largest |C q - theta q| of the kept components over the first eigenvalue */
    double total_variance, explained, participation; /* (sum lambda)^2 / sum lambda^2 */
    int64_t theiler_window, theiler_parts;           /* 1, 1: plain */
    int64_t doubt;                                   /* GEODEC_CLOUD_DOUBT_..., or-ed */
    /* share of the points whose nearest neighbour is of the same text within max(window, 2) positions; what positions
     * without meaning give */
    double time_near, time_chance;
    geodec_cloud_subset subset[GEODEC_CLOUD_SUBSETS], control[GEODEC_CLOUD_SUBSETS];
} geodec_cloud_summary;

/* Fills a new artifact of geodec_cloud_kind from the activations; the caller commits it. summary may be NULL.
 * GEODEC_NOTFOUND (layer), GEODEC_RANGE (options), GEODEC_NUMERIC (states not finite), GEODEC_SCARCE (fewer than
 * 32 different states). */
GEODEC_API geodec_status geodec_cloud_build(const geodec_activations *states, const geodec_cloud_options *options,
                                            geodec_artifact *out, geodec_cloud_summary *summary, geodec_pool *pool,
                                            const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

/* Points that are already coordinates (a matrix of another program, the public exports). There are no states and no
 * principal components are computed; basis and mean are those of the coordinates, and tokens are unknown (-1). */
typedef struct geodec_cloud_points {
    int64_t points, k;
    const double *x;          /* [points][k] */
    const double *eigenvalue; /* [values] descending, values >= k: variances given by the source; NULL = those of x */
    int64_t values;
    double total_variance; /* with eigenvalue */
    int64_t components;    /* the source's number of components; 0 = counted in x */
    int64_t k_int;         /* integer dimension; 0 = k */
    int64_t measured;      /* number of measured coordinates, the others are generated noise; 0 = all */
    bool consecutive;      /* rows are consecutive states of one text; otherwise each row is its own sequence */
    const char *source;    /* "coordinates" or "export" */
} geodec_cloud_points;

/* The options variance, twonn_points, control_points and seed apply. GEODEC_RANGE, GEODEC_NUMERIC. */
GEODEC_API geodec_status geodec_cloud_from_points(const geodec_cloud_points *p, const geodec_cloud_options *options,
                                                  geodec_artifact *out, geodec_cloud_summary *summary,
                                                  geodec_pool *pool, const geodec_hooks *hooks,
                                                  geodec_err *err) GEODEC_MUST_USE;

/* A cloud, as it is written and read back. */
typedef struct geodec_cloud {
    int64_t points, k, d, k_int, layer;
    double *coordinate; /* [points][k] */
    double *basis;      /* [k][d] */
    double *mean;       /* [d] */
    double *eigenvalue; /* [values] descending */
    int64_t values;
    int32_t *row;                         /* [points] row of the activations */
    int32_t *sequence, *position, *token; /* [points] */
    int32_t *cloud_row;                   /* [points] row of the file: 0, 1, .. until the cloud is thinned */
    /* how the cloud was made; its sizes and k_int are those above */
    geodec_cloud_summary made;
    double variance;    /* requested share */
    int64_t left_out;   /* rows left out because of max_points */
    const char *source; /* NULL: states; not read back */
    int64_t measured;   /* 0: all coordinates */
} geodec_cloud;
GEODEC_API geodec_status geodec_cloud_read(const geodec_artifact *a, geodec_cloud *out,
                                           geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_cloud_clear(geodec_cloud *c);

/* The default dimension of later stages: k_int, limited to 2..12 (the cost of curvature grows as n^5) and to at most
 * k. */
GEODEC_API int64_t geodec_cloud_dimension(const geodec_cloud *c);

/* The first n <= k coordinates of the points, in new memory: x [points][n]. */
GEODEC_API geodec_status geodec_cloud_coordinates(const geodec_cloud *c, int64_t n, double **x,
                                                  geodec_err *err) GEODEC_MUST_USE;

#endif
