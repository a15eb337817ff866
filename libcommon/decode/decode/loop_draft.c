#include "decode/loop_internal.h"
#include "decode/tree.h"

/* Most missed rows of an ordinary ask: one or two remain from rounds that had no room for a draft. */
enum { ORDINARY = 2 };

void geodec__loop_end_round(loop_request *r, double clock)
{
    loop_times *t = &r->time;
    geodec_pace *pace = &r->adapt.pace;
    const double unit = pace->cost.seconds;
    if (r->opt->adaptive && unit > 0 && t->sent_before >= 0)
        geodec_pace_observe(pace, t->sent_before, t->asked_before / unit, t->pass / unit,
                            (clock - t->end_before) / unit);
    if (r->opt->adaptive && unit < 0 && t->sent_before == 0 && t->pass > 0) pace->cost.seconds = t->pass;
    t->sent_before = -1;
}

geodec_status geodec__loop_catch_up(loop_request *r, geodec_err *err)
{
    geodec_replay_place at = {0};
    if (r->replay.n == 0) return GEODEC_OK;
    const int64_t most = r->drafter->ops->learns ? INT64_MAX : 2 * GEODEC__LOOP_RESTART;
    GEODEC_PASS(geodec_replay_catch_up(&r->replay, &at, r->drafter, most, GEODEC__LOOP_RESTART, err));
    geodec_replay_clear(&r->replay);
    return GEODEC_OK;
}

/* Tokens that may still follow the one that this round decides without a draft. */
static int64_t tokens_left(const loop_request *r) { return r->limit - r->n_text - 1; }

/* Number of drafts that fit in the pass, the cache and the output. */
static int32_t room_for_drafts(const loop_request *r)
{
    const int64_t left = tokens_left(r), cache = (int64_t)r->target->n_ctx - r->n_text;
    int64_t room = r->rows - 1;
    if (cache < room) room = cache;
    if (r->opt->budget == 0 && left < room) room = left;
    return room > 0 && left > 0 ? (int32_t)room : 0;
}

/* Number of drafts to ask for in this round; 0 = the drafter is not asked. */
static int32_t drafts_to_ask(loop_request *r)
{
    const int32_t room = room_for_drafts(r);
    const bool suspended = r->opt->adaptive && geodec_adapt_begin(&r->adapt);
    if (!r->drafter || suspended || room == 0) return 0;
    if (!r->opt->adaptive) return room;
    const int32_t want = geodec_adapt_ask(&r->adapt, room);
    if (r->adapt.backed_off && !r->drafter->ops->learns) geodec_adapt_suspend(&r->adapt, GEODEC__LOOP_RESTART);
    return want;
}

/* trial: a scheduler adds the time of its trials to it. */
static geodec_draft_request request_for(const loop_request *r, int32_t most, double *trial)
{
    const bool adaptive = r->opt->adaptive && !r->sampled_drafts;
    geodec_draft_request q = {.context = r->text,
                              .n_context = r->n_text,
                              .gamma = most,
                              .sampled = r->opt->sampling.temperature > 0,
                              .index = geodec__loop_index(r),
                              .guard = &r->guard,
                              .sampling = r->sampled_drafts ? &r->opt->sampling : NULL,
                              .least = adaptive ? r->adapt.least : NULL,
                              .adapt = adaptive ? &r->adapt : NULL,
                              .clock = r->opt->clock ? r->opt->clock : geodec_clock_seconds,
                              .trial_seconds = trial};
    if (r->opt->budget > 0) {
        q.budget = most;
        if (q.gamma > r->opt->gamma) q.gamma = r->opt->gamma;
        if (q.gamma > tokens_left(r)) q.gamma = (int32_t)tokens_left(r);
    }
    return q;
}

/* The drafter was shown many rows between two clock readings and was asked. Time beyond an ordinary ask counts as
 * resuming, because the first ask also processes the missed rows. */
static void charge_resuming(loop_request *r, double begun, double shown)
{
    const double unit = r->adapt.pace.cost.seconds;
    if (!(unit > 0)) return;
    const double due = r->adapt.pace.asking.mean * r->adapt.pace.slow * unit;
    if (due > 0 && r->time.asking > due) {
        shown += r->time.asking - due;
        r->time.asking = due;
    }
    geodec_adapt_resumed(&r->adapt, (shown - begun) / unit);
}

static geodec_status ask(loop_request *r, loop_round *x, int32_t most, geodec_err *err)
{
    const double begun = geodec__loop_now(r);
    double shown = begun, trial = 0;
    geodec__loop_end_round(r, begun);
    const bool resumed = r->replay.n > ORDINARY;
    GEODEC_PASS(geodec__loop_catch_up(r, err));
    if (resumed) shown = geodec__loop_now(r);
    const geodec_draft_request q = request_for(r, most, &trial);
    GEODEC_PASS(geodec_drafter_propose(r->drafter, &q, x->draft, &x->n, err));
    r->time.start = geodec__loop_now(r);
    r->time.asking = r->time.start - shown - trial;
    if (resumed) charge_resuming(r, begun, shown);
    r->count.draft_seconds += r->time.start - begun;
    r->count.asks++;
    x->proposed = x->n;
    return GEODEC_OK;
}

/* Drops the first draft whose confidence is below the gate, and all that follow it. */
static void apply_gate(loop_round *x, double gate)
{
    int32_t place[GEODEC_DRAFT_MAX], kept = 0;
    for (int32_t i = 0; i < x->n; i++) {
        geodec_draft d = x->draft[i];
        place[i] = -1;
        if (d.confidence < gate || (d.parent >= 0 && place[d.parent] < 0)) continue;
        if (d.parent >= 0) d.parent = place[d.parent];
        place[i] = kept;
        x->draft[kept++] = d;
    }
    x->n = x->proposed = kept;
}

/* How many drafts to send, by the target's prices if it has any. */
static int32_t best_length(loop_request *r, const loop_round *x)
{
    geodec_price price;
    int32_t token[GEODEC_DRAFT_MAX + 1];
    const geodec_target *t = r->target;
    if (!t->price || r->sampled_drafts || x->n == 0) return geodec_adapt_send(&r->adapt, x->draft, x->n);
    token[0] = r->text[r->n_text - 1];
    for (int32_t i = 0; i < x->n; i++) token[i + 1] = x->draft[i].token;
    if (!t->price(t->self, token, x->n + 1, &price)) return geodec_adapt_send(&r->adapt, x->draft, x->n);
    const bool followed = r->reads.plain > 0;
    price.useful -= (double)(followed ? r->reads.plain : r->reads.useful);
    price.wasted -= (double)(followed ? r->reads.read - r->reads.plain : r->reads.wasted);
    return geodec_adapt_send_priced(&r->adapt, &price, x->draft, x->n);
}

/* Returns how many of the drafts may be sent. Sampled drafts that are not sent stay candidates (verify_stochastic.h),
 * so they are not dropped here. */
static int32_t choose_length(loop_request *r, loop_round *x)
{
    const int32_t most = r->opt->adaptive ? best_length(r, x) : GEODEC_DRAFT_MAX;
    if (r->sampled_drafts) return most;
    if (most < x->n) x->n = most;
    if (r->opt->gate > 0) apply_gate(x, r->opt->gate);
    return most;
}

/* A draft whose id cannot be output is not sent, nor are the drafts after it; they stay proposed and count as wrong.
 * Sampled drafts beyond `most` or below the gate are not sent either, but may be accepted (verify_stochastic.h). */
static void choose_rows(const loop_request *r, loop_round *x, int32_t most)
{
    int32_t depth[GEODEC_DRAFT_MAX];
    const int64_t index = geodec__loop_index(r);
    geodec_tree_depths(x->draft, x->n, depth);
    x->token[0] = r->text[r->n_text - 1];
    x->parent[0] = -1;
    x->sent = 0;
    for (int32_t i = 0; i < x->n; i++) {
        const geodec_draft *d = &x->draft[i];
        x->row[i] = 0;
        if (r->sampled_drafts && (i >= most || d->confidence < r->opt->gate)) continue;
        if (d->token < 0 || d->token >= r->target->n_vocab ||
            geodec_guard_forbids(&r->guard, index + depth[i], d->token))
            continue;
        if (d->parent >= 0 && x->row[d->parent] == 0) continue;
        x->row[i] = ++x->sent;
        x->token[x->sent] = d->token;
        x->parent[x->sent] = d->parent < 0 ? 0 : x->row[d->parent];
    }
    x->chain = true;
    for (int32_t k = 1; k <= x->sent; k++) x->chain = x->chain && x->parent[k] == k - 1;
}

geodec_status geodec__loop_draft(loop_request *r, loop_round *x, geodec_err *err)
{
    int32_t most = 0;
    x->n = x->proposed = 0;
    r->time.start = -1;
    r->time.asked_before = r->time.asking;
    r->time.asking = 0;
    const int32_t want = drafts_to_ask(r);
    if (want > 0) {
        GEODEC_PASS(ask(r, x, want, err));
        most = choose_length(r, x);
    }
    choose_rows(r, x, most);
    return GEODEC_OK;
}
