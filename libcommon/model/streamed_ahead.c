/* Foretelling by routers on a stale residual stream. How often the expert of each rank was then used is counted, so
 * that a rank becomes a probability. The counts depend on the run's routes alone, so a run repeats. */
#include "base/clock.h"
#include "base/mem.h"
#include "model/streamed_internal.h"
#include "streaming/closed_form.h"

#include <string.h>

enum { PACE = 64 /* passes between two looks at the times */, TIMED = 16 /* passes of which one is timed */ };

/* Experts below this probability are treated as if nothing were foretold of them. */
static const float KNOWN = 0.05F;

/* With fewer needed experts of a visit that are not in memory, a router two blocks ahead is not worth its time. */
static const double RARE = 0.5;

/* Before anything is counted: the first n_expert_used ranks are likely. */
static const float LIKELY = 0.7F, UNLIKELY = 0.1F, WEIGHT = 8;

static float probability_of(const geodec__ahead *a, int32_t used, int32_t blocks, int32_t rank)
{
    const int64_t at = (int64_t)blocks * a->n_expert + rank;
    const float prior = rank < used ? LIKELY : UNLIKELY;
    return ((float)a->hit[at] + WEIGHT * prior) / ((float)a->seen[blocks] + WEIGHT);
}

/* Passes on the experts that are likely enough to be read, in the order of their probability (equal ones: the lower
 * expert), then those that are not worth their bytes now, but known. */
static void foretell(geodec_session *s, int32_t index, const float *likely)
{
    geodec__ahead *a = s->model->streamed->ahead;
    int32_t n = 0, known = 0;
    for (int32_t e = 0; e < a->n_expert; e++) {
        const float p = likely[e];
        if (!(p >= a->least)) {
            a->known[known] = e;
            known += p >= KNOWN;
            continue;
        }
        int32_t at = n++;
        for (; at > 0 && p > a->sorted[at - 1]; at--) {
            a->order[at] = a->order[at - 1];
            a->sorted[at] = a->sorted[at - 1];
        }
        a->order[at] = e;
        a->sorted[at] = p;
    }
    for (int32_t i = 0; i < known; i++, n++) {
        a->order[n] = a->known[i];
        a->sorted[n] = 0;
    }
    const double begin = a->timing ? geodec_clock_seconds() : 0;
    geodec_stream_foretell(s->model->streamed->stream, index, n, a->order, a->sorted);
    if (a->timing) a->telling += geodec_clock_seconds() - begin;
}

/* The foreseer's probabilities and the router's logits of each row. */
static void mix_rows(geodec_session *s, int32_t index, int32_t blocks, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__foreseen *f = s->foreseen;
    geodec__ahead *a = s->model->streamed->ahead;
    for (int64_t r = 0; r < n; r++) {
        const float *early = f->early + (r * c->n_layer + index) * c->n_expert;
        f->by.mix(f->by.ctx, blocks, index, early, s->router_row[r], n == 1 ? a->likely : f->mixed);
        for (int32_t e = 0; n > 1 && e < c->n_expert; e++) a->likely[e] = 1 - (1 - a->likely[e]) * (1 - f->mixed[e]);
    }
}

/* The same by the order in which the router alone would choose them. */
static void rank_rows(geodec_session *s, int32_t index, int32_t blocks, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    geodec__ahead *a = s->model->streamed->ahead;
    int32_t *order = a->ranked + ((int64_t)index * 2 + blocks) * c->n_expert;
    for (int64_t r = 0; r < n; r++) {
        const float *score = geodec__experts_order(s, &s->model->layer[index], s->router_row[r]);
        (void)geodec_largest(score, c->n_expert, c->n_expert, order, a->sorted);
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
    geodec__ahead *a = s->model->streamed->ahead;
    geodec__router_run(s, index, (const float *const *)s->x_row, s->norm_row, s->input, s->router_row, n);
    for (int32_t e = 0; e < c->n_expert; e++) a->likely[e] = 0;
    if (s->foreseen && s->foreseen->asked)
        mix_rows(s, index, blocks, n);
    else
        rank_rows(s, index, blocks, n);
    for (int64_t r = 0; r < n; r++) memset(s->router_row[r], 0, (size_t)geodec__pad(c->n_expert) * sizeof(float));
    foretell(s, index, a->likely);
}

/* Many rows: each expert is as likely as any other. */
static void ask_chance(geodec_session *s, int32_t index, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    geodec__ahead *a = s->model->streamed->ahead;
    const double used = geodec_closed_form_distinct(c->n_expert, c->n_expert_used, (double)n) / c->n_expert;
    for (int32_t e = 0; e < c->n_expert; e++) a->likely[e] = (float)used;
    a->asked[index * 2] = a->asked[index * 2 + 1] = false;
    foretell(s, index, a->likely);
}

/* With a fast disk an unlikely expert may be read too. When reading what is needed takes longer than computing, a wrong
 * read delays the right ones: x = time to read the needed experts / time to compute, of the last passes. At x = 1/2
 * (reading is hidden) .2 is best in simulations of docs/results/streaming.md, at x = 3 nearly certain reads alone pay.
 */
void geodec__streamed_pace(geodec_session *s)
{
    geodec__ahead *a = s->model->streamed->ahead;
    const geodec_streaming *o = &s->model->streamed->options;
    const geodec_streamed_plan *plan = &s->model->streamed->plan;
    a->timing = a->passes % TIMED == 0;
    a->timed += a->timing;
    if (a->passes++ % PACE != 0) return;
    const geodec_stream_counters k = geodec_stream_counted(s->model->streamed->stream);
    a->needless = plan->slots >= plan->experts && k.given == 0;
    const double missing = (double)(k.slots.needed - k.slots.resident), visits = (double)k.slots.visits;
    a->rare = visits > a->visits && missing - a->missing < RARE * (visits - a->visits);
    a->missing = missing;
    a->visits = visits;
    if (o->prefetch_least >= 0) {
        a->least = o->prefetch_least;
        return;
    }
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

static void look_ahead(geodec_session *s, int32_t index, int64_t n)
{
    const geodec__streamed *t = s->model->streamed;
    const int32_t last = s->n_blocks - 1;
    const bool here = s->model->layer[index].router.data != NULL;
    const bool next = index < last && s->model->layer[index + 1].router.data != NULL;
    if (t->options.lookahead == GEODEC_LOOKAHEAD_NONE || t->options.mapped || t->ahead->needless) return;
    if (n > GEODEC__AHEAD_ROWS) {
        if (next) ask_chance(s, index + 1, n);
        return;
    }
    const bool early = s->foreseen && s->foreseen->asked;
    if (early && t->options.lookahead != GEODEC_LOOKAHEAD_MIX) return;
    if (here) ask_router(s, index, 0, n);
    if (next && ((early && !t->ahead->rare) || t->options.lookahead == GEODEC_LOOKAHEAD_ROUTER2))
        ask_router(s, index + 1, 1, n);
}

void geodec__streamed_ahead(geodec_session *s, int32_t index, int64_t n)
{
    geodec__ahead *a = s->model->streamed->ahead;
    const double begin = a->timing ? geodec_clock_seconds() : 0;
    look_ahead(s, index, n);
    if (a->timing) a->between += geodec_clock_seconds() - begin;
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
    geodec__foreseen *f = s->foreseen;
    int32_t at = f->observed;
    if (s->length < f->observed || f->n == 0 || f->base > f->observed) {
        f->by.begin(f->by.ctx);
        at = f->n > 0 ? f->base : s->length;
    }
    for (; at < s->length && at < f->base + f->n; at++) {
        const int32_t row = f->row[at - f->base];
        f->by.observe(f->by.ctx, f->token[row], s->x_row[row]);
    }
    f->observed = s->length;
}

static void foresee(geodec_session *s, const geodec_batch *b)
{
    const geodec_model_config *c = &s->model->config;
    const geodec_lookahead how = s->model->streamed->options.lookahead;
    const int64_t row = (int64_t)c->n_layer * c->n_expert;
    geodec__ahead *a = s->model->streamed->ahead;
    geodec__foreseen *f = s->foreseen;
    f->asked = false;
    if (a->needless) return;
    observe(s);
    f->asked = how >= GEODEC_LOOKAHEAD_TOKEN && b->n <= GEODEC__AHEAD_ROWS;
    if (!f->asked) return;
    for (int32_t r = 0; r < b->n; r++)
        f->by.ask(f->by.ctx, b->token[r], how != GEODEC_LOOKAHEAD_TOKEN && s->parent[r] < 0, f->early + r * row);
    for (int32_t layer = 0; layer < s->n_blocks; layer++) {
        if (!s->model->layer[layer].router.data) continue;
        const float *early = f->early + (int64_t)layer * c->n_expert;
        for (int32_t e = 0; b->n > 1 && e < c->n_expert; e++) {
            float none = 1;
            for (int32_t r = 0; r < b->n; r++) none *= 1 - early[r * row + e];
            a->likely[e] = 1 - none;
        }
        foretell(s, layer, b->n > 1 ? a->likely : early);
    }
}

void geodec__streamed_foresee(geodec_session *s, const geodec_batch *b)
{
    geodec__ahead *a = s->model->streamed->ahead;
    const double begin = a->timing ? geodec_clock_seconds() : 0;
    foresee(s, b);
    if (a->timing) a->before += geodec_clock_seconds() - begin;
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
    if (!o->foreseer || (o->lookahead < GEODEC_LOOKAHEAD_TOKEN && !prices)) return GEODEC_OK;
    GEODEC_NEW(s->foreseen, 1);
    GEODEC_NEW_EACH(s->max_batch, s->foreseen->row, s->foreseen->token);
    GEODEC_NEW(s->foreseen->early, (int64_t)GEODEC__AHEAD_ROWS * c->n_layer * c->n_expert);
    GEODEC_NEW(s->foreseen->mixed, c->n_expert);
    GEODEC_TRY(o->foreseer(o->foreseer_ctx, &s->foreseen->by, err));
done:
    return st;
}

void geodec__streamed_unforeseen(geodec_session *s)
{
    if (!s->foreseen) return;
    if (s->foreseen->by.destroy) s->foreseen->by.destroy(s->foreseen->by.ctx);
    GEODEC_FREE(s->foreseen->row, s->foreseen->token, s->foreseen->early, s->foreseen->mixed, s->foreseen);
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
    GEODEC_NEW_EACH(c->n_expert, a->order, a->known, a->sorted, a->likely);
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
    GEODEC_FREE(a->order, a->known, a->sorted, a->likely, a->hit, a->asked, a->ranked, a);
}
