#include "decode/sample.h"

#include "base/mem.h"
#include "base/rng.h"
#include "session/streamed.h"

typedef struct slot {
    geodec_session *session;
    geodec_sampler *sampler;
    geodec_penalty *penalty; /* NULL: none */
    int32_t *token;
    float *row;
    int32_t n;
    geodec_status status;
    geodec_err error;
} slot;

typedef struct job {
    const geodec_model *m;
    const geodec_sample_options *o;
    slot *s;
    int64_t first;
} job;

static geodec_status sample_one(const job *j, slot *s, int64_t text, geodec_err *err)
{
    const geodec_tokenizer *t = geodec_model_tokenizer(j->m);
    const int32_t vocab = geodec_model_configuration(j->m)->n_vocab;
    const bool integers = geodec_session_arithmetic(s->session) == GEODEC_INTEGER;
    const geodec_sampling how = {.temperature = j->o->temperature,
                                 .top_k = j->o->top_k,
                                 .top_p = j->o->top_p,
                                 .min_p = j->o->min_p,
                                 .seed = geodec_rng_at(j->o->seed, geodec_rng_id("sample text", 0), (uint64_t)text),
                                 .integers = integers};
    if (integers && geodec_penalty_is(&j->o->penalty))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "penalties and biases are not computed in integers");
    geodec_sampler_destroy(s->sampler);
    s->sampler = NULL;
    GEODEC_PASS(geodec_sampler_create(&how, vocab, &s->sampler, err));
    geodec_session_truncate(s->session, 0);
    s->token[0] = geodec_tokenizer_bos(t);
    s->n = 1;
    while (s->n < j->o->length) {
        const geodec_batch b = {.n = 1, .token = &s->token[s->n - 1]};
        int32_t next;
        GEODEC_PASS(geodec_forward(s->session, &b, s->row, NULL, err));
        geodec_penalty_apply(s->penalty, s->token, s->n, NULL, 0, s->row);
        GEODEC_PASS(geodec_sampler_next(s->sampler, s->n, s->row, &next, err));
        if (geodec_tokenizer_is_end(t, next)) break;
        s->token[s->n++] = next;
    }
    return GEODEC_OK;
}

static void sample_task(void *ctx, int64_t task, int worker)
{
    const job *j = ctx;
    slot *s = &j->s[task];
    (void)worker;
    s->status = sample_one(j, s, j->first + task, &s->error);
}

geodec_status geodec_sample_run(const geodec_model *m, const geodec_sample_options *o, geodec_sample_fn take, void *ctx,
                                geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool streamed = geodec_streamed_is(m);                    /* then one session that uses the pool */
    const int group = streamed ? 1 : 4 * geodec_pool_threads(pool); /* several for a thread: lengths differ */
    const geodec_session_options so = {
        .n_ctx = o->length, .max_batch = 1, .arithmetic = o->arithmetic, .kv = o->kv, .pool = streamed ? pool : NULL};
    slot *s = NULL;
    if (geodec_tokenizer_bos(geodec_model_tokenizer(m)) < 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "the model's tokenizer has no BOS token to start a text with");
    if (o->texts < 1 || o->first < 0 || o->length < 2)
        GEODEC_THROW(GEODEC_RANGE, "%lld texts of %d tokens from number %lld", (long long)o->texts, o->length,
                     (long long)o->first);
    GEODEC_NEW(s, group);
    for (int i = 0; i < group; i++) {
        GEODEC_TRY(geodec_session_create(m, &so, &s[i].session, err));
        GEODEC_TRY(geodec_penalty_create(&o->penalty, geodec_model_configuration(m)->n_vocab, &s[i].penalty, err));
        GEODEC_NEW(s[i].token, o->length);
        GEODEC_NEW(s[i].row, geodec_model_configuration(m)->n_vocab);
    }
    for (int64_t at = 0; at < o->texts; at += group) {
        const int64_t n = o->texts - at < group ? o->texts - at : group;
        job j = {m, o, s, o->first + at};
        geodec_pool_run_dynamic(streamed ? NULL : pool, n, sample_task, &j);
        for (int64_t i = 0; i < n; i++) {
            if (s[i].status != GEODEC_OK) {
                if (err) *err = s[i].error;
                st = s[i].status;
                goto done;
            }
            GEODEC_TRY(take(ctx, o->first + at + i, s[i].token, s[i].n, err));
        }
        GEODEC_TRY(geodec_hooks_progress(hooks, "sampling texts", at + n, o->texts, err));
    }
done:
    for (int i = 0; s && i < group; i++) {
        geodec_session_destroy(s[i].session);
        geodec_sampler_destroy(s[i].sampler);
        geodec_penalty_destroy(s[i].penalty);
        GEODEC_FREE(s[i].token, s[i].row);
    }
    geodec_mem_free(s);
    return st;
}
