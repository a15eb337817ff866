#include "drafters/auto_drafter.h"

#include "base/mem.h"
#include "decode/gamma.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rows kept for sleepers; one that wants states and missed more than it may start again with starts with those. */
enum { KEEP = 2 * (GEODEC_DRAFT_MAX + 1), RESTART = 16 };
enum { NAME_ROOM = 32 };                      /* of a source's name: "ngram:store-1" */
enum { BURST = 4, SOON = 16, SELDOM = 4096 }; /* rounds: of a trial; between trials */
enum { OFTEN = 8, SOMETIMES = 4 };            /* asks of an arm that are timed; of the later ones, one of so many */
static const double DEAR = 2;                 /* passes that end a trial early */
static const double PRICE = 15e-6;            /* seconds an ask, of an arm of which nothing is known */
static const double COLD = 3;                 /* asks that the first trial takes, roughly: tables are cold */
static const double HOPED = 0.9;              /* acceptance that an arm must pay at to be tried at all */
static const double ROW = 4e-6;               /* seconds that a row of state takes its reader, roughly */
static const double TRIALS = 0.003;           /* share of the time that trials may take, all together, */
static const double OF_GAINS = 0.0005;        /* and more for every pass that drafting is ahead */
static const double PURSE = 0.5;              /* passes for trials in the beginning */
static const double PURSE_MOST = 8;
static const double DECAY = 0.95;     /* of the sums of claims and outcomes, a draft */
static const double PRIOR = 4;        /* claims that an arm is trusted for */
static const double STEP = 0.1;       /* of the moving averages, a round */
static const double SLOW_STEP = 0.05; /* of the sums of an arm's rounds */
static const double MARGIN = 1;       /* standard errors by which a lead must be above nothing */
enum { SURE = 4, PAIRS_MOST = 16 };   /* pairs before there is a change; pairs that a standard error is of, at most */
static const double SIBLINGS = 0.2;   /* least chance of a second row above which trees are not asked for */

/* What was learned of an arm. */
typedef struct standing {
    double accepted, claimed; /* decaying sums over judged drafts */
    double asking;            /* passes an ask, moving average; < 0: not measured */
    double tokens, time;      /* expected a round, asking included: moving averages */
    double lead, spread;      /* passes a round over the arm that drafts: moving average over pairs, and variance */
    int64_t pairs, asked;
    int64_t due;     /* round of the next trial */
    double patience; /* doubles with every trial that changes nothing */
    double price;    /* passes of the last trial; < 0: there was none */
} standing;

typedef struct arm {
    geodec_drafter *drafter;
    bool trees_only;
    int32_t source; /* of its first source among the scheduler's; `one`: all its drafts are of that one */
    bool one;
    standing is;
    int32_t burst; /* rounds left of the trial under way */
    double price;  /* seconds an ask, roughly, before it is known */
    double spent;  /* passes in this trial */
    bool woken;    /* by the ask under way: it also reads up, and its time is not that of others */
    bool stale;    /* it has not begun this text */
    int64_t shown; /* rows */
    /* The last proposal, until the text has judged it. */
    int64_t from; /* text length it was made at; 0 = none */
    int32_t n;
    double tokens, time; /* expected of a round that sends its best prefix; without asking */
    geodec_draft draft[GEODEC_DRAFT_MAX];
} arm;

/* All that goes on from text to text. */
typedef struct memory {
    int32_t active;
    int64_t round;
    double purse; /* passes that trials may take */
    standing arm[GEODEC_AUTO_MAX];
} memory;

typedef struct scheduler {
    geodec_drafter base;
    geodec_drafter_ops ops; /* its own: as its arms are */
    int32_t n, d_state, active;
    arm arm[GEODEC_AUTO_MAX];
    int64_t round;
    int64_t restart; /* rows that a sleeper of states starts again with */
    double purse;    /* passes that trials may take */
    int64_t paid;    /* text length up to which it was filled */
    bool begun;      /* it was asked since begin */
    bool paced;      /* what it knows now it learned with times; */
    memory timed;    /* else this */
    /* The last rows, in a ring by row number. */
    int64_t rows;
    int32_t token[KEEP], argmax[KEEP];
    float *state; /* [KEEP][d_state] */
    const char *source_name[GEODEC_DRAFT_SOURCES_MAX];
    char name[GEODEC_DRAFT_SOURCES_MAX][NAME_ROOM]; /* that they point to */
} scheduler;

/* An arm's text begins, at this row of what was shown here. */
static geodec_status start(arm *x, int64_t row, geodec_err *err)
{
    x->shown = row;
    x->stale = false;
    return geodec_drafter_begin(x->drafter, err);
}

/* What was learned of times and arms is kept from text to text where there are times; see propose. */
static geodec_status auto_begin(geodec_drafter *base, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    scheduler *s = (scheduler *)base;
    s->begun = false;
    s->rows = s->paid = 0;
    for (int32_t a = 0; a < s->n; a++) {
        s->arm[a].shown = s->arm[a].from = 0;
        s->arm[a].burst = 0;
        s->arm[a].stale = true;
        if (s->arm[a].drafter->ops->learns) GEODEC_TRY(start(&s->arm[a], 0, err)); /* ends the text before */
    }
done:
    return st;
}

/* Must this drafter see every row? Yes if it drafts, is being tried or learns, or if it reads no states, which makes a
 * row cheap. */
static bool follows(const scheduler *s, const arm *x)
{
    return x == &s->arm[s->active] || x->burst > 0 || !x->drafter->ops->wants_state || x->drafter->ops->learns;
}

/* Shows an arm what it missed, or, after a long sleep, the end of it as a text of its own. */
static geodec_status wake(scheduler *s, arm *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    x->woken = x->burst == 0 && x != &s->arm[s->active];
    const int64_t most =
        follows(s, x) ? KEEP : s->restart; /* who has only now become the one that drafts missed some */
    if (s->rows - x->shown > most)
        GEODEC_TRY(start(x, s->rows - s->restart, err));
    else if (x->stale)
        GEODEC_TRY(start(x, 0, err));
    while (x->shown < s->rows) { /* in runs that do not wrap */
        const int64_t at = x->shown % KEEP, left = s->rows - x->shown, run = left < KEEP - at ? left : KEEP - at;
        const geodec_draft_rows rows = {.n = run,
                                        .token = s->token + at,
                                        .argmax = s->argmax + at,
                                        .state = s->state ? s->state + at * s->d_state : NULL};
        GEODEC_TRY(geodec_drafter_observe(x->drafter, &rows, err));
        x->shown += run;
    }
done:
    return st;
}

static geodec_status auto_observe(geodec_drafter *base, const geodec_draft_rows *rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    scheduler *s = (scheduler *)base;
    for (int64_t i = 0; i < rows->n; i++, s->rows++) {
        for (int32_t a = 0; a < s->n; a++) { /* before a row is lost */
            arm *x = &s->arm[a];
            if (s->rows - x->shown == KEEP && follows(s, x)) GEODEC_TRY(wake(s, x, err));
        }
        const int64_t at = s->rows % KEEP;
        s->token[at] = rows->token[i];
        s->argmax[at] = rows->argmax ? rows->argmax[i] : -1;
        if (s->state)
            memcpy(s->state + at * s->d_state, rows->state + i * s->d_state, (size_t)s->d_state * sizeof(float));
    }
    for (int32_t a = 0; a < s->n; a++) { /* the prompt is no part of an ask; who learns never waits for one */
        arm *x = &s->arm[a];
        if (x->drafter->ops->learns || (!s->begun && follows(s, x))) GEODEC_TRY(wake(s, x, err));
    }
done:
    return st;
}

/* What the text says about the last proposal. */
static void learn(arm *x, const geodec_draft_request *q)
{
    int64_t depth[GEODEC_DRAFT_MAX];
    bool right[GEODEC_DRAFT_MAX];
    if (x->from == 0) return;
    for (int32_t i = 0; i < x->n; i++) {
        const geodec_draft *d = &x->draft[i];
        depth[i] = d->parent < 0 ? 0 : depth[d->parent] + 1;
        right[i] = false;
        if (x->from + depth[i] >= q->n_context || (d->parent >= 0 && !right[d->parent])) continue;
        right[i] = d->token == q->context[x->from + depth[i]];
        x->is.accepted = DECAY * x->is.accepted + right[i];
        x->is.claimed = DECAY * x->is.claimed + d->confidence;
    }
    x->from = 0;
}

/* Time of a round without drafts, in passes; without times, 1. */
static double plain_time(const geodec_gamma *pace)
{
    return pace ? geodec_gamma_pass(pace, 1) + pace->cost.o_plain : 1;
}

/* Time of a round that sends n drafts, without asking. */
static double round_time(const geodec_gamma *pace, int32_t n)
{
    return pace ? geodec_gamma_pass(pace, n + 1) + pace->cost.o : 1;
}

/* What the best prefix of a proposal promises: the one that geodec_gamma_send would choose. */
static void foresee(arm *x, const geodec_gamma *pace)
{
    double chance[GEODEC_DRAFT_MAX], tokens = 1;
    const double trust = fmin(fmax((x->is.accepted + PRIOR) / (x->is.claimed + PRIOR), 0.1), 2);
    x->tokens = 1;
    x->time = plain_time(pace);
    for (int32_t i = 0; i < x->n; i++) {
        const int32_t parent = x->draft[i].parent;
        chance[i] = fmin(x->draft[i].confidence * trust, 0.98) * (parent < 0 ? 1 : chance[parent]);
        tokens += chance[i];
        const double time = round_time(pace, i + 1);
        if (tokens * x->time <= x->tokens * time) continue;
        x->tokens = tokens;
        x->time = time;
    }
}

static double asking(const arm *x) { return fmax(x->is.asking, 0); }

/* The round's part in the averages of an arm that was asked. */
static void count_round(arm *x)
{
    standing *is = &x->is;
    const double step = is->time > 0 ? SLOW_STEP : 1;
    is->tokens += step * (x->tokens - is->tokens);
    is->time += step * (x->time + asking(x) - is->time);
}

/* Tokens a pass that the arm that drafts gives, and plain decoding at the least: what a pass spent is worth. */
static double rate_now(const scheduler *s, const geodec_gamma *pace)
{
    const standing *is = &s->arm[s->active].is;
    return fmax(1 / plain_time(pace), is->time > 0 ? is->tokens / is->time : 0);
}

static geodec_status ask(scheduler *s, int32_t a, const geodec_draft_request *request, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    arm *x = &s->arm[a];
    const geodec_gamma *pace = request->pace;
    const double unit = pace ? pace->cost.seconds * pace->slow : 0;
    /* Of the arm that drafts, now and then: reading a clock takes its share of a small model's pass. */
    const bool timed =
        unit > 0 && request->clock && (a != s->active || x->is.asked < OFTEN || s->round % SOMETIMES == 0);
    const double start = timed ? request->clock() : 0;
    geodec_draft_request q = *request;
    GEODEC_TRY(wake(s, x, err));
    const double awake = timed ? request->clock() : 0;
    const bool chain = q.budget > 0 && !x->trees_only && pace && q.least && q.least[1] > SIBLINGS;
    if (chain) { /* siblings would hardly be worth their rows */
        q.gamma = q.budget < q.gamma ? q.budget : q.gamma;
        q.budget = 0;
    }
    q.pace = NULL;
    GEODEC_TRY(geodec_drafter_propose(x->drafter, &q, x->draft, &x->n, err));
    for (int32_t i = 0; i < x->n; i++) x->draft[i].source = x->one ? x->source : x->source + x->draft[i].source;
    x->from = request->n_context;
    if (timed) {
        const double end = request->clock(), c = (end - awake) / unit;
        if (x->is.asking < 0)
            x->is.asking = fmin(0.6 * c, 2 * x->price / unit + 0.05); /* cold tables, and what it reads up */
        else if (!x->woken)
            x->is.asking +=
                fmax(STEP, 1 / (1 + (double)++x->is.asked)) * (fmin(c, 3 * x->is.asking + 0.02) - x->is.asking);
        if (a != s->active) {
            x->spent += (end - start) / unit;
            if (q.trial) *q.trial += end - start;
        }
    }
    foresee(x, pace);
done:
    return st;
}

/* An arm whose asking takes so long that it could not lead if hardly a draft of it were wrong. */
static bool hopeless(const scheduler *s, const arm *x, const geodec_draft_request *q)
{
    const double unit = q->pace ? q->pace->cost.seconds * q->pace->slow : 0;
    if (!(unit > 0)) return false;
    const double each = x->is.asking < 0 ? x->price / unit : x->is.asking, least = rate_now(s, q->pace);
    const int32_t most = q->budget > 0 && q->budget < q->gamma ? q->budget : q->gamma;
    double tokens = 1, chance = 1;
    for (int32_t i = 1; i <= most; i++) {
        tokens += chance *= HOPED;
        if (tokens > least * (round_time(q->pace, i) + each)) return false;
    }
    return true;
}

/* The sleeper whose trial is under way or due, -1 = none. */
static int32_t on_trial(const scheduler *s, const geodec_draft_request *q)
{
    int32_t due = -1;
    const double unit = q->pace ? q->pace->cost.seconds * q->pace->slow : 0;
    for (int32_t a = 0; a < s->n; a++) {
        const arm *x = &s->arm[a];
        if (a == s->active || (x->trees_only && q->budget == 0)) continue;
        if (x->burst > 0) return a;
        if (unit > 0 && s->purse < fmin(x->is.price < 0 ? COLD * x->price / unit : x->is.price, PURSE_MOST)) continue;
        if (s->round < x->is.due || (due >= 0 && x->is.due >= s->arm[due].is.due)) continue;
        if (!hopeless(s, x, q)) due = a;
    }
    return due;
}

/* Standard error of an arm's lead. */
static double doubt(const standing *is)
{
    return sqrt(is->spread / (double)(is->pairs < PAIRS_MOST ? is->pairs : PAIRS_MOST));
}

/* After a round of both: who drafts from now on, and when this sleeper is tried again. Rounds of more tokens are
 * longer: what counts is the tokens that come over those the arm that drafts would give in that time. */
static void compare(scheduler *s, int32_t a, const geodec_gamma *pace)
{
    arm *x = &s->arm[a], *leader = &s->arm[s->active];
    standing *is = &x->is;
    const double step = fmax(1 / (double)++is->pairs, STEP);
    const double gap = (x->tokens - leader->tokens) / rate_now(s, pace) -
                       (x->time + asking(x) - leader->time - asking(leader)),
                 off = gap - is->lead;
    is->lead += step * off;
    is->spread = (1 - step) * (is->spread + step * off * off);
    if (--x->burst > 0 && x->spent < DEAR) return;
    x->burst = 0;
    s->purse -= x->spent;
    is->price = is->price < 0 ? x->spent : 0.5 * (is->price + x->spent);
    is->due = s->round + SOON + (int64_t)fmin(is->patience * x->spent / TRIALS, SELDOM);
    const double error = MARGIN * doubt(is);
    if (is->lead < -error) is->patience = fmin(2 * is->patience, 16);
    if (is->pairs < SURE || is->lead <= error) return;
    const double lead = is->lead;
    for (int32_t b = 0; b < s->n; b++) s->arm[b].is.lead -= lead; /* against the new one */
    leader->is.pairs = is->pairs;
    leader->is.spread = is->spread;
    leader->is.due = s->round + SOON;
    leader->is.patience = is->patience = 1;
    s->active = a;
}

static void forget(scheduler *s)
{
    s->round = 0;
    s->active = 0;
    s->purse = PURSE;
    s->restart = RESTART;
    for (int32_t a = 0; a < s->n; a++) {
        s->arm[a].is = (standing){.asking = -1, .price = -1, .patience = 1, .due = 1 + a};
        s->arm[a].spent = 0;
        s->arm[a].burst = 0;
    }
}

static void keep(const scheduler *s, memory *m)
{
    *m = (memory){.active = s->active, .round = s->round, .purse = s->purse};
    for (int32_t a = 0; a < s->n; a++) m->arm[a] = s->arm[a].is;
}

static void recall(scheduler *s, const memory *m)
{
    s->active = m->active;
    s->round = m->round;
    s->purse = m->purse;
    for (int32_t a = 0; a < s->n; a++) s->arm[a].is = m->arm[a];
}

/* Without times a text's choices are its own; with times, what was learned with times goes on. */
static void recollect(scheduler *s, bool paced)
{
    if (s->paced && !paced) keep(s, &s->timed);
    if (!paced) forget(s);
    if (paced && !s->paced) recall(s, &s->timed);
    s->paced = paced;
}

/* What trials may take: a share of the time, and of what drafting is ahead. */
static void fill_purse(scheduler *s, const geodec_draft_request *q)
{
    if (!q->pace) return;
    const double unit = q->pace->cost.seconds * q->pace->slow, share = TRIALS + OF_GAINS * fmax(q->pace->credit, 0);
    if (s->paid > 0) s->purse = fmin(s->purse + share * (double)(q->n_context - s->paid), PURSE_MOST);
    s->paid = q->n_context;
    s->restart = (int64_t)fmin(fmax(0.5 * unit / ROW, RESTART), KEEP);
}

static geodec_status auto_propose(geodec_drafter *base, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    scheduler *s = (scheduler *)base;
    if (!s->begun) recollect(s, q->pace != NULL);
    s->begun = true;
    s->round++;
    fill_purse(s, q);
    if (s->arm[s->active].trees_only && q->budget == 0) s->active = 0;
    for (int32_t a = 0; a < s->n; a++) learn(&s->arm[a], q);
    GEODEC_TRY(ask(s, s->active, q, err));
    count_round(&s->arm[s->active]);
    const int32_t other = on_trial(s, q);
    const arm *best = &s->arm[s->active];
    if (other >= 0) {
        arm *x = &s->arm[other];
        if (x->burst == 0) x->spent = 0;
        GEODEC_TRY(ask(s, other, q, err));
        if (x->burst == 0) x->burst = BURST;
        const double least = rate_now(s, q->pace); /* both are paid for */
        if (x->tokens - least * x->time > best->tokens - least * best->time) best = x;
        count_round(x);
        compare(s, other, q->pace);
    }
    *n = best->n;
    memcpy(out, best->draft, (size_t)best->n * sizeof *out);
    /* a chain in the place of a tree has its parents from propose */
done:
    return st;
}

static void auto_destroy(geodec_drafter *base)
{
    scheduler *s = (scheduler *)base;
    for (int32_t a = 0; a < s->n; a++) geodec_drafter_destroy(s->arm[a].drafter);
    geodec_mem_free(s->state);
    geodec_mem_free(s);
}

/* The sources of all arms, one behind the other: what an arm claims is trusted source by source (decode/gamma.h), as
 * when it drafts alone. An arm whose sources find no room is one source. Returns how many there are. */
static int32_t lay_sources(scheduler *s, int32_t n, geodec_drafter *const *part)
{
    int32_t count = 0;
    for (int32_t a = 0; a < n; a++) {
        const geodec_drafter_ops *ops = part[a]->ops;
        arm *x = &s->arm[a];
        x->source = count;
        x->one = ops->n_sources > GEODEC_DRAFT_SOURCES_MAX - count - (n - 1 - a);
        for (int32_t k = 0; k < (x->one ? 1 : ops->n_sources); k++, count++) {
            (void)snprintf(s->name[count], NAME_ROOM, "%s%s%s", ops->name, x->one ? "" : ":",
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
    scheduler *s = NULL;
    bool wants = false, learns = false;
    if (n < 1 || n > GEODEC_AUTO_MAX) GEODEC_THROW(GEODEC_INVAL, "a scheduler over %d drafters", n);
    for (int32_t a = 0; a < n; a++) {
        if (!part[a] || part[a]->ops->distribution || part[a]->ops->wants_top || trees_only[0])
            GEODEC_THROW(GEODEC_INVAL, "drafter %s cannot be scheduled so", geodec_drafter_name(part[a]));
        wants |= part[a]->ops->wants_state;
        learns |= part[a]->ops->learns;
    }
    if (wants && d_state < 1) GEODEC_THROW(GEODEC_INVAL, "states of %d numbers", d_state);
    GEODEC_NEW(s, 1);
    const int32_t n_sources = lay_sources(s, n, part);
    s->d_state = wants ? d_state : 0;
    if (wants) GEODEC_NEW(s->state, (int64_t)KEEP * d_state);
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
        s->arm[a].drafter = part[a];
        s->arm[a].trees_only = trees_only[a];
        s->arm[a].price = price ? price[a] : PRICE;
    }
    forget(s);
    keep(s, &s->timed);
    s->base.ops = &s->ops;
    *out = &s->base;
    return st;
done:
    if (s) geodec_mem_free(s->state);
    geodec_mem_free(s);
    for (int32_t a = 0; a < n && a < GEODEC_AUTO_MAX; a++) geodec_drafter_destroy(part[a]);
    return st;
}
