/* The predictors of experts, in one table. Each gives a score to every expert of every layer, for one token; larger is
 * likelier, and equal scores count as ascending in the expert's number. */
#ifndef GEODEC_FORESIGHT_PREDICTORS_H
#define GEODEC_FORESIGHT_PREDICTORS_H

#include "foresight/foresight.h"
#include "foresight/history.h"

/* When a prediction is available. */
typedef enum geodec_predictor_when {
    GEODEC_PREDICTOR_ALWAYS,   /* without any knowledge of the text */
    GEODEC_PREDICTOR_PREVIOUS, /* after the previous token's pass, before the token is chosen */
    GEODEC_PREDICTOR_TOKEN,    /* when the token is chosen, before its pass */
    GEODEC_PREDICTOR_BLOCK,    /* during the pass, one or two blocks before the layer */
} geodec_predictor_when;

/* What is known of a token, and room. */
typedef struct geodec_predictor_input {
    const geodec_model_config *config;
    const geodec_history *history;
    const geodec_mixture *mixture; /* NULL: not fitted */
    int32_t before, token;
    const int32_t *last;                       /* [n_layer][n_expert_used] experts of the previous token */
    const float *gate;                         /* [n_layer][n_expert] its gate probabilities */
    const float *state;                        /* [d] its last residual stream */
    const float *embedding;                    /* [d] of the token */
    const float *logit[GEODEC_ROUTES_STREAMS]; /* [n_layer][n_expert] */
    const float *early, *table, *further;      /* [n_layer][n_expert] by a flow map; NULL without */
} geodec_predictor_input;

typedef struct geodec_predictor {
    const char *name, *knows;
    geodec_predictor_when when;
    int32_t first_layer; /* the first layer, from 0, that it can foretell */
    bool needs_map;
    void (*score)(const geodec_predictor_input *in, float *score); /* NULL: foretells nothing */
} geodec_predictor;

extern const geodec_predictor geodec_predictors[];
extern const int geodec_predictors_count;
const char *geodec_predictors_when(geodec_predictor_when when); /* "always", "previous", "token", "block" */

#endif
