#include "decode/gamma.h"

#include <math.h>

static const double PRIOR = 0.7;
static const double DECAY = 0.95;
static const double STEP = 0.1;    /* of the moving averages of times */
static const double OUTLIER = 3;   /* times are cut to so much above or below what is expected: the machine does other
                                      things too */
static const double START = 0.8;   /* credit in the beginning, passes */
static const double SHARE = 0.005; /* earned with every token in the beginning, and once drafting has paid */
static const double BACK_OFF = 0.8, SHARE_LEAST = 0.0015; /* after a wake in vain */
static const double WAKE = 1;    /* credit at which a drafter that backed off is tried again: enough for several rounds,
                                    since one round says little */
static const double WAKING = 8;  /* the first wake counts for so much at most: the machine does other things too */
static const double CAME = 0.4;  /* weight of the tokens that came against those expected, which vary less */
static const double CREDIT = 8;  /* at most */
static const double SLACK = 0.7; /* of the least chances: the exact choice is made among the drafts that are there */
static const double SLOW_STEP = 0.5;
static const double GAIN = 0.03;  /* that drafts must promise at least: of many choices some look good by accident */
static const double FIRST = 0.25; /* passes that the first ask counts for at most: the next ones tell */
enum { LOOK_AHEAD = 4, REFRESH = 8, FRESH = 12 };

void geodec_gamma_init(geodec_gamma *g, int32_t max, const geodec_cost *cost)
{
    *g = (geodec_gamma){.max = max, .cost = *cost, .slow = 1, .wide = 1, .asking = -1, .credit = START, .share = SHARE};
    for (int i = 0; i < GEODEC_DRAFT_SOURCES_MAX; i++) g->accepted[i] = g->claimed[i] = PRIOR;
}

double geodec_gamma_pass(const geodec_gamma *g, int32_t b)
{
    const double factor = b == 1 ? 1 : b <= GEODEC_DRAFT_MAX + 1 && g->width[b] > 0 ? g->width[b] : g->wide;
    return geodec_cost_pass(&g->cost, b) * factor;
}

static double towards(double average, double x) { return average + STEP * (x - average); }

static double plain_round(const geodec_gamma *g) { return geodec_gamma_pass(g, 1) + g->cost.o_plain; }

/* Bounded: a few unlucky outcomes must not silence a source for good. */
static double trust(const geodec_gamma *g, int32_t source)
{
    return fmin(fmax(g->accepted[source] / fmax(g->claimed[source], 0.05), 0.2), 2.0);
}

/* One more row pays if its chance over its time is above the rate without it. A pass may widen in steps: its time is
 * that of the cheapest of the next few rows. */
static void set_least(geodec_gamma *g)
{
    double most = 1;
    for (int32_t s = 0; s < GEODEC_DRAFT_SOURCES_MAX; s++)
        if (g->seen[s] > 0) most = fmax(most, trust(g, s));
    const double rate = SLACK * fmax(g->rate, 1 / plain_round(g)) / most;
    for (int32_t i = 0; i < g->max; i++) {
        const double now = geodec_gamma_pass(g, i + 1);
        double step = INFINITY;
        for (int32_t k = 1; k <= LOOK_AHEAD; k++) step = fmin(step, (geodec_gamma_pass(g, i + 1 + k) - now) / k);
        g->least[i] = fmin(fmax(rate * (step + 0.5 * g->cost.c), 0), 0.9);
    }
}

/* Credit below which the drafter is not asked. */
static double threshold(const geodec_gamma *g) { return g->asleep ? WAKE + g->waking : 0; }

int64_t geodec_gamma_nap(const geodec_gamma *g)
{
    const double lacking = threshold(g) - g->credit;
    return g->asleep && lacking > 0 ? (int64_t)ceil(fmin(lacking / g->share, 1e9)) : 0;
}

int32_t geodec_gamma_ask(geodec_gamma *g, int32_t room)
{
    const int32_t top = room < g->max ? room : g->max;
    const bool slept = g->asleep;
    g->asleep = g->credit <= threshold(g);
    if (g->asleep && !slept) g->share = fmax(BACK_OFF * g->share, SHARE_LEAST);
    g->asked = g->asleep ? 0 : top;
    g->expected = 1;
    if (g->asked > 0 && g->asks++ % REFRESH == 0) set_least(g);
    return g->asked;
}

int32_t geodec_gamma_send(geodec_gamma *g, const geodec_draft *draft, int32_t n)
{
    int32_t best = 0;
    double tokens = 1, chance[GEODEC_DRAFT_MAX]; /* of the path down to a draft */
    double rate = (1 + GAIN) / plain_round(g);
    for (int32_t i = 0; i < n; i++) {
        chance[i] = fmin(draft[i].confidence * trust(g, draft[i].source), 0.98) *
                    (draft[i].parent < 0 ? 1 : chance[draft[i].parent]);
        tokens += chance[i];
        const double time = geodec_gamma_pass(g, i + 2) + g->cost.o; /* the drafts are paid for already */
        if (tokens / time > rate) {
            rate = tokens / time;
            best = i + 1;
            g->expected = tokens;
        }
    }
    return best;
}

void geodec_gamma_learn(geodec_gamma *g, const geodec_draft *draft, int accepted)
{
    const int32_t s = draft->source;
    g->accepted[s] = DECAY * g->accepted[s] + (1 - DECAY) * (accepted != 0);
    g->claimed[s] = DECAY * g->claimed[s] + (1 - DECAY) * draft->confidence;
    g->seen[s]++;
}

void geodec_gamma_times(geodec_gamma *g, int32_t sent, double asking, double pass, double rest)
{
    const double due = geodec_gamma_pass(g, sent + 1);
    if (!(due > 0)) return;
    const double slow = fmin(fmax(pass / due, g->slow / OUTLIER), g->slow * OUTLIER);
    if (sent == 0) { /* the pace is that of narrow passes; wide ones carry it on where those are rare */
        g->narrow = g->rounds;
        g->slow += SLOW_STEP * (slow - g->slow);
    } else if (g->rounds - g->narrow <= FRESH) {
        const double off = slow / g->slow - 1;
        double *w = &g->width[sent + 1];
        if (!(*w > 0)) *w = g->wide;
        /* The given v is of a few passes: it counts for as much as one that was met. */
        *w *= 1 + fmax(STEP, 1 / (2 + (double)g->met[sent + 1]++)) * off;
        g->wide *= 1 + 0.5 * fmax(STEP, 1 / (2 + (double)g->met[0]++)) * off;
    } else {
        g->slow = towards(g->slow, slow);
    }
    asking /= g->slow;
    rest /= g->slow;
    double *other = asking > 0 ? &g->cost.o : &g->cost.o_plain;
    *other = *other > 0 ? towards(*other, fmin(rest, OUTLIER * *other)) : fmin(rest, 1);
    if (!(asking > 0)) return;
    /* The first ask finds cold tables: it counts as one of many. */
    if (g->asking < 0)
        g->asking = fmin(0.4 * asking, FIRST);
    else
        g->asking += fmax(STEP, 1 / (1 + (double)g->timed)) * (fmin(asking, OUTLIER * g->asking + 0.02) - g->asking);
    g->timed++;
}

void geodec_gamma_slept(geodec_gamma *g, int64_t tokens)
{
    g->rounds += tokens;
    g->credit = fmin(g->credit + g->share * (double)tokens, CREDIT);
}

void geodec_gamma_woken(geodec_gamma *g, double time)
{
    const double price = fmin(time / g->slow, g->waking > 0 ? OUTLIER * g->waking + WAKE : WAKING);
    g->credit -= price;
    g->waking = g->waking > 0 ? 0.5 * (g->waking + price) : price;
}

void geodec_gamma_settle(geodec_gamma *g, int32_t sent, int64_t tokens)
{
    g->rounds++;
    g->credit += g->share * (double)tokens;
    if (g->asked > 0) {
        const double plain = plain_round(g), ask = g->asking < 0 ? g->asked * g->cost.c : g->asking;
        const double time = ask + geodec_gamma_pass(g, sent + 1) + g->cost.o;
        g->credit += (CAME * (double)tokens + (1 - CAME) * g->expected) * plain - time;
        g->rate = g->rate > 0 ? towards(g->rate, (double)tokens / time) : 1 / plain;
        if (g->asking >= 0 && sent > 0)
            g->cost.c = g->cost.c > 0 ? towards(g->cost.c, g->asking / sent) : g->asking / sent;
    }
    if (g->credit > START) g->share = SHARE;
    g->credit = fmin(g->credit, CREDIT);
}
