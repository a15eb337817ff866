#include "drafters/auto_drafter_internal.h"

#include "decode/tree.h"

#include <math.h>

/* FIRST_ASKS, HOPED, OF_GAINS, MARGIN and PAIRS_* were set with tests/bench/auto.sh (docs/results/speed.md, "The
 * scheduler against the best of its drafters"). The others were chosen and were measured only together; the tests
 * `decisions` check the effect of each. */
enum { SOON = 16, SELDOM = 4096 };     /* rounds between trials: the minimum, and the most that their cost adds */
static const double TRIAL_MOST = 2;    /* passes after which a trial ends early */
static const double FIRST_ASKS = 3;    /* approximate cost of the first trial in ordinary asks: caches are cold */
static const double HOPED = 0.9;       /* an arm is tried only if it would pay at this acceptance */
static const double SHARE = 0.003;     /* share of the time that all trials together may take, */
static const double OF_GAINS = 0.0005; /* and the addition for every pass in the loop's budget */
static const double START = 0.5;       /* initial budget for trials, in passes */
static const double INTERVAL_MOST = 16;
static const double DECAY = 0.95; /* decay of the sums of claims and outcomes, per draft: about the last twenty count */
static const double PRIOR = 4;    /* initial sum of confidences of an arm, all accepted */
static const double TRUST_LEAST = 0.1, TRUST_MOST = 2; /* bounds of accepted over claimed */
static const double STEP = 0.1;                        /* weight of the newest pair in the lead: about the last ten
                                                          count */
static const double SLOW_STEP = 0.05;                  /* weight of the newest round in an arm's averages */
static const double MARGIN = 1;                        /* standard errors by which a lead must exceed 0 */
enum {
    PAIRS_LEAST = 4,
    PAIRS_MOST = 16
};                                      /* pairs needed before a change; most pairs counted in a standard
                                           error */
static const double ROW = 4e-6;         /* approximate seconds to read a row of states */
static const double RESTART_PART = 0.5; /* share of a pass that reading the rows may take when an arm starts again */
enum { RESTART = 16 };                  /* minimum number of these rows */

/* ---- state from text to text ------------------------------------------------------------------------------------ */

void geodec__auto_drafter_forget(auto_scheduler *s)
{
    s->now = (auto_memory){.budget = START};
    s->restart = RESTART;
    for (int32_t a = 0; a < s->n; a++) {
        s->now.arm[a] = (auto_standing){.asking = {.mean = -1}, .interval = 1, .due = 1 + a};
        s->arm[a].spent = 0;
        s->arm[a].trial = 0;
    }
}

void geodec__auto_drafter_recall(auto_scheduler *s, bool timed)
{
    if (s->timed && !timed) s->with_times = s->now;
    if (!timed) geodec__auto_drafter_forget(s);
    if (timed && !s->timed) s->now = s->with_times;
    s->timed = timed;
}

void geodec__auto_drafter_earn(auto_scheduler *s, const geodec_draft_request *q)
{
    if (!q->adapt) return;
    const double share = SHARE + OF_GAINS * fmax(q->adapt->budget, 0);
    if (s->paid > 0) geodec_adapt_earn(&s->now.budget, share * (double)(q->n_context - s->paid));
    s->paid = q->n_context;
    const double rows = RESTART_PART * geodec_pace_seconds(&q->adapt->pace) / ROW;
    s->restart = (int64_t)fmin(fmax(rows, RESTART), GEODEC_REPLAY_ROWS);
}

/* ---- value of an arm -------------------------------------------------------------------------------------------- */

void geodec__auto_drafter_learn(auto_arm *x, const geodec_draft_request *q)
{
    bool reached[GEODEC_DRAFT_MAX], right[GEODEC_DRAFT_MAX];
    if (x->from == 0) return;
    geodec_tree_compare(x->draft, x->n, q->context + x->from, q->n_context - x->from, reached, right);
    for (int32_t i = 0; i < x->n; i++) {
        if (!reached[i]) continue;
        x->is->accepted = DECAY * x->is->accepted + right[i];
        x->is->claimed = DECAY * x->is->claimed + x->draft[i].confidence;
    }
    x->from = 0;
}

void geodec__auto_drafter_foresee(auto_arm *x, const geodec_pace *pace)
{
    double trust[GEODEC_DRAFT_MAX];
    const double ratio = (x->is->accepted + PRIOR) / (x->is->claimed + PRIOR);
    for (int32_t i = 0; i < x->n; i++) trust[i] = fmin(fmax(ratio, TRUST_LEAST), TRUST_MOST);
    const geodec_adapt_prefix best = geodec_adapt_best(pace, NULL, x->draft, x->n, trust, 0);
    x->tokens = best.tokens;
    x->time = best.time;
}

static double asking(const auto_arm *x) { return fmax(x->is->asking.mean, 0); }

void geodec__auto_drafter_count(auto_arm *x)
{
    auto_standing *is = x->is;
    const double step = is->time > 0 ? SLOW_STEP : 1;
    is->tokens += step * (x->tokens - is->tokens);
    is->time += step * (x->time + asking(x) - is->time);
}

double geodec__auto_drafter_rate(const auto_scheduler *s, const geodec_pace *pace)
{
    const auto_standing *is = s->arm[s->now.active].is;
    return fmax(1 / geodec_pace_plain(pace), is->time > 0 ? is->tokens / is->time : 0);
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

/* True for an arm whose asks take so long that it could not lead even if nearly all drafts were right. */
static bool hopeless(const auto_scheduler *s, const auto_arm *x, const geodec_draft_request *q)
{
    const geodec_pace *pace = geodec__auto_drafter_pace(q);
    const double unit = geodec_pace_seconds(pace);
    if (!(unit > 0)) return false;
    const double each = x->is->asking.mean < 0 ? x->price / unit : x->is->asking.mean,
                 least = geodec__auto_drafter_rate(s, pace);
    const int32_t most = q->budget > 0 && q->budget < q->gamma ? q->budget : q->gamma;
    double tokens = 1, path = 1;
    for (int32_t i = 1; i <= most; i++) {
        tokens += path *= HOPED;
        if (tokens > least * (geodec_pace_round(pace, i) + each)) return false;
    }
    return true;
}

/* Passes that the budget must hold before this arm is tried. */
static double trial_cost(const auto_arm *x, double unit)
{
    const double cost = x->is->trial_cost > 0 ? x->is->trial_cost : FIRST_ASKS * x->price / unit;
    return fmin(cost, GEODEC_ADAPT_BUDGET_MOST);
}

int32_t geodec__auto_drafter_on_trial(const auto_scheduler *s, const geodec_draft_request *q)
{
    int32_t due = -1;
    const double unit = geodec_pace_seconds(geodec__auto_drafter_pace(q));
    for (int32_t a = 0; a < s->n; a++) {
        const auto_arm *x = &s->arm[a];
        if (a == s->now.active || (x->trees_only && q->budget == 0)) continue;
        if (x->trial > 0) return a;
        if (unit > 0 && s->now.budget < trial_cost(x, unit)) continue;
        if (s->now.round < x->is->due || (due >= 0 && x->is->due >= s->arm[due].is->due)) continue;
        if (!hopeless(s, x, q)) due = a;
    }
    return due;
}

static double standard_error(const auto_standing *is)
{
    return sqrt(is->spread / (double)(is->pairs < PAIRS_MOST ? is->pairs : PAIRS_MOST));
}

/* Adds one pair of rounds. Rounds with more tokens are longer, so only the tokens beyond those that the active arm
 * would give in that time are counted. */
static void count_pair(const auto_scheduler *s, auto_arm *x, const geodec_pace *pace)
{
    auto_standing *is = x->is;
    const auto_arm *leader = &s->arm[s->now.active];
    const double step = fmax(1 / (double)++is->pairs, STEP);
    const double gap = (x->tokens - leader->tokens) / geodec__auto_drafter_rate(s, pace) -
                       (x->time + asking(x) - leader->time - asking(leader)),
                 off = gap - is->lead;
    is->lead += step * off;
    is->spread = (1 - step) * (is->spread + step * off * off);
}

/* Makes arm a active; leads are measured against it. */
static void change_leader(auto_scheduler *s, int32_t a)
{
    auto_standing *is = s->arm[a].is, *was = s->arm[s->now.active].is;
    const double lead = is->lead;
    for (int32_t b = 0; b < s->n; b++) s->arm[b].is->lead -= lead;
    was->pairs = is->pairs;
    was->spread = is->spread;
    was->due = s->now.round + SOON;
    was->interval = is->interval = 1;
    s->now.active = a;
}

void geodec__auto_drafter_compare(auto_scheduler *s, int32_t a, const geodec_pace *pace)
{
    auto_arm *x = &s->arm[a];
    auto_standing *is = x->is;
    count_pair(s, x, pace);
    if (--x->trial > 0 && x->spent < TRIAL_MOST) return;
    x->trial = 0;
    s->now.budget -= x->spent;
    is->trial_cost = geodec_adapt_expected_cost(is->trial_cost, x->spent);
    is->due = s->now.round + SOON + (int64_t)fmin(is->interval * x->spent / SHARE, SELDOM);
    const double error = MARGIN * standard_error(is);
    if (is->lead < -error) is->interval = fmin(2 * is->interval, INTERVAL_MOST);
    if (is->pairs >= PAIRS_LEAST && is->lead > error) change_leader(s, a);
}
