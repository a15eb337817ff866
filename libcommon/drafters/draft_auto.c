#include "drafters/draft_auto.h"

#include "base/mem.h"
#include "decode/gamma.h"

#include <math.h>
#include <string.h>

/* Rows kept for sleepers; one that wants states and missed more than it may start again with starts with those. */
enum { KEEP = 2 * (GEODEC_DRAFT_MAX + 1), RESTART = 16 };
enum { BURST = 4, SOON = 16, SELDOM = 4096 }; /* rounds: of a trial; between trials */
static const double DEAR = 2;                 /* passes that end a trial early */
static const double PRICE = 60e-6;            /* seconds a trial, of an arm that was never asked */
static const double ROW = 4e-6;               /* seconds that a row of state takes its reader, roughly */
static const double TRIALS = 0.003;           /* share of the time that trials may take, all together, */
static const double OF_GAINS = 0.0015;        /* and more for every pass that drafting is ahead */
static const double PURSE = 0.5;              /* passes for trials in the beginning */
static const double PURSE_MOST = 8;
static const double DECAY = 0.95;   /* of the sums of claims and outcomes, a draft */
static const double PRIOR = 4;      /* claims that an arm is trusted for */
static const double STEP = 0.1;     /* of the moving averages, a round */
static const double SIBLINGS = 0.2; /* least chance of a second row above which trees are not asked for */

/* What was learned of an arm. */
typedef struct standing {
    double accepted, claimed; /* decaying sums over judged drafts */
    double asking;            /* passes an ask, moving average; < 0: not measured */
    double lead;              /* passes a round over the arm that drafts, moving average over pairs */
    int64_t pairs, asked;
    int64_t due;     /* round of the next trial */
    double patience; /* doubles with every trial that changes nothing */
    double price;    /* passes of the last trial; < 0: there was none */
} standing;

typedef struct arm {
    geodec_drafter *drafter;
    bool trees_only;
    standing is;
    int32_t burst; /* rounds left of the trial under way */
    double spent;  /* passes in this trial */
    bool woken;    /* by the ask under way: it also reads up, and its time is not that of others */
    bool stale;    /* it has not begun this text */
    int64_t shown; /* rows */
    /* The last proposal, until the text has judged it. */
    int64_t from; /* text length it was made at; 0 = none */
    int32_t n;
    double worth; /* passes won by its best prefix, asking paid */
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
    const char *source_name[GEODEC_AUTO_MAX];
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

/* Is it never to miss a row? Who drafts, is on trial or learns; and who reads no states, for whom rows are cheap. */
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

/* What the best prefix of a proposal wins, in passes; without times, in tokens. */
static double worth(const arm *x, const geodec_gamma *pace)
{
    double chance[GEODEC_DRAFT_MAX], tokens = 1, best = 0;
    const double trust = fmin(fmax((x->is.accepted + PRIOR) / (x->is.claimed + PRIOR), 0.1), 2);
    const double plain = pace ? geodec_gamma_pass(pace, 1) + pace->cost.o_plain : 1;
    for (int32_t i = 0; i < x->n; i++) {
        const int32_t parent = x->draft[i].parent;
        chance[i] = fmin(x->draft[i].confidence * trust, 0.98) * (parent < 0 ? 1 : chance[parent]);
        tokens += chance[i];
        const double time = pace ? geodec_gamma_pass(pace, i + 2) + pace->cost.o : 1;
        best = fmax(best, tokens * plain - time);
    }
    return best - (pace && x->is.asking > 0 ? x->is.asking : 0);
}

static geodec_status ask(scheduler *s, int32_t a, const geodec_draft_request *request, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    arm *x = &s->arm[a];
    const geodec_gamma *pace = request->pace;
    const double unit = pace ? pace->cost.seconds * pace->slow : 0;
    const bool timed = unit > 0 && request->clock;
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
    for (int32_t i = 0; i < x->n; i++) x->draft[i].source = a;
    x->from = request->n_context;
    if (timed) {
        const double end = request->clock(), c = (end - awake) / unit;
        if (x->is.asking < 0)
            x->is.asking = 0.3 * c; /* cold tables, and what it reads up */
        else if (!x->woken)
            x->is.asking +=
                fmax(STEP, 1 / (1 + (double)++x->is.asked)) * (fmin(c, 3 * x->is.asking + 0.02) - x->is.asking);
        if (a != s->active) {
            x->spent += (end - start) / unit;
            if (q.trial) *q.trial += end - start;
        }
    }
    x->worth = worth(x, pace);
done:
    return st;
}

/* The sleeper whose trial is under way or due, -1 = none. */
static int32_t on_trial(const scheduler *s, const geodec_draft_request *q)
{
    int32_t due = -1;
    for (int32_t a = 0; a < s->n; a++) {
        const arm *x = &s->arm[a];
        if (a == s->active || (x->trees_only && q->budget == 0)) continue;
        if (x->burst > 0) return a;
        const double unit = q->pace ? q->pace->cost.seconds * q->pace->slow : 0;
        if (unit > 0 && s->purse < fmin(x->is.price < 0 ? PRICE / unit : x->is.price, PURSE_MOST)) continue;
        if (s->round >= x->is.due && (due < 0 || x->is.due < s->arm[due].is.due)) due = a;
    }
    return due;
}

/* After a round of both: who drafts from now on, and when this sleeper is tried again. */
static void compare(scheduler *s, int32_t a)
{
    arm *x = &s->arm[a], *leader = &s->arm[s->active];
    const double step = fmax(1 / (double)++x->is.pairs, STEP);
    x->is.lead += step * (x->worth - leader->worth - x->is.lead);
    if (--x->burst > 0 && x->spent < DEAR) return;
    x->burst = 0;
    s->purse -= x->spent;
    x->is.price = x->is.price < 0 ? x->spent : 0.5 * (x->is.price + x->spent);
    x->is.due = s->round + SOON + (int64_t)fmin(x->is.patience * x->spent / TRIALS, SELDOM);
    x->is.patience = fmin(2 * x->is.patience, 16);
    if (x->is.lead <= 0) return;
    const double lead = x->is.lead;
    for (int32_t b = 0; b < s->n; b++) s->arm[b].is.lead -= lead; /* against the new one */
    leader->is.pairs = x->is.pairs;
    leader->is.due = s->round + SOON;
    leader->is.patience = x->is.patience = 1;
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
    const int32_t other = on_trial(s, q);
    const arm *best = &s->arm[s->active];
    if (other >= 0) {
        arm *x = &s->arm[other];
        if (x->burst == 0) x->spent = 0;
        GEODEC_TRY(ask(s, other, q, err));
        if (x->burst == 0) x->burst = BURST;
        /* both are paid for */
        const double mine = x->worth + fmax(x->is.asking, 0), theirs = best->worth + fmax(best->is.asking, 0);
        if (mine > theirs) best = x;
        compare(s, other);
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

geodec_status geodec_auto_drafter_create(int32_t n, geodec_drafter *const *part, const bool *trees_only,
                                         int32_t d_state, geodec_drafter **out, geodec_err *err)
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
    s->d_state = wants ? d_state : 0;
    if (wants) GEODEC_NEW(s->state, (int64_t)KEEP * d_state);
    s->ops = (geodec_drafter_ops){.name = "auto",
                                  .wants_state = wants,
                                  .learns = learns,
                                  .plans = true,
                                  .n_sources = n,
                                  .source_name = s->source_name,
                                  .begin = auto_begin,
                                  .observe = auto_observe,
                                  .propose = auto_propose,
                                  .destroy = auto_destroy};
    s->n = n;
    for (int32_t a = 0; a < n; a++) {
        s->arm[a].drafter = part[a];
        s->arm[a].trees_only = trees_only[a];
        s->source_name[a] = part[a]->ops->name;
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
