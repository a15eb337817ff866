#include "session/resident_price.h"

#include "base/clock.h"
#include "base/mem.h"
#include "session/model_internal.h"

#include <math.h>
#include <string.h>

static const double SAME = 0.5;       /* first guess: share of a token's experts that its next row uses too */
static const double SAME_STEP = 0.02; /* weight of the newest row in their moving averages */
static const double MEAN_STEP = 0.1;  /* of the newest pass in the mean of its width */
enum {
    TOKENS = 1024, /* whose routes are kept; tokens of equal remainder replace each other */
    FEW = 17,      /* rows of a pass from which times are learned */
    SEEN = 4,      /* passes before prices are given */
    EXPERTS = 1 << 15
};

/* Experts of a layer that no row uses yet: expert e with probability all x weight[e]. */
typedef struct unused {
    double all, sum; /* of the weights */
    float *weight;   /* [n_expert] */
} unused;

struct geodec__resident_price {
    geodec_price_fit fit;
    double began;
    int32_t *token; /* [TOKENS] 1 + the token, 0: none */
    int16_t *route; /* [TOKENS][n_layer][n_expert_used] of its last row */
    double *same;   /* [n_layer] */
    unused *layer;  /* [n_layer] */
    float *weight;  /* owns their weights */
    bool *used;     /* [n_expert] */
    int32_t asked;  /* rows of the newest question; 0: answered by a pass */
    double expected[GEODEC_PRICE_ROWS];
    double mean[GEODEC_PRICE_ROWS]; /* distinct experts expected of the passes of i + 1 rows that were made */
};

static bool routed(const geodec_session *s, int32_t layer)
{
    return layer < s->n_blocks && s->model->layer[layer].router.data;
}

static geodec_status create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    int32_t layers = 0;
    GEODEC_NEW(s->resident_price, 1);
    struct geodec__resident_price *p = s->resident_price;
    GEODEC_NEW_EACH(TOKENS, p->token);
    GEODEC_NEW(p->route, (int64_t)TOKENS * c->n_layer * c->n_expert_used);
    GEODEC_NEW_EACH(c->n_layer, p->same, p->layer);
    GEODEC_NEW(p->weight, (int64_t)c->n_layer * c->n_expert);
    GEODEC_NEW(p->used, c->n_expert);
    for (int32_t l = 0; l < c->n_layer; l++) {
        p->same[l] = SAME;
        p->layer[l].weight = p->weight + (int64_t)l * c->n_expert;
        layers += routed(s, l);
    }
    geodec_price_begin(&p->fit, (double)layers * c->n_expert_used);
    /* equal probabilities, until a pass of this width was made */
    for (int32_t i = 0; i < GEODEC_PRICE_ROWS; i++)
        p->mean[i] = (double)layers * c->n_expert * (1 - pow(1 - (double)c->n_expert_used / c->n_expert, i + 1));
done:
    if (st != GEODEC_OK) geodec__resident_price_destroy(s);
    return st;
}

void geodec_resident_price_follow(geodec_session *s)
{
    const geodec_model_config *c = &s->model->config;
    geodec_err err = {0};
    bool any = false;
    /* integers have no timed passes */
    for (int32_t l = 0; l < c->n_layer && !s->engine; l++) any = any || routed(s, l);
    geodec__resident_price_destroy(s);
    if (s->model->streamed || !any || c->n_expert > EXPERTS || c->n_expert_used >= c->n_expert) return;
    (void)create(s, &err); /* without memory there are no prices */
}

void geodec__resident_price_destroy(geodec_session *s)
{
    struct geodec__resident_price *p = s->resident_price;
    if (!p) return;
    GEODEC_FREE(p->token, p->route, p->same, p->layer, p->weight, p->used, p);
    s->resident_price = NULL;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static const int32_t *experts_of(const geodec_session *s, int64_t row, int32_t layer)
{
    const geodec_model_config *c = &s->model->config;
    return s->expert_id + (row * c->n_layer + layer) * c->n_expert_used;
}

/* The place of a token's route. */
static int16_t *route_of(const geodec_session *s, int64_t place, int32_t layer)
{
    const geodec_model_config *c = &s->model->config;
    return s->resident_price->route + (place * c->n_layer + layer) * c->n_expert_used;
}

static int64_t distinct(const geodec_session *s, int32_t n)
{
    const geodec_model_config *c = &s->model->config;
    bool *used = s->resident_price->used;
    int64_t count = 0;
    for (int32_t l = 0; l < c->n_layer; l++) {
        if (!routed(s, l)) continue;
        memset(used, 0, (size_t)c->n_expert * sizeof *used);
        for (int64_t r = 0; r < n; r++)
            for (int32_t j = 0; j < c->n_expert_used; j++) {
                bool *u = &used[experts_of(s, r, l)[j]];
                count += !*u;
                *u = true;
            }
    }
    return count;
}

static void remember(geodec_session *s, int64_t row, int32_t token)
{
    struct geodec__resident_price *p = s->resident_price;
    const int32_t k = s->model->config.n_expert_used;
    const int64_t place = token % TOKENS;
    const bool known = p->token[place] == token + 1;
    p->token[place] = token + 1;
    for (int32_t l = 0; l < s->model->config.n_layer; l++) {
        if (!routed(s, l)) continue;
        const int32_t *now = experts_of(s, row, l);
        int16_t *before = route_of(s, place, l);
        int32_t again = 0;
        for (int32_t i = 0; known && i < k * k; i++) again += before[i / k] == now[i % k];
        if (known) p->same[l] += SAME_STEP * ((double)again / k - p->same[l]);
        for (int32_t j = 0; j < k; j++) before[j] = (int16_t)now[j];
    }
}

void geodec__resident_price_begin(geodec_session *s) { s->resident_price->began = geodec_clock_seconds(); }

void geodec__resident_price_end(geodec_session *s, const geodec_batch *b)
{
    struct geodec__resident_price *p = s->resident_price;
    const double seconds = geodec_clock_seconds() - p->began;
    if (b->n <= FEW) {
        geodec_price_observe(&p->fit, b->n, (double)distinct(s, b->n), seconds);
        if (p->asked >= b->n) p->mean[b->n - 1] += MEAN_STEP * (p->expected[b->n - 1] - p->mean[b->n - 1]);
        p->asked = 0;
    }
    for (int32_t r = 0; r < b->n; r++) remember(s, r, b->token[r]);
}

/* ---- a question -------------------------------------------------------------------------------------------------- */

/* One more row: returns the expected number of experts that it is the first to use. */
static double add_row(geodec_session *s, int32_t token)
{
    const struct geodec__resident_price *p = s->resident_price;
    const geodec_model_config *c = &s->model->config;
    const int32_t k = c->n_expert_used, others = c->n_expert - k;
    const int64_t place = token % TOKENS;
    const bool known = p->token[place] == token + 1;
    double first = 0;
    for (int32_t l = 0; l < c->n_layer; l++) {
        unused *u = &p->layer[l];
        if (!routed(s, l)) continue;
        const double same = fmin(p->same[l], 0.99), rest = known ? (1 - same) * k / others : (double)k / c->n_expert;
        const int16_t *e = route_of(s, place, l);
        first += u->all * rest * u->sum;
        for (int32_t j = 0; known && j < k; j++) {
            const double before = (double)u->weight[e[j]];
            u->weight[e[j]] = (float)(before * (1 - same) / (1 - rest));
            first += u->all * (same - rest) * before;
            u->sum += (double)u->weight[e[j]] - before;
        }
        u->all *= 1 - rest;
    }
    return first;
}

bool geodec_resident_price(geodec_session *s, const int32_t *token, int32_t n, geodec_price *out)
{
    struct geodec__resident_price *p = s->resident_price;
    const geodec_model_config *c = &s->model->config;
    if (!p || n < 1 || p->fit.seen < SEEN) return false;
    for (int32_t l = 0; l < c->n_layer; l++) {
        p->layer[l].all = 1;
        p->layer[l].sum = c->n_expert;
        for (int32_t e = 0; e < c->n_expert; e++) p->layer[l].weight[e] = 1;
    }
    const double one = geodec_price_pass(&p->fit, 1, p->fit.unit);
    double experts = 0;
    *out = (geodec_price){.n = n < GEODEC_PRICE_ROWS ? n : GEODEC_PRICE_ROWS, .plain = one, .row = p->fit.row};
    for (int32_t r = 0; r < out->n; r++) {
        experts += add_row(s, token[r]);
        p->expected[r] = experts;
        out->alone[r] = one;
        out->time[r] = geodec_price_pass(&p->fit, r + 1, experts);
        out->mean[r] = geodec_price_pass(&p->fit, r + 1, p->mean[r]);
    }
    p->asked = out->n;
    return true;
}
