/* The curvature artifact: the Riemann tensor of the smooth field at sample points, at midpoints between a point and its
 * nearest neighbour (where the field changes most), and at nodes of geodesics.
 *
 * Dimensions: Q points, n coordinates. */
#ifndef GEODEC_RIEMANN_H
#define GEODEC_RIEMANN_H

#include "geodec/curvature.h"
#include "geodec/geodesics.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum geodec_riemann_place {
    GEODEC_PLACE_SAMPLE,   /* a point of the cloud; `index` = point, `partner` = -1 */
    GEODEC_PLACE_MIDPOINT, /* half-way from point `index` to its nearest neighbour `partner` */
    GEODEC_PLACE_PATH,     /* node `partner` of path `index` */
    GEODEC_PLACE_GIVEN,    /* point `index` of those given */
    GEODEC_PLACES
} geodec_riemann_place;

typedef struct geodec_riemann_options {
    int64_t samples;   /* seeded random subset of the points; 0 = all. Default 512 */
    int64_t midpoints; /* number of samples with a midpoint, at most all; 0 = none. Default 256 */
    int64_t control;   /* samples, and midpoints, of the field of noise; 0 = none. Default 64 */
    bool tensors;      /* keep R^a_bcd */
    const double *x;   /* [given][n] points in place of samples and midpoints, or NULL */
    int64_t given;
    uint64_t seed;
    geodec_shard shard; /* only these of the points, and the control points among them */
} geodec_riemann_options;

typedef struct geodec_riemann {
    int64_t points, n;
    double *x;                               /* [Q][n] */
    uint8_t *place;                          /* [Q] geodec_riemann_place */
    int32_t *index, *partner;                /* [Q] */
    geodec_curvature_invariants *inv;        /* [Q] */
    double *ricci;                           /* [Q][n][n] */
    double *riem;                            /* [Q][n]^4 or NULL */
    double median_abs_scalar[GEODEC_PLACES]; /* 0 if there is no such point */
    geodec_curvature_check worst;            /* largest residuals */
    double worst_symmetry;                   /* of the pairs */
    /* Control of the medians, for metrics of kind mahalanobis: the same fit to Gaussian noise with the covariance of
     * the points, noise.points of them (at most GEODEC_RIEMANN_NOISE, or twice the neighbours). 0 points without. */
    struct {
        int64_t points;
        double median_abs_scalar[GEODEC_PLACES];
    } noise;
    /* controls of the same code */
    double sphere_error;    /* largest |scalar / (n (n-1)) - 1| on the unit sphere of dimension n; 0 for n = 1 */
    double differences_gap; /* largest |R - R'| / max |R|, R' with dGamma by central differences, at 4 samples */
} geodec_riemann;

/* s: the space of the metric. paths may be NULL: middle and last valid node of each path otherwise. */
GEODEC_API geodec_status geodec_riemann_compute(const geodec_metric *metric, const geodec_space *s,
                                                const geodec_geodesics *paths, const geodec_riemann_options *o,
                                                geodec_pool *pool, const geodec_hooks *hooks, geodec_riemann *out,
                                                geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_riemann_clear(geodec_riemann *c);

#endif
