/* Tests whether trajectories of the residual stream are geodesics of a metric. The next states of real trajectories,
 * token by token at one layer or layer by layer at one token, are predicted from a state x = s_k and its last step v =
 * s_k - s_(k-1)
 *
 *     stay             x
 *     line             x + m v                      the geodesic of the flat metric
 *     linear_x         x + A_m (1, x)               ridge regression on the training texts
 *     linear_xv        x + B_m (1, x, v)            the same
 *     geodesic         exp_x(m v)                   of the metric
 *     shuffled         exp_x(m v)                   control: the metric's matrices permuted among its points
 *     random           exp_x(m v)                   control: each matrix rotated at random, its spectrum kept
 *         geodesic_log     exp_x(m w), exp_x(-w) = s_(k-1)  with the velocity the geodesic through both states has
 *     at x
 *     line_fitted      x + m (B_1 (1, x, v))        the straight line along the regression's step
 *     geodesic_fitted  exp_x(m (B_1 (1, x, v)))     whether curvature improves the best straight step
 *
 * for m = 1 .. ahead. Errors are measured in the chart and in the metric at the true state, in mean lengths of a true
 * step; intervals come from a bootstrap over texts. Each text is assigned by the seed to one of two parts: regressions
 * and points of the metric use the one, all figures the other.
 *
 * A geodesic that breaks down (integration, or the speed drifts by more than drift_max; for geodesic_log also: no w
 * found) is counted and left out, and so is its partner in the paired difference: line, and line_fitted for
 * geodesic_fitted.
 *
 * Planted control: the first starts once more with targets that are geodesic (s_(k-1) = exp_x(-u), s_(k+m) = exp_x(m u)
 * of the same metric; u = v / 4, because at the length of v there are often several geodesics between two states).
 * There geodesic_log must be exact and better than the line. */
#ifndef GEODEC_LAB_GEODESICITY_GEODESICITY_H
#define GEODEC_LAB_GEODESICITY_GEODESICITY_H

#include "artifact/artifact.h"
#include "lab/harness/split.h"
#include "linalg/stats.h"

enum { GEODEC_GEODESICITY_AHEAD = 8 };

typedef enum geodec_geodesicity_predictor {
    GEODEC_PREDICT_STAY,
    GEODEC_PREDICT_LINE,
    GEODEC_PREDICT_LINEAR_X,
    GEODEC_PREDICT_LINEAR_XV,
    GEODEC_PREDICT_GEODESIC,
    GEODEC_PREDICT_SHUFFLED,
    GEODEC_PREDICT_RANDOM,
    GEODEC_PREDICT_GEODESIC_LOG,
    GEODEC_PREDICT_LINE_FITTED,
    GEODEC_PREDICT_GEODESIC_FITTED,
    GEODEC_PREDICTORS
} geodec_geodesicity_predictor;
extern const char *const geodec_geodesicity_predictor_names[]; /* "stay", .. by number, then NULL */

typedef struct geodec_geodesicity_options {
    int64_t starts;     /* at most so many of each place, a seeded choice; default 100 */
    int64_t ahead;      /* default 4, at most GEODEC_GEODESICITY_AHEAD */
    double ridge;       /* of the regressions, in mean variances of the predictors; default 1e-3 */
    int64_t planted;    /* planted paths of each place, at most; default 16 */
    double rtol;        /* of the geodesics; default 1e-3 */
    double drift_max;   /* default 1e-2 */
    int64_t replicates; /* of the bootstrap; default 400 */
    geodec_harness_split split;
} geodec_geodesicity_options;
geodec_geodesicity_options geodec_geodesicity_defaults(void);

/* One place's figures. Index of the norm: 0 chart, 1 the metric at the true state. */
typedef struct geodec_geodesicity {
    int64_t place;                     /* k of the start; -1 = all */
    int64_t starts, training, texts;   /* evaluated; of the regressions; texts evaluated */
    int64_t ahead;                     /* steps there are from this place */
    double step[2];                    /* root mean square length of a true step */
    int64_t broken[GEODEC_PREDICTORS]; /* starts without all their predictions */
    int64_t counted[GEODEC_PREDICTORS][GEODEC_GEODESICITY_AHEAD];
    geodec_estimate error[GEODEC_PREDICTORS][GEODEC_GEODESICITY_AHEAD][2];      /* sum |error| / sum |step| */
    geodec_estimate difference[GEODEC_PREDICTORS][GEODEC_GEODESICITY_AHEAD][2]; /* to the line, same starts */
    /* on planted geodesics, chart norm: line, geodesic, geodesic_log */
    int64_t planted; /* starts whose planted path exists */
    geodec_estimate planted_error[3][GEODEC_GEODESICITY_AHEAD];
} geodec_geodesicity;

/* *out: new memory of *count places, one without `places`; freed by the caller with geodec_mem_free. Bytes do not
 * depend on threads. GEODEC_RANGE (options), GEODEC_SCARCE (no path of three states, fewer than 2 texts in a part),
 * GEODEC_NUMERIC (not finite), GEODEC_INTERRUPTED. Time: about 20 geodesics of `ahead` units a start. */
geodec_status geodec_geodesicity_run(const geodec_trajectories *t, const geodec_harness_sites *f,
                                     const geodec_geodesicity_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                     int64_t *count, geodec_geodesicity **out, geodec_err *err) GEODEC_MUST_USE;
extern const geodec_kind geodec_geodesicity_kind;

#endif
