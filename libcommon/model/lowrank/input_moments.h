/* Second moments of the inputs of a model's matrices: C = sum x x^T / n over the tokens of a text, uncentred, for the
 * input side of each slot. */
#ifndef GEODEC_LOWRANK_INPUT_MOMENTS_H
#define GEODEC_LOWRANK_INPUT_MOMENTS_H

#include "base/hooks.h"
#include "base/pool.h"
#include "session/factors.h"

typedef struct geodec_input_moments {
    int32_t n_layer;
    int64_t tokens;              /* n */
    int64_t width[GEODEC_SIDES]; /* d of each side, 0 if not requested */
    double *c[GEODEC_SIDES];     /* [n_layer][d][d], symmetric; NULL if not requested */
} geodec_input_moments;

/* Runs the model over n tokens in windows of `window` tokens (BOS included, if the tokenizer has one), in exact
 * arithmetic. slots: bit s = slot s. The result is the same for any number of threads. GEODEC_RANGE (no tokens, a
 * window below 2 or above the model's context), GEODEC_UNSUPPORTED (gate, up or down with experts), GEODEC_NUMERIC,
 * GEODEC_NOMEM. */
geodec_status geodec_input_moments_run(const geodec_model *m, unsigned slots, int64_t n, const int32_t *token,
                                       int32_t window, geodec_pool *pool, const geodec_hooks *hooks,
                                       geodec_input_moments *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_input_moments_clear(geodec_input_moments *m);

#endif
