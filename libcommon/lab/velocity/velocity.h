/* Surrogates of the initial velocity: predictions of the next step of a residual stream before it is taken.
 *
 * The true velocity at a state x = s_k of a text is the step s_(k+1) - x, or in a metric log_x(s_(k+1)), the velocity
 * of the geodesic to the next state (geodec_logmap, geodec/geodesic.h). Each surrogate predicts the next state y from
 * data known at x. The figures are the cosine of y - x with the step, and in g(x) that of log_x(y) with the logarithm
 * of the next state.
 *
 *     mean            the mean step of training texts
 *     centre          towards the mean state of training texts: the cosine of any direction towards some state
 *     previous        x - s_(k-1): the token delta of the manuscript
 *     neighbour       the step from the nearest state of the training texts, as a record would store it
 *     ridge_x         ridge regression on x; the learned predictor of the manuscript
 *     ridge_xv        ridge regression on x and x - s_(k-1)
 *     layer_delta     the change of x by the last layer
 *     depth           state at the depth sink minus embedding, at x: the manuscript's prior for first tokens
 *     embedding       towards the embedding of the model's most probable next token: the published runtime
 *     centroid        towards the mean embedding of the 32 most probable, by probability: the same
 *     token_mean      towards the mean training state of the most probable next token
 *     random          a random direction                                    control: 0
 *     ridge_shuffled  ridge_xv fitted to permuted steps, mean of 16 permutations (in the chart)
 *     next_token      towards the mean training state of the true next token     both use the future: controls of the
 *     target          towards the next state itself; the manuscript's            leak test
 *                     "task-conditioned" v0
 *
 * Leak test. Every surrogate is evaluated once more with the future of another start in place of its own (its next
 * state, its next token). Data known at x do not change by that: the loss of cosine must be 0, bit for bit. A surrogate
 * whose cosine comes from the future loses it. The control `chance` is the cosine of the prediction with another
 * start's true step.
 *
 * Texts are divided as in geodesicity.h; fits use the training texts, figures the others, intervals a bootstrap over
 * texts. A surrogate, or a logarithm, that does not exist is counted and left out. */
#ifndef GEODEC_LAB_VELOCITY_VELOCITY_H
#define GEODEC_LAB_VELOCITY_VELOCITY_H

#include "artifact/artifact.h"
#include "lab/harness/split.h"
#include "linalg/stats.h"

typedef enum geodec_velocity_initial_surrogate {
    GEODEC_INITIAL_MEAN,
    GEODEC_INITIAL_CENTRE,
    GEODEC_INITIAL_PREVIOUS,
    GEODEC_INITIAL_NEIGHBOUR,
    GEODEC_INITIAL_RIDGE_X,
    GEODEC_INITIAL_RIDGE_XV,
    GEODEC_INITIAL_LAYER_DELTA,
    GEODEC_INITIAL_DEPTH,
    GEODEC_INITIAL_EMBEDDING,
    GEODEC_INITIAL_CENTROID,
    GEODEC_INITIAL_TOKEN_MEAN,
    GEODEC_INITIAL_RANDOM,
    GEODEC_INITIAL_RIDGE_SHUFFLED,
    GEODEC_INITIAL_NEXT_TOKEN,
    GEODEC_INITIAL_TARGET,
    GEODEC_INITIAL_SURROGATES
} geodec_velocity_initial_surrogate;
extern const char *const geodec_velocity_initial_names[]; /* "mean", .. by number, then NULL */

typedef struct geodec_velocity_initial_options {
    int64_t starts;     /* at most so many, a seeded choice; default 100 */
    double ridge;       /* of the regressions, in mean variances of the predictors; default 1e-3 */
    double close;       /* cosine above which a prediction counts as close; default 0.82, as published */
    double rtol;        /* of the geodesics; default 1e-3 */
    double drift_max;   /* default 1e-2 */
    int64_t replicates; /* of the bootstrap; default 400 */
    uint64_t seed;
} geodec_velocity_initial_options;
geodec_velocity_initial_options geodec_velocity_initial_defaults(void);

/* Rows of t->x at which predictions are made, rising: *row [*count], freed by the caller with geodec_mem_free.
 * GEODEC_SCARCE (fewer than 2). */
geodec_status geodec_velocity_initial_starts(const geodec_trajectories *t, const geodec_harness_split *split,
                                             const geodec_velocity_initial_options *o, int64_t *count, int64_t **row,
                                             geodec_err *err) GEODEC_MUST_USE;

/* Predicted next states of the surrogates that need a model or other layers, at those rows in their order: [starts][n],
 * NaN where there is none; NULL: not predicted. Those of the other surrogates are not read. */
typedef struct geodec_velocity_initial_ends {
    const double *end[GEODEC_INITIAL_SURROGATES];
} geodec_velocity_initial_ends;

/* Index of the norm: 0 chart, 1 metric at the state. */
typedef struct geodec_velocity_initial {
    int64_t starts, training, texts;
    int64_t counted[GEODEC_INITIAL_SURROGATES][2];
    geodec_estimate cosine[GEODEC_INITIAL_SURROGATES][2];
    geodec_estimate gain[GEODEC_INITIAL_SURROGATES][2];   /* cosine minus that of `centre`, starts that have both */
    geodec_estimate leak[GEODEC_INITIAL_SURROGATES];      /* chart: cosine minus the one with another's future */
    geodec_estimate unrelated[GEODEC_INITIAL_SURROGATES]; /* chart: cosine with another start's step */
    geodec_estimate close[GEODEC_INITIAL_SURROGATES];     /* chart: share of cosines above o->close */
} geodec_velocity_initial;

/* t: token by token (no places). Bytes do not depend on threads. GEODEC_RANGE, GEODEC_NUMERIC (not finite),
 * GEODEC_INTERRUPTED. */
geodec_status geodec_velocity_initial_run(const geodec_trajectories *t, const geodec_harness_sites *f,
                                          const geodec_velocity_initial_ends *ends, const geodec_harness_split *split,
                                          const geodec_velocity_initial_options *o, geodec_pool *pool,
                                          const geodec_hooks *hooks, geodec_velocity_initial *out,
                                          geodec_err *err) GEODEC_MUST_USE;

extern const geodec_kind geodec_velocity_kind;

#endif
