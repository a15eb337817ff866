#include "base/mem.h"
#include "drafters/auto_drafter_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Asks of the active arm that are timed: the first few, then one in several, because reading the clock takes noticeable
 * time compared with a pass of a small model. */
enum { OFTEN = 8, SOMETIMES = 4 };
static const double PRICE = 15e-6; /* assumed seconds per ask of an unknown arm: about those of the flow map */
/* Limits on the value of the first ask: only a part of it counts, because caches are cold and it processes missed rows;
 * at most a multiple of the given price plus a constant. */
static const double FIRST_SHARE = 0.6, FIRST_PRICES = 2, FIRST_MORE = 0.05;
static const double SIBLINGS = 0.2; /* no trees when a second row needs a higher probability than this: few siblings
                                       pay */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* True if this arm must see every row: it is active, on trial or learns, or it reads no states, so that a row is
 * cheap. */
static bool follows(const auto_scheduler *s, const auto_arm *x)
{
    return x == &s->arm[s->now.active] || x->trial > 0 || !x->drafter->ops->wants_state || x->drafter->ops->learns;
}

/* Shows an arm the rows it missed or, if there are too many, the last ones as a new text. */
static geodec_status catch_up(auto_scheduler *s, auto_arm *x, geodec_err *err)
{
    x->resumed = x->trial == 0 && x != &s->arm[s->now.active];
    /* An arm that starts in the middle of a text is shown all rows that are kept. */
    const int64_t most = follows(s, x) ? GEODEC_REPLAY_ROWS : s->restart;
    return geodec_replay_catch_up(&s->replay, &x->at, x->drafter, most, s->restart, err);
}

/* With times, the learned state of times and arms is kept from text to text; see propose. */
static geodec_status auto_begin(geodec_drafter *base, geodec_err *err)
{
    auto_scheduler *s = (auto_scheduler *)base;
    s->begun = false;
    s->paid = 0;
    geodec_replay_clear(&s->replay);
    for (int32_t a = 0; a < s->n; a++) {
        auto_arm *x = &s->arm[a];
        x->from = 0;
        x->trial = 0;
        x->at = (geodec_replay_place){.stale = true};
        if (x->drafter->ops->learns) GEODEC_PASS(catch_up(s, x, err)); /* ends the previous text */
    }
    return GEODEC_OK;
}

static geodec_status auto_observe(geodec_drafter *base, const geodec_draft_rows *rows, geodec_err *err)
{
    auto_scheduler *s = (auto_scheduler *)base;
    const geodec_replay *r = &s->replay;
    for (int64_t i = 0; i < rows->n; i++) {
        for (int32_t a = 0; a < s->n; a++) { /* before a row is overwritten */
            auto_arm *x = &s->arm[a];
            if (r->n - x->at.shown == GEODEC_REPLAY_ROWS && follows(s, x)) GEODEC_PASS(catch_up(s, x, err));
        }
        geodec_replay_add(&s->replay, rows->token[i], rows->argmax ? rows->argmax[i] : -1,
                          r->state ? rows->state + i * r->d_state : NULL);
    }
    for (int32_t a = 0; a < s->n; a++) { /* the prompt is not part of an ask; an arm that learns is always shown its
                                            rows */
        auto_arm *x = &s->arm[a];
        if (x->drafter->ops->learns || (!s->begun && follows(s, x))) GEODEC_PASS(catch_up(s, x, err));
    }
    return GEODEC_OK;
}

/* ---- asks -------------------------------------------------------------------------------------------------------- */

/* Records the time of an ask in seconds; `all` includes the missed rows. */
static void time_ask(const auto_scheduler *s, auto_arm *x, const geodec_draft_request *q, double seconds, double all)
{
    const double unit = geodec_pace_seconds(geodec__auto_drafter_pace(q)), passes = seconds / unit;
    if (x->is->asking.mean < 0 || !x->resumed)
        geodec_pace_asked(&x->is->asking, passes,
                          fmin(FIRST_SHARE * passes, FIRST_PRICES * x->price / unit + FIRST_MORE));
    if (x == &s->arm[s->now.active]) return;
    x->spent += all / unit;
    if (q->trial_seconds) *q->trial_seconds += all;
}

static geodec_status ask(auto_scheduler *s, auto_arm *x, const geodec_draft_request *request, geodec_err *err)
{
    const geodec_pace *pace = geodec__auto_drafter_pace(request);
    const bool timed = geodec_pace_seconds(pace) > 0 && request->clock &&
                       (x != &s->arm[s->now.active] || x->is->asking.n < OFTEN || s->now.round % SOMETIMES == 0);
    geodec_draft_request q = *request;
    const double start = timed ? request->clock() : 0;
    GEODEC_PASS(catch_up(s, x, err));
    const double shown = timed ? request->clock() : 0;
    if (q.budget > 0 && !x->trees_only && pace && q.least && q.least[1] > SIBLINGS) {
        q.gamma = q.budget < q.gamma ? q.budget : q.gamma;
        q.budget = 0;
    }
    q.adapt = NULL;
    GEODEC_PASS(geodec_drafter_propose(x->drafter, &q, x->draft, &x->n, err));
    for (int32_t i = 0; i < x->n; i++) x->draft[i].source = x->one ? x->source : x->source + x->draft[i].source;
    x->from = request->n_context;
    if (timed) {
        const double end = request->clock();
        time_ask(s, x, request, end - shown, end - start);
    }
    geodec__auto_drafter_foresee(x, pace);
    return GEODEC_OK;
}

/* Asks an arm other than the active one and compares both. *best: the better proposal of the two. */
static geodec_status try_arm(auto_scheduler *s, int32_t a, const geodec_draft_request *q, const auto_arm **best,
                             geodec_err *err)
{
    auto_arm *x = &s->arm[a];
    const geodec_pace *pace = geodec__auto_drafter_pace(q);
    if (x->trial == 0) x->spent = 0;
    GEODEC_PASS(ask(s, x, q, err));
    if (x->trial == 0) x->trial = AUTO_TRIAL;
    const double least = geodec__auto_drafter_rate(s, pace); /* the time of both asks is counted */
    if (x->tokens - least * x->time > (*best)->tokens - least * (*best)->time) *best = x;
    geodec__auto_drafter_count(x);
    geodec__auto_drafter_compare(s, a, pace);
    return GEODEC_OK;
}

static geodec_status auto_propose(geodec_drafter *base, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                  geodec_err *err)
{
    auto_scheduler *s = (auto_scheduler *)base;
    if (!s->begun) geodec__auto_drafter_recall(s, q->adapt != NULL);
    s->begun = true;
    s->now.round++;
    geodec__auto_drafter_earn(s, q);
    if (s->arm[s->now.active].trees_only && q->budget == 0) s->now.active = 0;
    for (int32_t a = 0; a < s->n; a++) geodec__auto_drafter_learn(&s->arm[a], q);
    auto_arm *leader = &s->arm[s->now.active];
    const auto_arm *best = leader;
    GEODEC_PASS(ask(s, leader, q, err));
    geodec__auto_drafter_count(leader);
    const int32_t other = geodec__auto_drafter_on_trial(s, q);
    if (other >= 0) GEODEC_PASS(try_arm(s, other, q, &best, err));
    *n = best->n;
    memcpy(out, best->draft, (size_t)best->n * sizeof *out);
    /* in a chain in place of a tree, propose has set the parents */
    return GEODEC_OK;
}

static void auto_destroy(geodec_drafter *base)
{
    auto_scheduler *s = (auto_scheduler *)base;
    for (int32_t a = 0; a < s->n; a++) geodec_drafter_destroy(s->arm[a].drafter);
    geodec_replay_free(&s->replay);
    geodec_mem_free(s);
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* The sources of all arms, concatenated: the confidences of an arm are corrected source by source (decode/adapt.h), as
 * without a scheduler. An arm whose sources do not fit counts as one source. Returns the number of sources. */
static int32_t lay_sources(auto_scheduler *s, int32_t n, geodec_drafter *const *part)
{
    int32_t count = 0;
    for (int32_t a = 0; a < n; a++) {
        const geodec_drafter_ops *ops = part[a]->ops;
        auto_arm *x = &s->arm[a];
        x->source = count;
        x->one = ops->n_sources > GEODEC_DRAFT_SOURCES_MAX - count - (n - 1 - a);
        for (int32_t k = 0; k < (x->one ? 1 : ops->n_sources); k++, count++) {
            (void)snprintf(s->name[count], AUTO_NAME_ROOM, "%s%s%s", ops->name, x->one ? "" : ":",
                           x->one ? "" : ops->source_name[k]);
            s->source_name[count] = s->name[count];
        }
    }
    return count;
}

geodec_status geodec_auto_drafter_create(int32_t n, geodec_drafter *const *part, const bool *trees_only,
                                         const double *price, int32_t d_state, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    auto_scheduler *s = NULL;
    bool wants = false, learns = false;
    if (n < 1 || n > GEODEC_AUTO_MAX) GEODEC_THROW(GEODEC_INVAL, "a scheduler of %d drafters is not possible", n);
    for (int32_t a = 0; a < n; a++) {
        if (!part[a] || part[a]->ops->distribution || part[a]->ops->wants_top || trees_only[0])
            GEODEC_THROW(GEODEC_INVAL, "drafter %s cannot be an arm of the scheduler", geodec_drafter_name(part[a]));
        wants |= part[a]->ops->wants_state;
        learns |= part[a]->ops->learns;
    }
    if (wants && d_state < 1) GEODEC_THROW(GEODEC_INVAL, "states of %d numbers", d_state);
    GEODEC_NEW(s, 1);
    const int32_t n_sources = lay_sources(s, n, part);
    GEODEC_TRY(geodec_replay_init(&s->replay, wants ? d_state : 0, err));
    s->ops = (geodec_drafter_ops){.name = "auto",
                                  .wants_state = wants,
                                  .learns = learns,
                                  .plans = true,
                                  .n_sources = n_sources,
                                  .source_name = s->source_name,
                                  .begin = auto_begin,
                                  .observe = auto_observe,
                                  .propose = auto_propose,
                                  .destroy = auto_destroy};
    s->n = n;
    for (int32_t a = 0; a < n; a++) {
        s->arm[a].is = &s->now.arm[a];
        s->arm[a].drafter = part[a];
        s->arm[a].trees_only = trees_only[a];
        s->arm[a].price = price ? price[a] : PRICE;
    }
    geodec__auto_drafter_forget(s);
    s->with_times = s->now;
    s->base.ops = &s->ops;
    *out = &s->base;
    return st;
done:
    if (s) geodec_replay_free(&s->replay);
    geodec_mem_free(s);
    for (int32_t a = 0; a < n && a < GEODEC_AUTO_MAX; a++) geodec_drafter_destroy(part[a]);
    return st;
}
