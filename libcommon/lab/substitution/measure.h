/* The states and times that geodec_substitution compares: pairs of consecutive states, the head's argmax of predicted
 * ones, and the times of a step, its head and a lookup. */
#ifndef GEODEC_LAB_SUBSTITUTION_MEASURE_H
#define GEODEC_LAB_SUBSTITUTION_MEASURE_H

#include "fisher/model_states.h"
#include "lab/harness/trajectories.h"
#include "lab/substitution/substitution.h"

typedef struct geodec_substitution_work {
    /* given, borrowed */
    const geodec_model_states *states;
    geodec_pool *pool;
    const geodec_hooks *hooks;
    uint64_t seed;
    int64_t dim, records, queries; /* of the chart; points it is fitted to; at most */
    double ridge;                  /* of the linear substitute */
    int64_t replicates;
    bool fisher; /* metric of the chart: the Fisher metric of the next token; else inverse covariances */
    bool timed;
    /* found */
    geodec_harness_charted chart;
    geodec_rbf *field;
    geodec_substitution_data data;
    double *from, *to, *query, *truth;
    int32_t *text;           /* [queries] */
    int32_t *token, *wanted; /* the head's choices for predicted and for true states */
    geodec_harness_split split;
} geodec_substitution_work;

/* Records are pairs of consecutive states of training texts at the last layer, queries those of held-out texts.
 * GEODEC_SCARCE when there are fewer than two of either. */
geodec_status geodec_substitution_measure(geodec_substitution_work *w, geodec_substitution *out,
                                          geodec_err *err) GEODEC_MUST_USE;
void geodec_substitution_work_clear(geodec_substitution_work *w);

#endif
