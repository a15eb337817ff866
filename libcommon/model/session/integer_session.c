#include "session/integer_session_internal.h"

#include "base/mem.h"
#include "session/integer_network.h"
#include "session/model_internal.h"

#include <math.h>

geodec_engine *geodec_integer_session_engine(const geodec_session *s) { return s->engine; }

int64_t geodec__integer_session_kv_bytes(const geodec_session *s)
{
    return geodec_engine_kv_bytes(s->engine) + (s->scores ? s->scores->bytes(s->scores_ctx) : 0);
}

geodec_status geodec_integer_session_network(const geodec_model *model, geodec_pool *pool, const geodec_network **out,
                                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = (geodec_model *)(uintptr_t)model;
    pthread_mutex_lock(m->lazy);
    if (!m->network) st = geodec_integer_network_make(m, NULL, pool, &m->network, err);
    *out = m->network;
    pthread_mutex_unlock(m->lazy);
    return st;
}

static int64_t logit_bytes(const geodec_session *s)
{
    return (int64_t)s->max_batch * s->model->config.n_vocab * (int64_t)sizeof *s->integer_logits;
}

geodec_status geodec__integer_session_open(geodec_session *s, const geodec_session_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const geodec_network *n = NULL;
    geodec_engine_scores scores;
    if (o->kv != GEODEC_KV_F32 || geodec_attnres_on(&o->attnres))
        GEODEC_THROW(GEODEC_UNSUPPORTED,
                     "integer arithmetic has its own cache of 16-bit integers: no other element type, and no "
                     "attention over layers");
    GEODEC_TRY(geodec_integer_session_network(s->model, o->pool, &n, err));
    if (o->scores) {
        GEODEC_TRY(o->scores->open(&n->config, s->n_ctx, geodec_pool_threads(o->pool), o->isa, &scores, err));
        s->scores = o->scores;
        s->scores_ctx = scores.ctx;
    }
    const geodec_engine_options e = {.n_ctx = s->n_ctx,
                                     .max_batch = s->max_batch,
                                     .n_blocks = o->n_blocks,
                                     .isa = o->isa,
                                     .pool = o->pool,
                                     .scores = s->scores ? &scores : NULL};
    GEODEC_TRY(geodec_engine_create(n, &e, &s->engine, err));
    s->integer_logits = geodec_mem_map(logit_bytes(s));
    if (!s->integer_logits) GEODEC_THROW(GEODEC_NOMEM, "no memory for the logits of %d rows", s->max_batch);
    GEODEC_NEW(s->want, s->max_batch);
    if (c->n_expert > 0) GEODEC_NEW(s->expert_weight, (int64_t)s->max_batch * c->n_layer * c->n_expert_used);
done:
    return st;
}

void geodec__integer_session_close(geodec_session *s)
{
    geodec_engine_destroy(s->engine);
    geodec_mem_unmap(s->integer_logits, logit_bytes(s));
    if (s->scores) s->scores->close(s->scores_ctx);
    GEODEC_FREE(s->expert_weight, s->want, s);
}

typedef struct taken {
    const geodec_capture *capture;
    int64_t d;
} taken;

static void take(void *ctx, int32_t layer, int64_t n, const int64_t *const *x)
{
    const taken *t = ctx;
    for (int32_t i = 0; i < t->capture->n_layers; i++)
        for (int64_t r = 0; t->capture->layer[i] == layer && r < n; r++)
            for (int64_t k = 0; k < t->d; k++)
                t->capture->state[((int64_t)i * n + r) * t->d + k] = (float)ldexp((double)x[r][k], -24);
}

geodec_status geodec__integer_session_forward(geodec_session *s, const geodec_batch *b, float *logits, bool packed,
                                              const geodec_capture *capture, geodec_err *err)
{
    const geodec_model_config *c = &s->model->config;
    taken t = {capture, c->d_model};
    for (int32_t i = 0; capture && i < capture->n_layers; i++)
        if (capture->layer[i] < 0 || capture->layer[i] > s->n_blocks)
            GEODEC_FAIL(GEODEC_RANGE, "layer %d cannot be captured, only 0 to %d", capture->layer[i], s->n_blocks);
    const geodec_engine_pass p = {.n = b->n,
                                  .token = b->token,
                                  .parent = b->parent,
                                  .want = b->want,
                                  .logits = logits ? s->integer_logits : NULL,
                                  .packed = packed,
                                  .show = capture ? take : NULL,
                                  .ctx = &t};
    GEODEC_PASS(geodec_engine_forward(s->engine, &p, err));
    s->counters.passes++;
    s->counters.rows += b->n;
    s->length = geodec_engine_length(s->engine);
    int64_t wanted = 0;
    for (int32_t r = 0; logits && r < b->n; r++) {
        if (b->want && !b->want[r]) continue;
        const int64_t at = (packed ? wanted : r) * c->n_vocab;
        for (int64_t i = 0; i < c->n_vocab; i++) logits[at + i] = (float)s->integer_logits[at + i] * 0x1p-16f;
        wanted++;
    }
    const int32_t *weight = geodec_engine_expert_weights(s->engine);
    for (int64_t i = 0; weight && i < (int64_t)b->n * c->n_layer * c->n_expert_used; i++)
        s->expert_weight[i] = (float)weight[i] * 0x1p-30f;
    return GEODEC_OK;
}
