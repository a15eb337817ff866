/* Foretelling by routers on a stale residual stream. How often the expert of each rank was then used is counted, so
 * that a rank becomes a probability. The counts depend on the run's routes alone, so a run repeats. */
#include "base/mem.h"
#include "model/streamed_internal.h"
#include "streaming/closed_form.h"

#include <string.h>

enum { PACE = 64 /* passes between two looks at the times */ };

/* Before anything is counted: the first n_expert_used ranks are likely. */
static const float LIKELY = 0.7F, UNLIKELY = 0.1F, WEIGHT = 8;

static const float LEAST_SHARE = 0.004F; /* of what is expected; less is not handed over */

static float probability_of(const geodec__ahead *a, int32_t used, int32_t blocks, int32_t rank)
{
    const int64_t at = (int64_t)blocks * a->n_expert + rank;
    const float prior = rank < used ? LIKELY : UNLIKELY;
    return ((float)a->hit[at] + WEIGHT * prior) / ((float)a->seen[blocks] + WEIGHT);
}

/* Passes on the experts in the order of their probability. */
static void foretell(geodec_session *s, int32_t index)
{
    geodec__ahead *a = s->model->streamed->ahead;
    const int32_t n = a->n_expert;
    (void)geodec_largest(a->likely, n, n, a->order, a->sorted);
    for (int32_t i = 0; i < n; i++)
        if (a->sorted[i] < a->least) a->sorted[i] = 0; /* known, but not worth its bytes now */
    geodec_stream_foretell(s->model->streamed->stream, index, n, a->order, a->sorted);
}

/* The foreseer's probabilities and the router's logits of each row. */
static void mix_rows(geodec_session *s, int32_t index, int32_t blocks, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__foreseen *f = s->foreseen;
    geodec__ahead *a = s->model->streamed->ahead;
    for (int64_t r = 0; r < n; r++) {
        const float *early = f->early + (r * c->n_layer + index) * c->n_expert;
        f->by.mix(f->by.ctx, blocks, index, early, s->router_row[r], f->mixed);
        for (int32_t e = 0; e < c->n_expert; e++) a->likely[e] = 1 - (1 - a->likely[e]) * (1 - f->mixed[e]);
    }
}

/* The same by the ranks of the logits alone. */
static void rank_rows(geodec_session *s, int32_t index, int32_t blocks, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    geodec__ahead *a = s->model->streamed->ahead;
    for (int64_t r = 0; r < n; r++) {
        int32_t *order = a->ranked + ((int64_t)index * 2 + blocks) * c->n_expert;
        (void)geodec_largest(s->router_row[r], c->n_expert, c->n_expert, order, a->sorted);
        for (int32_t i = 0; i < c->n_expert; i++) {
            const float p = probability_of(a, c->n_expert_used, blocks, i);
            a->likely[order[i]] = 1 - (1 - a->likely[order[i]]) * (1 - p);
        }
    }
    a->asked[index * 2 + blocks] = n == 1;
}

/* `blocks`: blocks between the residual stream and the router. */
static void ask_router(geodec_session *s, int32_t index, int32_t blocks, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__layer *l = &s->model->layer[index];
    geodec__ahead *a = s->model->streamed->ahead;
    for (int64_t r = 0; r < n; r++) {
        s->kernels->rms_norm(s->x_row[r], l->ffn_norm, c->d_model, c->rms_eps, s->norm_row[r]);
        s->input[r] = s->norm_row[r];
    }
    s->job[0] = geodec__job_of(l->router, s->input, s->router_row, n);
    geodec__jobs_run(s, 1);
    for (int32_t e = 0; e < c->n_expert; e++) a->likely[e] = 0;
    if (s->foreseen && s->foreseen->asked)
        mix_rows(s, index, blocks, n);
    else
        rank_rows(s, index, blocks, n);
    for (int64_t r = 0; r < n; r++) memset(s->router_row[r], 0, (size_t)geodec__pad(c->n_expert) * sizeof(float));
    foretell(s, index);
}

/* Many rows: each expert is as likely as any other. */
static void ask_chance(geodec_session *s, int32_t index, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    geodec__ahead *a = s->model->streamed->ahead;
    const double used = geodec_closed_form_distinct(c->n_expert, c->n_expert_used, (double)n) / c->n_expert;
    for (int32_t e = 0; e < c->n_expert; e++) a->likely[e] = (float)used;
    a->asked[index * 2] = a->asked[index * 2 + 1] = false;
    foretell(s, index);
}

/* With a fast disk an unlikely expert may be read too. When reading what is needed takes longer than computing, a wrong
 * read delays the right ones: x = time to read the needed experts / time to compute, of the last passes. At x = 1/2
 * (reading is hidden) .2 is best in simulations of docs/results/streaming.md, at x = 3 nearly certain reads alone pay.
 */
void geodec__streamed_pace(geodec_session *s)
{
    geodec__ahead *a = s->model->streamed->ahead;
    const geodec_streaming *o = &s->model->streamed->options;
    if (o->prefetch_least >= 0) {
        a->least = o->prefetch_least;
        return;
    }
    if (a->passes++ % PACE != 0) return;
    const geodec_stream_counters k = geodec_stream_counted(s->model->streamed->stream);
    const double needed = (double)(k.slots.needed - k.slots.resident), reads = (double)k.disk.reads;
    const double computing = k.passes - k.stall - a->computing;
    if (reads > 0 && computing > 0 && k.disk.busy > 0) {
        const double x = (needed - a->needed) * k.disk.busy / reads / computing;
        const double least = 0.06 + 0.28 * x;
        a->least = (float)(least < 0.1 ? 0.1 : least > 0.9 ? 0.9 : least);
    } else {
        a->least = 0.5F;
    }
    a->needed = needed;
    a->computing = k.passes - k.stall;
}

void geodec__streamed_ahead(geodec_session *s, int32_t index, int64_t n)
{
    const geodec__streamed *t = s->model->streamed;
    const int32_t last = s->n_blocks - 1;
    const bool here = s->model->layer[index].router.data != NULL;
    const bool next = index < last && s->model->layer[index + 1].router.data != NULL;
    if (t->options.lookahead == GEODEC_LOOKAHEAD_NONE || t->options.mapped) return;
    if (n > GEODEC__AHEAD_ROWS) {
        if (next) ask_chance(s, index + 1, n);
        return;
    }
    const bool early = s->foreseen && s->foreseen->asked;
    if (early && t->options.lookahead != GEODEC_LOOKAHEAD_MIX) return;
    if (here) ask_router(s, index, 0, n);
    if (next && (early || t->options.lookahead == GEODEC_LOOKAHEAD_ROUTER2)) ask_router(s, index + 1, 1, n);
}

/* Counts which ranks were used. */
void geodec__streamed_learn(geodec_session *s, int32_t index, const int32_t *id)
{
    const geodec_model_config *c = &s->model->config;
    geodec__ahead *a = s->model->streamed->ahead;
    for (int32_t blocks = 0; blocks < 2; blocks++) {
        if (!a->asked[index * 2 + blocks]) continue;
        const int32_t *order = a->ranked + ((int64_t)index * 2 + blocks) * c->n_expert;
        a->asked[index * 2 + blocks] = false;
        a->seen[blocks]++;
        for (int32_t i = 0; i < c->n_expert; i++)
            for (int32_t j = 0; j < c->n_expert_used; j++)
                if (order[i] == id[j]) a->hit[(int64_t)blocks * c->n_expert + i]++;
    }
}

/* ---- a foreseer -------------------------------------------------------------------------------------------------- */

/* Shows it the rows that joined the text since the last pass. */
static void observe(geodec_session *s)
{
    const geodec_model_config *c = &s->model->config;
    geodec__foreseen *f = s->foreseen;
    int32_t at = f->observed;
    if (s->length < f->observed || f->n == 0 || f->base > f->observed) {
        f->by.begin(f->by.ctx);
        at = f->n > 0 ? f->base : s->length;
    }
    for (; at < s->length && at < f->base + f->n; at++) {
        const int32_t row = f->row[at - f->base];
        if (s->model->streamed->options.eviction == GEODEC_EVICTION_MAP && f->by.remember)
            f->by.remember(f->by.ctx, f->token[row], s->expert_id + (int64_t)row * c->n_layer * c->n_expert_used);
        f->by.observe(f->by.ctx, f->token[row], s->x_row[row]);
    }
    f->observed = s->length;
}

/* What eviction should spare after this pass. A wide pass needs nearly all experts: nothing is expected of it. */
static void expect(geodec_session *s, const geodec_batch *b)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__streamed *t = s->model->streamed;
    const geodec__foreseen *f = s->foreseen;
    geodec__ahead *a = t->ahead;
    if (t->options.eviction != GEODEC_EVICTION_MAP || !f->by.expect || t->options.mapped) return;
    const bool narrow = b->n <= GEODEC__AHEAD_ROWS;
    if (narrow) f->by.expect(f->by.ctx, b->token[0], f->later);
    for (int32_t layer = 0; layer < s->n_blocks; layer++) {
        if (!s->model->layer[layer].router.data) continue;
        int32_t n = 0;
        for (int32_t e = 0; narrow && e < c->n_expert; e++) {
            const float share = f->later[(int64_t)layer * c->n_expert + e];
            if (share < LEAST_SHARE) continue;
            a->order[n] = e;
            a->sorted[n++] = share < 1 ? share : 1;
        }
        geodec_stream_expect(t->stream, layer, n, a->order, a->sorted);
    }
}

void geodec__streamed_foresee(geodec_session *s, const geodec_batch *b)
{
    const geodec_model_config *c = &s->model->config;
    const geodec_lookahead how = s->model->streamed->options.lookahead;
    const int64_t row = (int64_t)c->n_layer * c->n_expert;
    geodec__ahead *a = s->model->streamed->ahead;
    geodec__foreseen *f = s->foreseen;
    observe(s);
    expect(s, b);
    f->asked = how >= GEODEC_LOOKAHEAD_TOKEN && b->n <= GEODEC__AHEAD_ROWS;
    if (!f->asked) return;
    for (int32_t r = 0; r < b->n; r++)
        f->by.ask(f->by.ctx, b->token[r], how != GEODEC_LOOKAHEAD_TOKEN && s->parent[r] < 0, f->early + r * row);
    for (int32_t layer = 0; layer < s->n_blocks; layer++) {
        if (!s->model->layer[layer].router.data) continue;
        for (int32_t e = 0; e < c->n_expert; e++) {
            float none = 1;
            for (int32_t r = 0; r < b->n; r++) none *= 1 - f->early[r * row + (int64_t)layer * c->n_expert + e];
            a->likely[e] = 1 - none;
        }
        foretell(s, layer);
    }
}

void geodec__streamed_appended(geodec_session *s, const geodec_batch *b)
{
    geodec__foreseen *f = s->foreseen;
    f->base = s->length;
    f->n = b->n;
    for (int32_t i = 0; i < b->n; i++) {
        f->row[i] = i;
        f->token[i] = b->token[i];
    }
}

void geodec__streamed_compacted(geodec_session *s, int32_t base, const int32_t *row, int32_t n)
{
    geodec__foreseen *f = s->foreseen;
    if (base != f->base) return;
    for (int32_t i = 0; i < n; i++) f->row[i] = row[i];
    f->n = n;
}

geodec_status geodec__streamed_follow(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const geodec_streaming *o = &s->model->streamed->options;
    const bool prices = o->price == GEODEC_STREAMED_PRICE_FORETOLD;
    const bool spares = o->eviction == GEODEC_EVICTION_MAP;
    if (!o->foreseer || (o->lookahead < GEODEC_LOOKAHEAD_TOKEN && !prices && !spares)) return GEODEC_OK;
    GEODEC_NEW(s->foreseen, 1);
    GEODEC_NEW_EACH(s->max_batch, s->foreseen->row, s->foreseen->token);
    GEODEC_NEW(s->foreseen->early, (int64_t)GEODEC__AHEAD_ROWS * c->n_layer * c->n_expert);
    GEODEC_NEW(s->foreseen->later, (int64_t)c->n_layer * c->n_expert);
    GEODEC_NEW(s->foreseen->mixed, c->n_expert);
    GEODEC_TRY(o->foreseer(o->foreseer_ctx, &s->foreseen->by, err));
done:
    return st;
}

void geodec__streamed_unforeseen(geodec_session *s)
{
    if (!s->foreseen) return;
    if (s->foreseen->by.destroy) s->foreseen->by.destroy(s->foreseen->by.ctx);
    GEODEC_FREE(s->foreseen->row, s->foreseen->token, s->foreseen->early, s->foreseen->later, s->foreseen->mixed,
                s->foreseen);
    s->foreseen = NULL;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

geodec_status geodec__streamed_ahead_create(const geodec_model *m, geodec__ahead **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &m->config;
    geodec__ahead *a = NULL;
    GEODEC_NEW(a, 1);
    a->n_expert = c->n_expert;
    GEODEC_NEW_EACH(c->n_expert, a->order, a->sorted, a->likely);
    GEODEC_NEW(a->hit, 2 * (int64_t)c->n_expert);
    GEODEC_NEW(a->asked, 2 * (int64_t)c->n_layer);
    GEODEC_NEW(a->ranked, 2 * (int64_t)c->n_layer * c->n_expert);
    *out = a;
    a = NULL;
done:
    geodec__streamed_ahead_free(a);
    return st;
}

void geodec__streamed_ahead_free(geodec__ahead *a)
{
    if (!a) return;
    GEODEC_FREE(a->order, a->sorted, a->likely, a->hit, a->asked, a->ranked, a);
}
