/* Prediction of next states by geodesics of the set that the states lie near (geometry/atlas.h), beside the geodesics
 * of a metric in a chart (geodesicity.h). The states keep d coordinates, more than the dimension n of the set, and all
 * errors are in these. From x = s_k with v = s_k - s_(k-1), for m = 1 .. ahead:
 *
 *     stay           x
 *     line           x + m v
 *     linear_xv      x + B_m (1, x, v)          ridge regression on training texts
 *     set            x + m v + r c_m            c_m = exp_p(m w) - p - m (p - q)
 *     set_shuffled   the same                   control: tangent spaces of the place, second fundamental forms permuted
 *     set_gaussian   the same                   control: the set of a Gaussian cloud with the mean and covariance of
 * the points set_fitted     set + C_m (1, x, v)        ridge regression of what `set` leaves, on the rows of linear_xv
 *
 * p and q are the places of x and s_(k-1) on the set, w the velocity at p of the geodesic from q, and r the share of
 * |A(w,w)|^2 that is not noise (geodec_atlas_certain). So `set` is the
 * line on a flat set, and set - line is what curvature adds. The normal parts of the states are carried on as the line
 * does. linear_xv has as many coefficients as set_fitted, whose difference is to it.
 *
 * The set lies through the states of training texts; for a training row its own text is left out. A step that does not
 * continue the one before can be nearer to `set` than to the line, because both ends are on the set: the gain is
 * therefore to the better one of line and stay.
 *
 * Planted control, the power of the comparison: points and paths of the same set with the same noise. Every training
 * point is moved to its nearest place on the set, plus the residual of another point. Paths are geodesics of the set,
 * with a quarter of the tangential part of v as velocity and residuals of points drawn at random; then the set is
 * fitted again to the moved points. recovered = sum (line - set) / sum (line - truth), where truth has the c_m of the
 * planted path: the share of the correctable error that the estimator recovers in these data. */
#ifndef GEODEC_LAB_GEODESICITY_SET_H
#define GEODEC_LAB_GEODESICITY_SET_H

#include "lab/geodesicity/geodesicity.h"

typedef enum geodec_geodesicity_set_predictor {
    GEODEC_SET_STAY,
    GEODEC_SET_LINE,
    GEODEC_SET_LINEAR_XV,
    GEODEC_SET_SET,
    GEODEC_SET_SHUFFLED,
    GEODEC_SET_GAUSSIAN,
    GEODEC_SET_FITTED,
    GEODEC_SET_PREDICTORS
} geodec_geodesicity_set_predictor;
extern const char *const geodec_geodesicity_set_names[]; /* "stay", .. by number, then NULL */

enum { GEODEC_SET_PLANTED = 4 }; /* line, set, set_shuffled, truth */

typedef struct geodec_geodesicity_set_options {
    int32_t n;                      /* dimension of the set; default 6 */
    int64_t points;                 /* of the atlas, at most: a seeded choice; default 4000 */
    int64_t training;               /* rows of the regressions, at most: a seeded choice; default 1000 */
    int64_t neighbours;             /* of a chart; default 0: the rule of atlas.h */
    int64_t starts, ahead, planted; /* as in geodec_geodesicity_options; planted: default 60 */
    double ridge;
    int64_t replicates;
    geodec_harness_split split;
} geodec_geodesicity_set_options;
geodec_geodesicity_set_options geodec_geodesicity_set_defaults(void);

/* Lengths in mean lengths of a true step, in the d coordinates. */
typedef struct geodec_geodesicity_set {
    int64_t n, d, neighbours, points; /* as used; 0 = not measured */
    int64_t starts, training, texts, ahead;
    double step;     /* root mean square length of a true step */
    double radius;   /* extent of the charts at the starts, mean */
    double residual; /* root mean square distance of a point from the set through the points of other texts */
    int64_t broken[GEODEC_SET_PREDICTORS]; /* starts without a prediction one step ahead; left out */
    int64_t counted[GEODEC_SET_PREDICTORS][GEODEC_GEODESICITY_AHEAD];
    geodec_estimate error[GEODEC_SET_PREDICTORS][GEODEC_GEODESICITY_AHEAD];
    geodec_estimate difference[GEODEC_SET_PREDICTORS][GEODEC_GEODESICITY_AHEAD]; /* to the line; fitted: linear_xv */
    geodec_estimate gain[GEODEC_GEODESICITY_AHEAD]; /* error of the better one of line and stay less that of set */
    int64_t planted;                                /* paths */
    geodec_estimate planted_error[GEODEC_SET_PLANTED][GEODEC_GEODESICITY_AHEAD]; /* in planted steps */
    geodec_estimate correctable[GEODEC_GEODESICITY_AHEAD];                       /* line - truth */
    geodec_estimate recovered[GEODEC_GEODESICITY_AHEAD];                         /* its share */
} geodec_geodesicity_set;

/* t: trajectories of d = t->n coordinates. Bytes do not depend on threads. GEODEC_RANGE (options), GEODEC_SCARCE (too
 * few points, starts or texts), GEODEC_NUMERIC, GEODEC_INTERRUPTED. Time: two charts a point, and about ten a start. */
geodec_status geodec_geodesicity_set_run(const geodec_trajectories *t, const geodec_geodesicity_set_options *o,
                                         geodec_pool *pool, const geodec_hooks *hooks, geodec_geodesicity_set *out,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
