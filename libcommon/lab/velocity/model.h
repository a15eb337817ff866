/* Predictions of the next state that need the file of states or the model: what geodec_velocity_initial_run compares.
 */
#ifndef GEODEC_LAB_VELOCITY_MODEL_H
#define GEODEC_LAB_VELOCITY_MODEL_H

#include "lab/harness/model_states.h"
#include "lab/harness/trajectories.h"
#include "lab/velocity/correct.h"

/* All borrowed. */
typedef struct geodec_initial_source {
    const geodec_activations *view;
    const int32_t *layer;             /* [view->layers] kept in the file */
    int64_t n_layer;                  /* of the model */
    const geodec_model_states *model; /* NULL or without a reference: what asks the model is left out */
    const geodec_harness_split *split;
    geodec_pool *pool;
} geodec_initial_source;

/* Predicted next states, [count][n] each; NULL in end and view: not predicted. */
typedef struct geodec_velocity_initial_predictions {
    double *end[GEODEC_INITIAL_SURROGATES];
    geodec_velocity_initial_ends view;
} geodec_velocity_initial_predictions;

/* Predictions at `count` rows of states of `layer` in the chart c, from nothing after the row: the difference to the
 * layer before, the difference of the sink layer (2/3 of the depth) to the embedding, and, where the last layer is kept
 * and there is a model, directions by its most probable next tokens (their embedding, the centroid of 32, the mean
 * training state of the best) with the true next token's mean as the bound. Fills *out, which is all zero before. */
GEODEC_API geodec_status geodec_velocity_initial_predict(const geodec_initial_source *s,
                                                         const geodec_harness_charted *c, int32_t layer, int64_t count,
                                                         const int64_t *row, geodec_velocity_initial_predictions *out,
                                                         geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_velocity_initial_predictions_clear(geodec_velocity_initial_predictions *p);

#endif
