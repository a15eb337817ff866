/* The cases of the experiment, a metric and a layer each, and their artifact. */
#ifndef GEODEC_LAB_VELOCITY_CASES_H
#define GEODEC_LAB_VELOCITY_CASES_H

#include "base/hooks.h"
#include "lab/harness/charts.h"
#include "lab/velocity/velocity.h"

enum { GEODEC_VELOCITY_CASES = 256 };

typedef struct geodec_velocity_initial_case {
    const char *metric; /* kind of the metric */
    int32_t layer;
    geodec_velocity_initial figures;
} geodec_velocity_initial_case;

typedef struct geodec_velocity_cases {
    geodec_harness_charts charts;
    geodec_harness_split split;
    geodec_velocity_initial_options o;
    geodec_velocity_initial_case cases[GEODEC_VELOCITY_CASES];
    int64_t n_cases;
} geodec_velocity_cases;

/* Predicted next states, [count][n] each; NULL in end and view: not predicted. */
typedef struct geodec_velocity_predictions {
    double *end[GEODEC_INITIAL_SURROGATES];
    geodec_velocity_initial_ends view;
} geodec_velocity_predictions;
/* Predictions at `count` rows of states of `layer` in the chart c, from nothing after the row: the difference to the
 * layer before, and the difference of the sink layer (2/3 of the depth) to the embedding. Where the last layer is kept
 * and there is a model: directions by its most probable next tokens (their embedding, the centroid of 32, the mean
 * training state of the best one), and the mean state of the true next token as the bound. *out is all zero before. */
geodec_status geodec_velocity_predict(const geodec_velocity_cases *s, const geodec_harness_charted *c, int32_t layer,
                                      int64_t count, const int64_t *row, geodec_velocity_predictions *out,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_velocity_predictions_clear(geodec_velocity_predictions *p);

/* For geodec_harness_charts_fitted and its like, ctx: the cases. GEODEC_LIMIT: too many. */
geodec_status geodec_velocity_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                        const geodec_harness_sites *f, const char *metric,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact of geodec_velocity_kind; the caller commits. */
geodec_status geodec_velocity_cases_write(const geodec_velocity_cases *s, geodec_artifact *a,
                                          geodec_err *err) GEODEC_MUST_USE;
/* Logs the figures in words. */
void geodec_velocity_cases_say(const geodec_hooks *hooks, const geodec_velocity_cases *s);

#endif
