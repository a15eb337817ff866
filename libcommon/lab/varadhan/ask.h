/* Asks a model where its attention looks: gradients of the weight that queries give to keys of their own text, in a
 * chart. What geodec_varadhan_run compares with geodesics. */
#ifndef GEODEC_LAB_VARADHAN_ASK_H
#define GEODEC_LAB_VARADHAN_ASK_H

#include "lab/harness/model_states.h"
#include "lab/harness/trajectories.h"
#include "lab/varadhan/correct.h"

/* All borrowed. */
typedef struct geodec_varadhan_source {
    const geodec_model_states *states;
    const geodec_harness_split *split;
    int64_t queries; /* at most */
    uint64_t seed;
    const geodec_hooks *hooks;
} geodec_varadhan_source;

/* Attention heads of the model and all together. */
GEODEC_API int64_t geodec_varadhan_columns(const geodec_model_states *s);

/* C columns, K = GEODEC_VARADHAN_KEYS, F = GEODEC_VARADHAN_FORMS, n the chart's dimension. */
typedef struct geodec_varadhan_asked {
    int64_t count, columns;
    double *gradient; /* [count][C][F][n] */
    double *inside;   /* [count][C][F] share of the gradient's square that lies in the chart */
    double *along;    /* [count][C][F][2] */
    double *weight;   /* [count][C] */
    double *state;    /* [count][1 + K][n] the query's and its keys' */
    int32_t *text;    /* [count] */
} geodec_varadhan_asked;

/* A seeded choice of held-out states of `layer` as queries of the block after it, each with K different keys: at
 * random, or (near) two of them the nearest in the chart. Position 0 is no key: it is the same state in every text.
 * GEODEC_SCARCE when fewer than two states have enough keys. */
GEODEC_API geodec_status geodec_varadhan_ask(const geodec_varadhan_source *s, const geodec_harness_charted *c,
                                             int32_t layer, bool near, geodec_varadhan_asked *out,
                                             geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_varadhan_asked_clear(geodec_varadhan_asked *g);

#endif
