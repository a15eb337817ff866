/* The second fundamental form of the set that the states lie near, at a sample of points, and its curvature.
 *
 * At each centre a quadratic fit of the k nearest points (geometry/quadratic.h) gives tangent space, second fundamental
 * form and noise; the Gauss equation gives the curvature of the induced metric. This is the curvature of the set. That
 * of geodec-riemann is the curvature of a metric fitted to the density of the points.
 *
 * The number of neighbours is the rung of a ladder with the least error at a point: the squared standard error there,
 * and the squared bias, which is a slope times radius^2. The slope follows from the values of a centre on different
 * rungs, which differ by more than their variance. Radius is of the order N^(-1/n). From the third rung on a rung has
 * at most 1/24 of the points: where errors are as large as the radius, a ball around a point off the set leaves less
 * room for them towards its rim, on one side more than on the other, which bends the fit; such a set is not resolved,
 * and its curvature is to be compared with that of the control, not with zero.
 *
 * Standard errors are jackknives over `groups` groups of points, texts where there are enough of them, so that they
 * hold for states that depend on each other within a text (Efron and Stein, Ann. Statist. 9 (1981) 586): se^2 = (G - 1)
 * / G sum_g (f_g - f)^2, f_g without group g. Centres whose neighbours lie to one side are at an edge and are left out
 * of mean and median; they are counted.
 *
 * The control is Gaussian noise with the covariance of the points, at the same number of points and with the same
 * dimension: a set without curvature.
 *
 * Dimensions: Q centres, G groups, L rungs. Curvature is per squared unit of the states. */
#ifndef GEODEC_CHAIN_SECOND_FORM_H
#define GEODEC_CHAIN_SECOND_FORM_H

#include "artifact/artifact.h"
#include "artifact/size.h"
#include "base/hooks.h"
#include "base/needs.h"
#include "base/pool.h"
#include "base/shard.h"
#include "chain/cloud.h"

enum { GEODEC_SECOND_FORM_RUNGS = 16 };

typedef struct geodec_second_form_options {
    int64_t n;       /* dimension of the set; 0: that of the cloud (geodec_cloud_dimension) */
    int64_t samples; /* centres, a seeded choice; 0 = all points; default 256 */
    int64_t k;       /* neighbours; 0: chosen */
    int64_t groups;  /* 2 to 64; default 12 */
    bool control;    /* default true */
    uint64_t seed;
    geodec_shard shard; /* only these of the centres */
} geodec_second_form_options;
geodec_second_form_options geodec_second_form_defaults(void);

/* A centre. NaN where its neighbours do not determine a fit. */
typedef struct geodec_second_form_centre {
    double scalar, scalar_se, sectional_min, sectional_max, mean_squared, noise, radius, offset, left_out;
} geodec_second_form_centre;

/* Over the centres inside the set. */
typedef struct geodec_second_form_pool {
    int64_t centres, edge, failed; /* pooled; at an edge; without a fit */
    double mean, mean_se, median, median_se;
} geodec_second_form_pool;

typedef struct geodec_second_form_rung {
    int64_t k;
    double radius, median, median_se, point_se; /* medians over the pilot's centres */
} geodec_second_form_rung;

typedef struct geodec_second_form {
    int64_t centres, points, d, n, k, groups, rungs;
    int32_t *index;                /* [Q] point of the cloud */
    geodec_second_form_centre *at; /* [Q] */
    double *without;               /* [Q][G] scalar curvature without group g */
    geodec_second_form_rung *rung; /* [L] */
    geodec_second_form_pool pool;
    double bias;       /* size of the bias at a centre, by the ladder */
    double noise;      /* root of the median variance of an error in one normal direction */
    bool whole;        /* all coordinates of the states, not only the kept ones */
    int64_t control_k; /* of the control; 0 without */
    geodec_second_form_pool control;
} geodec_second_form;

/* The points of a cloud: x [points][d] new memory, all coordinates of its states or, with states NULL, the kept ones.
 * GEODEC_CHECKSUM: not the activations of the cloud; GEODEC_NOTFOUND (layer), GEODEC_NUMERIC (not finite). */
geodec_status geodec_second_form_points(const geodec_cloud *cloud, const geodec_activations *states, double **x,
                                        int64_t *d, geodec_err *err) GEODEC_MUST_USE;

/* x [cloud->points][d] from geodec_second_form_points. GEODEC_RANGE (options), GEODEC_SCARCE (too few points for a
 * quadratic fit of this dimension), GEODEC_INTERRUPTED. Time: about groups / 2 + 2 fits a centre; a fit takes
 * 4 k p (p + min(k, d)) multiply-adds, p = (n + 1)(n + 2) / 2. Memory: the points, and 12 k bytes a centre. */
geodec_status geodec_second_form_compute(const geodec_cloud *cloud, int64_t d, const double *x,
                                         const geodec_second_form_options *o, geodec_pool *pool,
                                         const geodec_hooks *hooks, geodec_second_form *out,
                                         geodec_err *err) GEODEC_MUST_USE;
/* What the computation needs, as in chain/field_needs.h, by its own ladder at 4 of its 32 centres, which may take
 * longer than the budget; that of the control counts as equal. The chosen number of neighbours is itself an estimate.
 */
geodec_status geodec_second_form_needs(const geodec_cloud *cloud, int64_t d, const double *x,
                                       const geodec_second_form_options *o, double budget, geodec_pool *pool,
                                       const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                       geodec_err *err) GEODEC_MUST_USE;
void geodec_second_form_clear(geodec_second_form *s);
extern const geodec_kind geodec_second_form_kind;

#endif
