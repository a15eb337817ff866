#include "foresight/mixture.h"

#include "base/lanes_internal.h"
#include "base/mem.h"
#include "flowmap/route.h"
#include "foresight/foresight.h"

#include <math.h>
#include <string.h>

enum { BINS = GEODEC_ROUTE_BINS, WEIGHTS = 8, LEAST = 16, STEPS = 32 };
static const float weights[WEIGHTS] = {0.5F, 0.75F, 1, 1.5F, 2, 3, 4, 6};
static const float DOUBT = 0.01F, CLOSE = 1e-3F, FAR = 64;
static const double TINY = 1e-9;

void geodec_mixture_clear(geodec_mixture *m)
{
    GEODEC_FREE(m->weight, m->reliability);
    *m = (geodec_mixture){0};
}

geodec_status geodec_mixture_match(const geodec_flowmap *map, const geodec_model_config *c, geodec_err *err)
{
    const geodec_flowmap_routes *r = &map->routes;
    if (!geodec_flowmap_route_known(map))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "the flow map has no routes; bake it from an export of a model with experts");
    if (r->layers != c->n_layer || r->experts != c->n_expert || r->used != c->n_expert_used || map->d != c->d_model ||
        map->vocab != c->n_vocab)
        GEODEC_FAIL(GEODEC_INVAL, "the flow map is of another model: %lld layers with %lld of %lld experts",
                    (long long)r->layers, (long long)r->used, (long long)r->experts);
    return GEODEC_OK;
}

/* ---- shares ----------------------------------------------------------------------------------------------------- */

/* The lanes of n values; those after the last value are zero. */
static inline geodec__lanes at(const float *x, int64_t n, int64_t i) { return geodec__lanes_load(x + i, n - i); }

static void odds(int64_t n, float weight, const float *early, const float *logit, float *x)
{
    const geodec__lanes none = {0}, one = geodec__lanes_of(1), least = geodec__lanes_of(-60);
    geodec__lanes most = geodec__lanes_of(logit[0]);
    for (int64_t i = 0; i + GEODEC__LANES <= n; i += GEODEC__LANES) most = geodec__lanes_max(at(logit, n, i), most);
    float top = geodec__lanes_top(most);
    for (int64_t i = n - n % GEODEC__LANES; i < n; i++) top = logit[i] > top ? logit[i] : top;
    for (int64_t i = 0; i < n; i += GEODEC__LANES) {
        const geodec__lanes p = geodec__lanes_min(geodec__lanes_max(at(early, n, i), none), one);
        /* no smaller than e^-60, so that nothing becomes 0 */
        const geodec__lanes late = geodec__lanes_max((at(logit, n, i) - top) * weight, least);
        geodec__lanes_store(geodec__lanes_exp(geodec__lanes_min(late, none)) * ((p + DOUBT) / (1 - p + DOUBT)), x + i,
                            n - i);
    }
}

/* The largest value below `limit`, and how many equal it. */
static float largest_below(int64_t n, const float *x, float limit, int64_t *equal)
{
    geodec__lanes most = {0};
    geodec__lanes_int count = {0};
    for (int64_t i = 0; i < n; i += GEODEC__LANES) {
        const geodec__lanes v = at(x, n, i);
        most = geodec__lanes_max(geodec__lanes_choose(v < limit, v, (geodec__lanes){0}), most);
        count -= v == limit;
    }
    *equal = (count[0] + count[1]) + (count[2] + count[3]);
    return geodec__lanes_top(most);
}

/* Geometric mean of the used-th largest value and the next one: with this t, their shares are at both sides of 1/2. */
static float guess(int64_t n, int64_t used, const float *x)
{
    int64_t above = 0, equal;
    for (float last = largest_below(n, x, INFINITY, &equal), next;; last = next) {
        next = largest_below(n, x, last, &equal);
        above += equal;
        if (above == used) return sqrtf(last) * sqrtf(next);
        if (above > used || equal == 0) return last;
    }
}

/* x_e -> x_e / (x_e + t) with the t at which they sum to `used`: Newton's steps in log t. As no share of the first
 * `used` is below 1/2 at the guess, and no other one above, the first step is within -2 .. 2. */
static void normalise(int64_t n, int64_t used, float *x)
{
    float t = guess(n, used, x);
    for (int step = 0; step < STEPS; step++) {
        geodec__lanes sum = {0}, slope = {0};
        for (int64_t i = 0; i < n; i += GEODEC__LANES) {
            const geodec__lanes v = at(x, n, i), p = v / (v + t);
            sum += p;
            slope += p * (1 - p);
        }
        const float by = (geodec__lanes_sum(sum) - (float)used) / geodec__lanes_sum(slope), size = fabsf(by);
        if (!(size <= FAR)) break;
        const float factor = (1 + 0.5F * size) * (1 + 0.5F * size); /* e^size, nearly */
        t = by > 0 ? t * factor : t / factor;
        if (size < CLOSE) break;
    }
    for (int64_t i = 0; i < n; i += GEODEC__LANES) {
        const geodec__lanes v = at(x, n, i);
        geodec__lanes_store(v / (v + t), x + i, n - i);
    }
}

void geodec_mixture_shares(int64_t experts, int64_t used, float weight, const float *early, const float *logit,
                           float *out)
{
    if (used < experts) {
        odds(experts, weight, early, logit, out);
        normalise(experts, used, out);
        return;
    }
    for (int64_t e = 0; e < experts; e++) out[e] = 1;
}

void geodec_mixture_apply(const geodec_mixture *m, geodec_routes_stream stream, int64_t layer, int64_t experts,
                          int64_t used, const float *early, const float *logit, float *out)
{
    const int64_t at = m ? ((int64_t)stream - GEODEC_ROUTES_BLOCK) * m->layers + layer : 0;
    geodec_mixture_shares(experts, used, m ? m->weight[at] : 1, early, logit, out);
    if (m) geodec_flowmap_route_scale(m->reliability + at * BINS, experts, out, out);
    for (int64_t e = 0; !m && e < experts; e++) out[e] = fminf(out[e], 1);
}

/* ---- the fit ---------------------------------------------------------------------------------------------------- */

/* Counts of shares and of used experts by bin, for each mixture, layer and weight. */
typedef struct fit {
    const geodec_model_config *c;
    int64_t *seen, *right; /* [MIXTURES][layers][WEIGHTS][BINS] */
    float *early, *share;
    int64_t positions;
} fit;

static void add_layer(fit *f, int64_t cell, const float *early, const float *logit, const int32_t *expert)
{
    const geodec_model_config *c = f->c;
    for (int w = 0; w < WEIGHTS; w++) {
        int64_t *seen = f->seen + (cell * WEIGHTS + w) * BINS, *right = f->right + (cell * WEIGHTS + w) * BINS;
        geodec_mixture_shares(c->n_expert, c->n_expert_used, weights[w], early, logit, f->share);
        for (int32_t e = 0; e < c->n_expert; e++) seen[geodec_flowmap_route_bin(f->share[e])]++;
        for (int32_t k = 0; k < c->n_expert_used; k++) {
            if (expert[k] >= 0 && expert[k] < c->n_expert) right[geodec_flowmap_route_bin(f->share[expert[k]])]++;
        }
    }
}

static void add_window(fit *f, geodec_foresight *early, const geodec_routes *w)
{
    const geodec_model_config *c = f->c;
    geodec_foresight_begin(early);
    for (int64_t i = 1; i < w->n; i++, f->positions++) {
        geodec_foresight_observe(early, w->token[i - 1], w->state + (i - 1) * c->d_model);
        geodec_foresight_ask(early, w->token[i], true, f->early);
        for (int64_t m = 0; m < GEODEC_MIXTURES; m++)
            for (int64_t l = 0; l < c->n_layer; l++)
                add_layer(f, m * c->n_layer + l, f->early + l * c->n_expert,
                          w->logit[GEODEC_ROUTES_BLOCK + m] + (i * c->n_layer + l) * c->n_expert,
                          w->expert + (i * c->n_layer + l) * c->n_expert_used);
    }
}

static geodec_status finish(const fit *f, geodec_mixture *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t cells = (int64_t)GEODEC_MIXTURES * f->c->n_layer;
    out->layers = f->c->n_layer;
    out->positions = f->positions;
    GEODEC_NEW(out->weight, cells);
    GEODEC_NEW(out->reliability, cells * BINS);
    for (int64_t i = 0; i < cells; i++) {
        double most = -INFINITY;
        for (int64_t w = 0; w < WEIGHTS; w++) {
            const int64_t *seen = f->seen + (i * WEIGHTS + w) * BINS, *right = f->right + (i * WEIGHTS + w) * BINS;
            float scale[BINS];
            double likelihood = 0;
            geodec_flowmap_route_fit(seen, right, scale);
            for (int b = 0; b < BINS; b++)
                likelihood += (double)right[b] * log((double)scale[b] + TINY) +
                              (double)(seen[b] - right[b]) * log(1 - (double)scale[b] + TINY);
            if (likelihood <= most) continue;
            most = likelihood;
            out->weight[i] = weights[w];
            memcpy(out->reliability + i * BINS, scale, sizeof scale);
        }
    }
done:
    return st;
}

geodec_status geodec_mixture_fit(geodec_routes_recorder *r, const geodec_model_config *c, const geodec_flowmap *map,
                                 const geodec_hooks *hooks, geodec_mixture *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t cells = (int64_t)GEODEC_MIXTURES * c->n_layer * WEIGHTS;
    fit f = {.c = c};
    geodec_foresight *early = NULL;
    geodec_mixture mixture = {0};
    const geodec_routes *w;
    GEODEC_TRY(geodec_mixture_match(map, c, err));
    GEODEC_TRY(geodec_foresight_create(map, NULL, &early, err));
    GEODEC_NEW_EACH(cells * BINS, f.seen, f.right);
    GEODEC_NEW(f.early, (int64_t)c->n_layer * c->n_expert);
    GEODEC_NEW(f.share, c->n_expert);
    for (;;) {
        GEODEC_TRY(geodec_routes_next(r, &w, err));
        if (!w) break;
        add_window(&f, early, w);
        GEODEC_TRY(geodec_hooks_progress(hooks, "weights of the mixtures", f.positions, 0, err));
    }
    if (f.positions < LEAST)
        GEODEC_THROW(GEODEC_SCARCE, "%lld positions for the weights of mixtures; at least %d are needed",
                     (long long)f.positions, LEAST);
    GEODEC_TRY(finish(&f, &mixture, err));
    *out = mixture;
    mixture = (geodec_mixture){0};
done:
    geodec_mixture_clear(&mixture);
    geodec_foresight_destroy(early);
    GEODEC_FREE(f.seen, f.right, f.early, f.share);
    return st;
}
