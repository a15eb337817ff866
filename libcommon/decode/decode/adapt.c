#include "decode/adapt.h"

#include <math.h>

/* Constants of the budget. Where drafting does not pay, they limit its cost to about 1 % of the time. Together they
 * keep all medians of docs/results/speed.md above 0.98 of plain decoding, and a test checks a limit of 2 % at 36
 * settings. The individual values were chosen, not measured. The tests `decisions` check the effect of each. */
static const double START = 0.8;          /* initial budget in passes: one first ask with cold caches */
static const double SHARE = 0.005;        /* initial share, and the share once drafting has paid */
static const double SHARE_DECAY = 0.8;    /* factor on the share at each back-off, until the budget is above START
                                             again */
static const double SHARE_LEAST = 0.0015; /* lower bound of the share; not reached, as RETRY is above START */
static const double RETRY = 1;            /* passes in the budget before the next ask: enough for several, because
                                             rounds vary */
static const double RESUME_MOST = 8;      /* upper limit, in passes, of the cost of the first resuming */
static const double RESUME_OUTLIER = 3; /* upper limit of later ones, in multiples of the expectation and of RETRY: the
                                           machine may be busy */
static const double CAME = 0.4;         /* weight of the counted tokens; the expected ones vary less */
/* Constants of the draft length. GAIN was measured with tests/bench/auto.sh (docs/results/speed.md, "The scheduler
 * against the best of its drafters"); the others were chosen. */
static const double PRIOR = 0.7;                       /* initial averages of accepted and claimed */
static const double DECAY = 0.95;                      /* their weight after one more draft: about the last twenty
                                                          drafts count */
static const double TRUST_LEAST = 0.2, TRUST_MOST = 2; /* bounds: a few outcomes must not exclude a source for good */
static const double CLAIMED_LEAST = 0.05;              /* lower bound of the divisor */
static const double PROBABILITY_MOST = 0.98;           /* upper bound of a draft's probability: none is certain */
static const double GAIN = 0.03;        /* minimum expected gain: the best of several noisy estimates is too high */
static const double SLACK = 0.7;        /* factor on the minimum path probabilities: the exact choice is made later */
static const double LEAST_MOST = 0.9;   /* their upper limit */
static const double ASK_PART = 0.5;     /* share of a draft's asking cost in them: the rest is spent in any case */
static const double STEP = 0.1;         /* decay of the moving averages of rates and costs, per round */
static const double LOST_FIRST = 0.3;   /* bytes that may be lost at first, in plain tokens */
static const double LOST_SHARE = 0.005; /* bytes that may be lost, as a share of those of use */
static const double LOST_LEAST = 0.05;  /* below it, in plain tokens, the drafter is not asked: nothing would be sent */
static const double LOST_PART = 0.5;    /* of what a rejected row reads: the rest is used by later tokens (measured) */
enum { LOOK_AHEAD = 4 };                /* rows: the cost of a pass may rise in steps, so the cheapest row counts */
enum { REFRESH = 8 };                   /* asks between two computations of the minimum path probabilities */

void geodec_adapt_init(geodec_adapt *a, int32_t max, const geodec_cost *cost)
{
    *a = (geodec_adapt){.max = max, .budget = START, .share = SHARE};
    geodec_pace_init(&a->pace, cost);
    for (int i = 0; i < GEODEC_DRAFT_SOURCES_MAX; i++) a->accepted[i] = a->claimed[i] = PRIOR;
}

static double towards(double average, double x) { return average + STEP * (x - average); }

void geodec_adapt_earn(double *budget, double passes) { *budget = fmin(*budget + passes, GEODEC_ADAPT_BUDGET_MOST); }

double geodec_adapt_expected_cost(double before, double paid) { return before > 0 ? 0.5 * (before + paid) : paid; }

/* ---- length ------------------------------------------------------------------------------------------------------ */

static double trust_of(const geodec_adapt *a, int32_t source)
{
    return fmin(fmax(a->accepted[source] / fmax(a->claimed[source], CLAIMED_LEAST), TRUST_LEAST), TRUST_MOST);
}

/* Another row pays if its probability divided by its time exceeds the rate without it. Its time is the lowest among the
 * next few rows. */
static void set_least(geodec_adapt *a)
{
    double most = 1;
    for (int32_t s = 0; s < GEODEC_DRAFT_SOURCES_MAX; s++)
        if (a->seen[s] > 0) most = fmax(most, trust_of(a, s));
    const double rate = SLACK * fmax(a->rate, 1 / geodec_pace_plain(&a->pace)) / most;
    for (int32_t i = 0; i < a->max; i++) {
        const double now = geodec_pace_pass(&a->pace, i + 1);
        double step = INFINITY;
        for (int32_t k = 1; k <= LOOK_AHEAD; k++) step = fmin(step, (geodec_pace_pass(&a->pace, i + 1 + k) - now) / k);
        if (a->row > 0) step = fmin(step, a->row);
        a->least[i] = fmin(fmax(rate * (step + ASK_PART * a->pace.cost.c), 0), LEAST_MOST);
    }
}

/* Probability of the path to draft i; path [i] has those of the drafts before it. */
static double path_of(const geodec_draft *draft, int32_t i, double trust, const double *path)
{
    return fmin(draft[i].confidence * trust, PROBABILITY_MOST) * (draft[i].parent < 0 ? 1 : path[draft[i].parent]);
}

/* Time of a pass of the newest token and n drafts, relative to a mean pass of this width. */
static double share_of(const geodec_price *price, int32_t n)
{
    return price && n < price->n && price->mean[n] > 0 ? price->time[n] / price->mean[n] : 1;
}

geodec_adapt_prefix geodec_adapt_best(const geodec_pace *pace, const geodec_price *price, const geodec_draft *draft,
                                      int32_t n, const double *trust, double gain)
{
    geodec_adapt_prefix best = {.tokens = 1, .time = geodec_pace_plain(pace)};
    double tokens = 1, path[GEODEC_DRAFT_MAX]; /* probability of the path to each draft */
    double rate = (1 + gain) / best.time;
    for (int32_t i = 0; i < n; i++) {
        path[i] = path_of(draft, i, trust[i], path);
        tokens += path[i];
        const double time = geodec_pace_round(pace, i + 1) * share_of(price, i + 1);
        if (tokens / time <= rate) continue;
        rate = tokens / time;
        best = (geodec_adapt_prefix){i + 1, tokens, time};
    }
    return best;
}

geodec_adapt_prefix geodec_adapt_best_priced(const geodec_price *price, const geodec_draft *draft, int32_t n,
                                             const double *trust, double gain, double most_lost)
{
    geodec_adapt_prefix best = {.tokens = price->alone[0] / price->plain, .time = price->time[0] / price->plain};
    double work = best.tokens, lost = 0, path[GEODEC_DRAFT_MAX];
    double rate = (1 + gain) * work / best.time;
    for (int32_t i = 0; i < n && i + 1 < price->n; i++) {
        path[i] = path_of(draft, i, trust[i], path);
        work += path[i] * price->alone[i + 1] / price->plain;
        lost += LOST_PART * (1 - path[i]) * price->bytes[i + 1];
        if (lost > most_lost) break;
        const double time = price->time[i + 1] / price->plain;
        if (work / time <= rate) continue;
        rate = work / time;
        best = (geodec_adapt_prefix){i + 1, work, time};
    }
    return best;
}

/* geodec_adapt_send_priced by the timed passes of each width, where nothing is read. */
static int32_t send_resident(geodec_adapt *a, const geodec_price *price, const geodec_draft *draft, int32_t n)
{
    double trust[GEODEC_DRAFT_MAX];
    for (int32_t i = 0; i < n; i++) trust[i] = trust_of(a, draft[i].source);
    const geodec_adapt_prefix best = geodec_adapt_best(&a->pace, price, draft, n, trust, GAIN);
    a->expected = best.tokens;
    a->first = a->each = 1;
    a->time = geodec_pace_pass(&a->pace, best.n + 1) * share_of(price, best.n);
    return best.n;
}

int32_t geodec_adapt_send_priced(geodec_adapt *a, const geodec_price *price, const geodec_draft *draft, int32_t n)
{
    double trust[GEODEC_DRAFT_MAX];
    if (price->mean[0] > 0) return send_resident(a, price, draft, n);
    if (!(price->plain > 0) || !(price->time[0] > 0) || !(price->alone[0] > 0)) return geodec_adapt_send(a, draft, n);
    for (int32_t i = 0; i < n; i++) trust[i] = trust_of(a, draft[i].source);
    a->lost = 0;
    const double most_lost = LOST_FIRST * price->token + LOST_SHARE * price->useful - price->wasted;
    const geodec_adapt_prefix best = geodec_adapt_best_priced(price, draft, n, trust, GAIN, most_lost);
    if (price->token > 0) a->lost = most_lost / price->token - LOST_LEAST;
    const double row = price->row / price->plain;
    a->row = a->row > 0 ? towards(a->row, row) : row;
    a->expected = best.tokens;
    a->time = best.time;
    a->first = price->alone[0] / price->plain;
    a->each = 0;
    for (int32_t i = 1; i <= best.n; i++) a->each += price->alone[i] / price->plain / best.n;
    return best.n;
}

int32_t geodec_adapt_send(geodec_adapt *a, const geodec_draft *draft, int32_t n)
{
    double trust[GEODEC_DRAFT_MAX];
    for (int32_t i = 0; i < n; i++) trust[i] = trust_of(a, draft[i].source);
    const geodec_adapt_prefix best = geodec_adapt_best(&a->pace, NULL, draft, n, trust, GAIN);
    a->expected = best.tokens;
    return best.n;
}

void geodec_adapt_learn(geodec_adapt *a, const geodec_draft *draft, bool accepted)
{
    const int32_t s = draft->source;
    a->accepted[s] = DECAY * a->accepted[s] + (1 - DECAY) * accepted;
    a->claimed[s] = DECAY * a->claimed[s] + (1 - DECAY) * draft->confidence;
    a->seen[s]++;
}

/* ---- budget and back-off ----------------------------------------------------------------------------------------- */

/* The drafter is not asked below this budget. */
static double threshold(const geodec_adapt *a) { return a->backed_off ? RETRY + a->resume : 0; }

bool geodec_adapt_begin(geodec_adapt *a)
{
    a->asked = 0;
    if (a->suspended == 0) return false;
    if (--a->suspended == 0)
        geodec_adapt_end_suspension(a);
    else
        a->skipped++;
    return a->suspended > 0;
}

int32_t geodec_adapt_ask(geodec_adapt *a, int32_t room)
{
    const bool before = a->backed_off;
    a->backed_off = a->budget <= threshold(a);
    if (a->backed_off && !before) a->share = fmax(SHARE_DECAY * a->share, SHARE_LEAST);
    a->asked = a->backed_off || a->lost < 0 ? 0 : room < a->max ? room : a->max;
    a->expected = 1;
    a->time = 0;
    if (a->asked > 0 && a->asks++ % REFRESH == 0) set_least(a);
    return a->asked;
}

void geodec_adapt_settle(geodec_adapt *a, int32_t sent, int64_t tokens)
{
    geodec_cost *cost = &a->pace.cost;
    double won = 0;
    a->pace.rounds++;
    if (a->asked > 0) {
        const double plain = geodec_pace_plain(&a->pace), asking = a->pace.asking.mean;
        const bool priced = a->time > 0;
        const double pass = priced ? a->time : geodec_pace_pass(&a->pace, sent + 1);
        const double came = priced ? a->first + a->each * (double)(tokens - 1) : (double)tokens;
        const double time = (asking < 0 ? a->asked * cost->c : asking) + pass + cost->o;
        won = (CAME * came + (1 - CAME) * a->expected) * plain - time;
        a->rate = a->rate > 0 ? towards(a->rate, (double)tokens / time) : 1 / plain;
        if (asking >= 0 && sent > 0) cost->c = cost->c > 0 ? towards(cost->c, asking / sent) : asking / sent;
    }
    a->budget += a->share * (double)tokens;
    if (a->lost < 0) a->lost += LOST_SHARE * (double)tokens;
    geodec_adapt_earn(&a->budget, won);
    if (a->budget > START) a->share = SHARE;
}

int64_t geodec_adapt_wait(const geodec_adapt *a)
{
    const double lacking = threshold(a) - a->budget;
    return a->backed_off && lacking > 0 ? (int64_t)ceil(fmin(lacking / a->share, 1e9)) : 0;
}

void geodec_adapt_suspend(geodec_adapt *a, int64_t notice)
{
    const int64_t rounds = geodec_adapt_wait(a) - notice;
    a->suspended = rounds > 0 ? rounds : 0;
    a->skipped = a->suspended > 0;
}

/* Each skipped round gave one token. */
void geodec_adapt_end_suspension(geodec_adapt *a)
{
    a->pace.rounds += a->skipped;
    geodec_adapt_earn(&a->budget, a->share * (double)a->skipped);
    a->suspended = a->skipped = 0;
}

void geodec_adapt_resumed(geodec_adapt *a, double time)
{
    const double most = a->resume > 0 ? RESUME_OUTLIER * a->resume + RETRY : RESUME_MOST;
    const double paid = fmin(time / a->pace.slow, most);
    a->budget -= paid;
    a->resume = geodec_adapt_expected_cost(a->resume, paid);
}
