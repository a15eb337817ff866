#include "decode/gamma.h"

#include <math.h>

/* Before anything is known: optimistic enough to try. */
static const double PRIOR = 0.7;
static const double DECAY = 0.9;
/* Drafts that cost less than this share of a pass are made in any case: their confidences tell more than an average. */
static const double FREE = 0.02;
enum { PROBE_EVERY = 16 };

void geodec_gamma_init(geodec_gamma *g, int32_t max, const geodec_cost *cost)
{
    *g = (geodec_gamma){.max = max, .probe_every = PROBE_EVERY, .cost = *cost};
    for (int i = 0; i < GEODEC_DRAFT_SOURCES_MAX; i++) g->accepted[i] = g->claimed[i] = PRIOR;
}

/* The length of the best expected rate when every draft has the chance alpha. */
static int32_t best_length(const geodec_gamma *g, double alpha, int32_t top)
{
    int32_t best = 0;
    double rate = geodec_predict_speedup(&g->cost, 1, 0);
    for (int32_t gamma = 1; gamma <= top; gamma++) {
        const double r = geodec_predict_speedup(&g->cost, geodec_predict_tokens(alpha, gamma), gamma);
        if (r > rate) {
            rate = r;
            best = gamma;
        }
    }
    return best;
}

int32_t geodec_gamma_ask(geodec_gamma *g, int32_t room)
{
    double alpha = 0;
    int64_t seen = 0;
    const int32_t top = room < g->max ? room : g->max;
    for (int i = 0; i < GEODEC_DRAFT_SOURCES_MAX; i++) {
        if (g->seen[i] > 0) alpha = fmax(alpha, g->accepted[i]);
        seen += g->seen[i];
    }
    if (top * g->cost.c <= FREE)
        g->asked = top;
    else
        g->asked = g->gain < 0 ? 0 : best_length(g, seen > 0 ? alpha : PRIOR, top);
    if (g->asked == 0 && top > 0 && g->idle >= g->probe_every) g->asked = 1;
    if (g->asked == 0) g->idle++;
    return g->asked;
}

int32_t geodec_gamma_send(geodec_gamma *g, const geodec_draft *draft, int32_t n)
{
    int32_t best = 0;
    double tokens = 1, chance[GEODEC_DRAFT_MAX]; /* of the path down to a draft */
    const double plain = geodec_cost_pass(&g->cost, 1) + g->cost.o;
    double rate = 1 / plain, gain = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t s = draft[i].source;
        /* The ratio is bounded: a few unlucky outcomes must not silence a source for good. */
        const double ratio = fmin(fmax(g->accepted[s] / fmax(g->claimed[s], 0.05), 0.2), 2.0);
        chance[i] = fmin(draft[i].confidence * ratio, 0.98) * (draft[i].parent < 0 ? 1 : chance[draft[i].parent]);
        tokens += chance[i];
        const double cost = geodec_cost_pass(&g->cost, i + 2) + g->cost.o; /* the drafts are paid for already */
        if (tokens / cost > rate) {
            rate = tokens / cost;
            gain = tokens - cost / plain;
            best = i + 1;
        }
    }
    gain -= g->asked * g->cost.c / plain;
    /* A probe that pays ends the pause at once. */
    g->gain = g->gain < 0 && gain > 0 ? gain : DECAY * g->gain + (1 - DECAY) * gain;
    if (best == 0 && n > 0 && g->idle >= g->probe_every) best = 1;
    g->idle = best == 0 ? g->idle + 1 : 0;
    return best;
}

void geodec_gamma_learn(geodec_gamma *g, const geodec_draft *draft, int accepted)
{
    const int32_t s = draft->source;
    g->accepted[s] = DECAY * g->accepted[s] + (1 - DECAY) * (accepted != 0);
    g->claimed[s] = DECAY * g->claimed[s] + (1 - DECAY) * draft->confidence;
    g->seen[s]++;
}
