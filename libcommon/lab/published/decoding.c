#include "lab/published/decoding.h"

#include "base/mem.h"
#include "decode/drafter.h"
#include "lab/published/lengths.h"
#include "session/model.h"

enum { WARM_UP = 4 };
static const float MARGIN = 2.8F;

geodec_status geodec_decoding_published_replay(const geodec_target *t, const int32_t *prompt, int64_t n,
                                               int64_t n_tokens, geodec_counters_published *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *row = NULL;
    geodec_counters_published c = {0};
    if (n < 1 || n_tokens < 1)
        GEODEC_THROW(GEODEC_INVAL, "%lld tokens after a prompt of %lld", (long long)n_tokens, (long long)n);
    if (n + n_tokens > t->n_ctx)
        GEODEC_THROW(GEODEC_SCARCE, "a context of %d tokens; the replay needs at least %lld", t->n_ctx,
                     (long long)(n + n_tokens));
    for (int64_t i = 0; i < n; i++)
        if (prompt[i] < 0 || prompt[i] >= t->n_vocab)
            GEODEC_THROW(GEODEC_RANGE, "prompt token %lld is %d, the vocabulary has %d", (long long)i, prompt[i],
                         t->n_vocab);
    GEODEC_NEW(row, t->n_vocab);
    t->truncate(t->self, 0);
    for (int64_t i = 0; i < n; i++) GEODEC_TRY(t->forward(t->self, prompt + i, NULL, 1, row, NULL, err));
    const geodec_counters start = t->counters(t->self);
    bool drafted = false; /* the token before this one was a draft of the same round */
    while (c.tokens < n_tokens) {
        const int32_t top = geodec_argmax(row, t->n_vocab), draft = top;
        /* Slot 0 is checked against the row from which it was taken. */
        drafted = c.tokens >= WARM_UP && !drafted && row[draft] >= row[top] - MARGIN;
        if (drafted)
            c.geo_accepted++;
        else
            c.xfmr++;
        c.tokens++;
        GEODEC_TRY(t->forward(t->self, &draft, NULL, 1, row, NULL, err));
    }
    c.target_passes = t->counters(t->self).passes - start.passes;
    c.acceptance = (double)c.geo_accepted / (double)c.tokens;
    *out = c;
done:
    t->truncate(t->self, 0);
    geodec_mem_free(row);
    return st;
}

/* ---- the rule of lengths, around a drafter ----------------------------------------------------------------------- */

typedef struct ruled {
    geodec_drafter base;
    geodec_drafter_ops ops;
    geodec_drafter *inner;
    geodec_lengths_published lengths;
    int64_t n_context; /* of the last request, 0 = none */
    int32_t sent;      /* drafts sent in the last round */
} ruled;

static geodec_status ruled_begin(geodec_drafter *d, geodec_err *err)
{
    ruled *r = (ruled *)d;
    r->lengths = geodec_lengths_published_start(r->lengths.most);
    r->n_context = 0;
    return geodec_drafter_begin(r->inner, err);
}

static geodec_status ruled_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    return geodec_drafter_observe(((ruled *)d)->inner, rows, err);
}

static geodec_status ruled_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                   geodec_err *err)
{
    ruled *r = (ruled *)d;
    /* A round decides its accepted drafts and one token more. */
    if (r->n_context > 0)
        geodec_lengths_published_settle(&r->lengths, r->sent, (int32_t)(q->n_context - r->n_context - 1));
    geodec_draft_request shorter = *q;
    shorter.gamma = geodec_lengths_published_ask(&r->lengths, q->gamma);
    r->n_context = q->n_context;
    r->sent = *n = 0;
    if (shorter.gamma > 0) GEODEC_PASS(geodec_drafter_propose(r->inner, &shorter, out, n, err));
    while (r->sent < *n && !geodec_guard_forbids(q->guard, q->index + r->sent, out[r->sent].token)) r->sent++;
    return GEODEC_OK;
}

static void ruled_destroy(geodec_drafter *d)
{
    geodec_drafter_destroy(((ruled *)d)->inner);
    geodec_mem_free(d);
}

geodec_status geodec_decoding_published_drafter_create(int32_t most, geodec_drafter *inner, geodec_drafter **out,
                                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    ruled *r = NULL;
    if (inner->ops->distribution)
        GEODEC_THROW(GEODEC_INVAL, "drafter %s samples its drafts, and the published rule does not", inner->ops->name);
    GEODEC_NEW(r, 1);
    r->ops = (geodec_drafter_ops){.name = inner->ops->name,
                                  .n_sources = inner->ops->n_sources,
                                  .source_name = inner->ops->source_name,
                                  .wants_state = inner->ops->wants_state,
                                  .wants_top = inner->ops->wants_top,
                                  .learns = inner->ops->learns,
                                  .begin = ruled_begin,
                                  .observe = ruled_observe,
                                  .propose = ruled_propose,
                                  .destroy = ruled_destroy};
    r->base.ops = &r->ops;
    r->lengths.most = most;
    r->inner = inner;
    *out = &r->base;
    return GEODEC_OK;
done:
    geodec_drafter_destroy(inner);
    return st;
}

/* ---- sets of options ----------------------------------------------------------------------------------------- */

const geodec_options_published geodec_decoding_published_options[GEODEC_OPTIONS_PUBLISHED] = {
    {"ott-full", "--draft onedecode+rollout --attnres damp:0.35"},
    {"ott-speculative", "--draft rollout --gamma 2 --attnres damp:0.25"},
    {"ott-fast", "--draft rollout --gamma 16 --gate 0.45"},
    {"ott-perfect", "--draft rollout --gamma 16 --temperature 0"},
    {"ott-theorem", "--draft rollout --attnres damp:0.45+depth_attn:0.55:window=16"},
};
