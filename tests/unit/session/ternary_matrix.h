/* Greedy decoding from a store of ternary experts in one way of many, against the tokens of another run; with a trace
 * that the simulator must repeat. For the quick form in the unit tests and the full one in tests/bench. */
#ifndef GEODEC_TESTS_TERNARY_MATRIX_H
#define GEODEC_TESTS_TERNARY_MATRIX_H

#include "base/mem.h"
#include "session/streamed.h"
#include "streaming/simulate.h"

#include <stdio.h>
#include <string.h>

enum { MATRIX_PROMPT = 9 };

/* Foretells at random: what is foretold must not matter. */
typedef struct matrix_seer {
    int32_t n_layer, n_expert;
    uint32_t state;
} matrix_seer;

static inline float matrix_draw(matrix_seer *o)
{
    o->state = o->state * 1664525u + 1013904223u;
    return (float)(o->state >> 8) / 16777216.0F;
}
static inline void matrix_begin(void *ctx) { (void)ctx; }
static inline void matrix_observe(void *ctx, int32_t token, const float *state) { (void)ctx, (void)token, (void)state; }
static inline void matrix_ask(void *ctx, int32_t token, bool with_state, float *probability)
{
    matrix_seer *o = ctx;
    (void)token, (void)with_state;
    for (int32_t i = 0; i < o->n_layer * o->n_expert; i++) probability[i] = matrix_draw(o);
}
static inline void matrix_mix(void *ctx, int32_t blocks, int32_t layer, const float *early, const float *logit,
                              float *out)
{
    matrix_seer *o = ctx;
    (void)blocks, (void)layer, (void)logit;
    for (int32_t e = 0; e < o->n_expert; e++) out[e] = 0.5F * (early[e] + matrix_draw(o));
}
static inline void matrix_expect(void *ctx, int32_t token, float *share) { matrix_ask(ctx, token, true, share); }
static inline void matrix_destroy(void *ctx) { (void)ctx; }
static inline void matrix_remember(void *ctx, int32_t token, const int32_t *expert)
{
    (void)ctx, (void)token, (void)expert;
}
static inline geodec_status matrix_foreseer(void *ctx, geodec_foreseer *out, geodec_err *err)
{
    (void)err;
    *out = (geodec_foreseer){.ctx = ctx,
                             .begin = matrix_begin,
                             .observe = matrix_observe,
                             .ask = matrix_ask,
                             .mix = matrix_mix,
                             .remember = matrix_remember,
                             .expect = matrix_expect,
                             .destroy = matrix_destroy};
    return GEODEC_OK;
}

static inline geodec_status matrix_greedy(const geodec_model *m, geodec_pool *pool, int32_t n, int32_t *token,
                                          float *all, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_session *s = NULL;
    float *logits = NULL;
    const int32_t n_vocab = geodec_model_configuration(m)->n_vocab;
    int32_t prompt[MATRIX_PROMPT];
    const geodec_session_options so = {.n_ctx = n + MATRIX_PROMPT, .max_batch = 16, .pool = pool};
    GEODEC_NEW(logits, (int64_t)MATRIX_PROMPT * n_vocab);
    for (int i = 0; i < MATRIX_PROMPT; i++) prompt[i] = (i * 37 + 11) % n_vocab;
    GEODEC_TRY(geodec_session_create(m, &so, &s, err));
    GEODEC_TRY(geodec_forward(s, &(geodec_batch){.n = MATRIX_PROMPT, .token = prompt}, logits, NULL, err));
    token[0] = geodec_argmax(logits + (int64_t)(MATRIX_PROMPT - 1) * n_vocab, n_vocab);
    for (int32_t i = 0; i + 1 < n; i++) {
        float *out = all ? all + (int64_t)i * n_vocab : logits;
        GEODEC_TRY(geodec_forward(s, &(geodec_batch){.n = 1, .token = &token[i]}, out, NULL, err));
        token[i + 1] = geodec_argmax(out, n_vocab);
    }
done:
    geodec_session_destroy(s);
    geodec_mem_free(logits);
    return st;
}

/* how NULL: of the model in memory. trace: written, and repeated by the simulator; NULL: not. */
static inline geodec_status matrix_decode(const char *path, const geodec_streaming *how, geodec_pool *pool, int32_t n,
                                          int32_t *token, float *all, const char *trace, geodec_stream_counters *k,
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_trace t = {0};
    matrix_seer seer = {.state = 7};
    GEODEC_TRY(geodec_model_open(path, &m, err));
    if (how) {
        geodec_streaming o = *how;
        seer.n_layer = geodec_model_configuration(m)->n_layer;
        seer.n_expert = geodec_model_configuration(m)->n_expert;
        o.foreseer = matrix_foreseer;
        o.foreseer_ctx = &seer;
        o.trace = trace;
        GEODEC_TRY(geodec_streamed_begin(m, &o, err));
    }
    GEODEC_TRY(matrix_greedy(m, pool, n, token, all, err));
    if (how) {
        if (k && !geodec_streamed_counted(m, k)) GEODEC_THROW(GEODEC_INTERNAL, "nothing was counted");
        GEODEC_TRY(geodec_streamed_finish(m, err));
    }
    if (how && trace) {
        GEODEC_TRY(geodec_trace_read(trace, &t, err));
        GEODEC_TRY(geodec_simulate_check(&t, err));
    }
done:
    geodec_trace_clear(&t);
    geodec_model_close(m);
    return st;
}

#endif
