/* Foretelling by routers on a stale residual stream. How often the expert of each rank was then used is counted, so
 * that a rank becomes a probability. The counts depend on the run's routes alone, so a run repeats. */
#include "base/clock.h"
#include "base/mem.h"
#include "session/streamed_internal.h"

#include <string.h>

enum { PACE = 64 /* passes between two looks at the times */, TIMED = 16 /* passes of which one is timed */ };

/* Experts below this probability are treated as if nothing were foretold of them. */
static const float KNOWN = 0.05F;

/* With fewer needed experts of a visit that are not in memory, a router two blocks ahead is not worth its time. */
static const double RARE = 0.5;

/* Before anything is counted: the first n_expert_used ranks are likely. */
static const float LIKELY = 0.7F, UNLIKELY = 0.1F, WEIGHT = 8;

static const float LEAST_SHARE = 0.004F; /* of what is expected; less is not handed over */

static float probability_of(const geodec__ahead *a, int32_t used, int64_t cell, int32_t rank)
{
    const float prior = rank < used ? LIKELY : UNLIKELY;
    return ((float)a->hit[cell * a->n_expert + rank] + WEIGHT * prior) / ((float)a->seen[cell] + WEIGHT);
}

/* In a pass of many rows: probability that an expert is used that the router chose now for one row, or for none. */
static const float VOTE = 0.6F, BY_CHANCE = 0.01F;

/* What is read ahead before there are times; FAR also beside a probability that the caller set. */
static const float LIKELY_ENOUGH = 0.3F, FAR = 0.1F;

/* Passes on the experts that are known to be likely, in the order of their probability (equal ones: the lower
 * expert). */
static void foretell(geodec_session *s, int32_t index, const float *likely)
{
    geodec__ahead *a = s->model->streamed->ahead;
    int32_t n = 0;
    for (int32_t e = 0; e < a->n_expert; e++) {
        const float p = likely[e];
        if (!(p >= KNOWN)) continue;
        int32_t at = n++;
        for (; at > 0 && p > a->sorted[at - 1]; at--) {
            a->order[at] = a->order[at - 1];
            a->sorted[at] = a->sorted[at - 1];
        }
        a->order[at] = e;
        a->sorted[at] = p;
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

/* Probabilities of the experts by the order in which the router alone would choose them, joined over the rows. */
static void rank_rows(geodec_session *s, int32_t index, int32_t blocks, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    geodec__ahead *a = s->model->streamed->ahead;
    int32_t *order = a->ranked + ((int64_t)index * 2 + blocks) * c->n_expert;
    for (int64_t r = 0; r < n; r++) {
        const float *score = geodec__experts_order(s, &s->model->layer[index], s->router_row[r]);
        (void)geodec_largest(score, c->n_expert, c->n_expert, order, a->sorted);
        for (int32_t i = 0; i < c->n_expert; i++) {
            const float p = probability_of(a, c->n_expert_used, (int64_t)index * 2 + blocks, i);
            a->likely[order[i]] = 1 - (1 - a->likely[order[i]]) * (1 - p);
        }
    }
    a->asked[index * 2 + blocks] = n == 1;
}

/* Logits of a layer's router for up to GEODEC__AHEAD_ROWS rows from `first`. The rows of the pass stay as they are. */
static void run_router(geodec_session *s, int32_t index, int64_t first, int64_t n)
{
    geodec__ahead *a = s->model->streamed->ahead;
    geodec__router_run(s, index, (const float *const *)s->x_row + first, a->norm, a->in, s->router_row, n);
}

/* A product writes into zeros. */
static void clear_logits(const geodec_session *s, int64_t n)
{
    for (int64_t r = 0; r < n; r++)
        memset(s->router_row[r], 0, (size_t)geodec__pad(s->model->config.n_expert) * sizeof(float));
}

/* `blocks`: blocks between the residual stream and the router, beside its attention. */
static void ask_router(geodec_session *s, int32_t index, int32_t blocks, int64_t n)
{
    geodec__ahead *a = s->model->streamed->ahead;
    run_router(s, index, 0, n);
    for (int32_t e = 0; e < a->n_expert; e++) a->likely[e] = 0;
    if (s->foreseen && s->foreseen->asked)
        mix_rows(s, index, blocks, n);
    else
        rank_rows(s, index, blocks, n);
    clear_logits(s, n);
    foretell(s, index, a->likely);
}

/* Many rows: an expert that the router chooses now for so many rows is used by one of them. */
static void ask_votes(geodec_session *s, int32_t index, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    geodec__ahead *a = s->model->streamed->ahead;
    for (int32_t e = 0; e < c->n_expert; e++) a->likely[e] = 1 - BY_CHANCE;
    for (int64_t first = 0; first < n; first += GEODEC__AHEAD_ROWS) {
        const int64_t rows = n - first < GEODEC__AHEAD_ROWS ? n - first : GEODEC__AHEAD_ROWS;
        run_router(s, index, first, rows);
        for (int64_t r = 0; r < rows; r++) {
            const float *score = geodec__experts_order(s, &s->model->layer[index], s->router_row[r]);
            (void)geodec_largest(score, c->n_expert, c->n_expert_used, a->order, a->sorted);
            for (int32_t j = 0; j < c->n_expert_used; j++) a->likely[a->order[j]] *= 1 - VOTE;
        }
        clear_logits(s, rows);
    }
    for (int32_t e = 0; e < c->n_expert; e++) a->likely[e] = 1 - a->likely[e];
    a->asked[index * 2] = a->asked[index * 2 + 1] = false;
    foretell(s, index, a->likely);
}

/* x = time to read the experts that are needed and not in memory / time to compute, of the last passes. Where reading
 * is hidden (x below 1), what counts is that the next layer's experts come in time: unlikely ones are read too, and
 * later layers wait. Where the disk is the limit, it must never rest: likely experts of all layers are read, the
 * likeliest first. The constants are the best of the simulations of docs/results/foresight.md. */
static void decide(geodec__ahead *a, double x)
{
    const double least = 0.1 * x, far = 0.1 / (x * x * x * x);
    a->least = (float)(least < 0.05 ? 0.05 : least > 0.3 ? 0.3 : least);
    a->far = (float)(far > 1 ? 1 : far);
}

/* Every PACE passes: decides by the times of reading and computing since then what is read ahead. */
static void look_at_times(geodec_session *s)
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
        a->far = FAR;
        return;
    }
    const double needed = (double)(k.slots.needed - k.slots.resident), reads = (double)k.disk.reads;
    const double computing = k.passes - k.stall - a->computing;
    if (reads > 0 && computing > 0 && k.disk.busy > 0 && needed > a->needed)
        decide(a, (needed - a->needed) * k.disk.busy / reads / computing);
    else
        a->least = LIKELY_ENOUGH, a->far = FAR;
    a->needed = needed;
    a->computing = k.passes - k.stall;
}

/* What a pass layer by layer foretells is certain, and comes in its order. */
void geodec__streamed_pace(geodec_session *s, bool by_layers)
{
    const geodec__ahead *a = s->model->streamed->ahead;
    look_at_times(s);
    geodec_stream_pace(s->model->streamed->stream, a->least, by_layers ? 0 : a->far);
}

static bool is_routed(const geodec_session *s, int32_t index)
{
    return index < s->n_blocks && s->model->layer[index].router.data != NULL;
}

/* Whether a foreseer has foretold the layers of this pass. */
static bool is_foreseen(const geodec_session *s) { return s->foreseen && s->foreseen->asked; }

static bool is_asked(const geodec_session *s)
{
    const geodec_streaming *o = &s->model->streamed->options;
    return o->lookahead != GEODEC_LOOKAHEAD_NONE && !o->mapped && !s->model->streamed->ahead->needless;
}

static void look_ahead(geodec_session *s, int32_t index, int64_t n)
{
    const geodec_lookahead how = s->model->streamed->options.lookahead;
    if (!is_asked(s) || !is_routed(s, index)) return;
    if (n <= GEODEC__AHEAD_ROWS) {
        if (!is_foreseen(s) || how == GEODEC_LOOKAHEAD_MIX) ask_router(s, index, 0, n);
    } else if (index == 0 || !is_routed(s, index - 1)) {
        ask_votes(s, index, n); /* the others when the experts of the layer before are chosen */
    }
}

static void look_further(geodec_session *s, int32_t index, int64_t n)
{
    const geodec_lookahead how = s->model->streamed->options.lookahead;
    if (!is_asked(s) || !is_routed(s, index + 1)) return;
    if (n > GEODEC__AHEAD_ROWS)
        ask_votes(s, index + 1, n);
    else if (how == (is_foreseen(s) ? GEODEC_LOOKAHEAD_MIX : GEODEC_LOOKAHEAD_ROUTER2) &&
             !s->model->streamed->ahead->rare)
        ask_router(s, index + 1, 1, n);
}

void geodec__streamed_ahead(geodec_session *s, int32_t index, int64_t n)
{
    geodec__ahead *a = s->model->streamed->ahead;
    const double begin = a->timing ? geodec_clock_seconds() : 0;
    look_ahead(s, index, n);
    if (a->timing) a->between += geodec_clock_seconds() - begin;
}

void geodec__streamed_ahead_next(geodec_session *s, int32_t index, int64_t n)
{
    geodec__ahead *a = s->model->streamed->ahead;
    const double begin = a->timing ? geodec_clock_seconds() : 0;
    look_further(s, index, n);
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
        a->seen[index * 2 + blocks]++;
        for (int32_t i = 0; i < c->n_expert; i++)
            for (int32_t j = 0; j < c->n_expert_used; j++)
                if (order[i] == id[j]) a->hit[((int64_t)index * 2 + blocks) * c->n_expert + i]++;
    }
}

/* ---- a foreseer -------------------------------------------------------------------------------------------------- */

/* Shows it the rows below `end` that joined the text since the last pass. */
static void observe(geodec_session *s, int32_t end)
{
    const geodec_model_config *c = &s->model->config;
    geodec__foreseen *f = s->foreseen;
    int32_t at = f->observed;
    if (s->length < f->observed || f->n == 0 || f->base > f->observed) {
        f->by.begin(f->by.ctx);
        at = f->n > 0 ? f->base : s->length;
    }
    for (; at < end && at < f->base + f->n; at++) {
        const int32_t row = f->row[at - f->base];
        if (s->model->streamed->options.eviction == GEODEC_EVICTION_MAP && f->by.remember)
            f->by.remember(f->by.ctx, f->token[row], s->expert_id + (int64_t)row * c->n_layer * c->n_expert_used);
        f->by.observe(f->by.ctx, f->token[row], s->x_row[row]);
    }
    f->observed = end < s->length ? at : s->length;
}

static bool is_spared(const geodec_session *s)
{
    const geodec_streaming *o = &s->model->streamed->options;
    return o->eviction == GEODEC_EVICTION_MAP && s->foreseen && s->foreseen->by.expect && !o->mapped;
}

/* What eviction should spare after a pass whose newest token is this one, or (-1) nothing. plain: see
 * geodec__streamed_price_expect. */
static void expect(geodec_session *s, int32_t token, bool plain)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__foreseen *f = s->foreseen;
    geodec__ahead *a = s->model->streamed->ahead;
    if (token >= 0) f->by.expect(f->by.ctx, token, f->later);
    for (int32_t layer = 0; layer < s->n_blocks; layer++) {
        if (!s->model->layer[layer].router.data) continue;
        int32_t n = 0;
        for (int32_t e = 0; token >= 0 && e < c->n_expert; e++) {
            const float share = f->later[(int64_t)layer * c->n_expert + e];
            if (share < LEAST_SHARE) continue;
            a->order[n] = e;
            a->sorted[n++] = share < 1 ? share : 1;
        }
        if (!plain) geodec_stream_expect(s->model->streamed->stream, layer, n, a->order, a->sorted);
        geodec__streamed_price_expect(s, plain, layer, n, a->order, a->sorted);
    }
}

void geodec__streamed_expect_row(geodec_session *s, int32_t at)
{
    const geodec__foreseen *f = s->foreseen;
    geodec__ahead *a = s->model->streamed->ahead;
    if (!is_spared(s) || a->needless || at < f->base || at >= f->base + f->n) return;
    const double begin = a->timing ? geodec_clock_seconds() : 0;
    observe(s, at);
    expect(s, f->token[f->row[at - f->base]], true);
    if (a->timing) a->before += geodec_clock_seconds() - begin;
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
    observe(s, s->length);
    /* a wide pass needs nearly all experts: nothing is expected of it */
    if (is_spared(s)) expect(s, b->n <= GEODEC__AHEAD_ROWS ? b->token[0] : -1, false);
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

void geodec__streamed_passed(geodec_session *s, const geodec_batch *b, const float *const *x, const int32_t *expert)
{
    const geodec_model_config *c = &s->model->config;
    geodec__foreseen *f = s->foreseen;
    const int32_t kept = b->n < s->max_batch ? b->n : s->max_batch, n = kept < s->length ? kept : s->length;
    const bool remembers = s->model->streamed->options.eviction == GEODEC_EVICTION_MAP && f->by.remember;
    for (int32_t i = 0; i < b->n && !s->model->streamed->ahead->needless; i++) {
        if (b->begin && b->begin[i]) f->by.begin(f->by.ctx);
        if (remembers) f->by.remember(f->by.ctx, b->token[i], expert + (int64_t)i * c->n_layer * c->n_expert_used);
        f->by.observe(f->by.ctx, b->token[i], x[i]);
        f->observed = s->length;
    }
    f->base = s->length - n;
    f->n = n;
    for (int32_t i = 0; i < n; i++) f->row[i] = kept - n + i;
    for (int32_t i = 0; i < kept; i++) f->token[i] = b->token[b->n - kept + i];
}

void geodec__streamed_forgotten(geodec_session *s) { s->foreseen->n = 0; }

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
    GEODEC_NEW(a->input, GEODEC__AHEAD_ROWS * geodec__pad(c->d_model));
    for (int r = 0; r < GEODEC__AHEAD_ROWS; r++) a->norm[r] = a->input + r * geodec__pad(c->d_model);
    GEODEC_NEW(a->hit, 2 * (int64_t)c->n_layer * c->n_expert);
    GEODEC_NEW(a->seen, 2 * (int64_t)c->n_layer);
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
    GEODEC_FREE(a->input, a->order, a->sorted, a->likely, a->hit, a->seen, a->asked, a->ranked, a);
}
