#include "lab/varadhan/cases.h"

#include "base/mem.h"

static geodec_status one_case(geodec_varadhan_cases *s, const geodec_harness_charted *c, int32_t layer,
                              const geodec_harness_sites *f, const char *metric, bool near, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_varadhan_asked g = {0};
    const geodec_varadhan_source source = {.states = &s->charts.source,
                                           .split = &s->split,
                                           .queries = s->n_queries,
                                           .seed = s->o.seed,
                                           .hooks = s->charts.hooks};
    if (s->n_cases == GEODEC_VARADHAN_CASES)
        GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_VARADHAN_CASES);
    geodec_varadhan_case *k = s->cases + s->n_cases;
    *k = (geodec_varadhan_case){.metric = metric, .keys = near ? "near" : "any", .layer = layer};
    GEODEC_TRY(geodec_varadhan_ask(&source, c, layer, near, &g, err));
    const geodec_varadhan_queries q = {.queries = g.count,
                                       .n = c->n,
                                       .columns = s->columns,
                                       .text = g.text,
                                       .state = g.state,
                                       .gradient = g.gradient,
                                       .along = g.along};
    GEODEC_TRY(geodec_varadhan_run(&q, f, &s->split, &s->o, s->charts.pool, s->charts.hooks, &k->figures, err));
    s->n_cases++;
    for (int64_t i = 0; i < g.count; i++) {
        const int64_t together = i * s->columns + s->columns - 1;
        for (int form = 0; form < GEODEC_VARADHAN_FORMS; form++)
            k->inside[form] += g.inside[together * GEODEC_VARADHAN_FORMS + form] / (double)g.count;
        k->weight += g.weight[together] / (double)g.count;
    }
done:
    geodec_varadhan_asked_clear(&g);
    return st;
}

geodec_status geodec_varadhan_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                        const geodec_harness_sites *f, const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_varadhan_cases *s = ctx;
    const int32_t layer = s->charts.layer[index];
    if (layer >= s->charts.n_layer) GEODEC_THROW(GEODEC_RANGE, "layer %d: no block attends after the last", layer);
    if (s->any) GEODEC_TRY(one_case(s, c, layer, f, metric, false, err));
    if (s->near) GEODEC_TRY(one_case(s, c, layer, f, metric, true, err));
done:
    return st;
}

void geodec_varadhan_cases_say(const geodec_hooks *hooks, const geodec_varadhan_cases *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_varadhan_case *k = s->cases + i;
        const geodec_varadhan *v = &k->figures;
        const geodec_estimate *pair = v->cosine[0][2], x = v->excess[0][2][GEODEC_VARADHAN_EUCLID];
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%s layer %d, %s keys: cosine of the gradient (pair of keys): log %.3f [%.3f, %.3f], chord %.3f, Euclidean "
            "%.3f (log %+.3f [%.3f, %.3f]), whole stream %.3f, shuffled %.3f, random %.3f; other keys %.3f / %.3f / "
            "%.3f; noise %.3f; of the weight: log %.3f, Euclidean %.3f; found %lld of %lld; planted %.4f",
            k->metric, k->layer, k->keys, pair[GEODEC_VARADHAN_LOG].value, pair[GEODEC_VARADHAN_LOG].low,
            pair[GEODEC_VARADHAN_LOG].high, pair[GEODEC_VARADHAN_CHORD].value, pair[GEODEC_VARADHAN_EUCLID].value,
            x.value, x.low, x.high, pair[GEODEC_VARADHAN_STREAM].value, pair[GEODEC_VARADHAN_SHUFFLED].value,
            pair[GEODEC_VARADHAN_RANDOM].value, pair[GEODEC_VARADHAN_WRONG_LOG].value,
            pair[GEODEC_VARADHAN_WRONG_EUCLID].value, pair[GEODEC_VARADHAN_WRONG_STREAM].value,
            pair[GEODEC_VARADHAN_NOISE].value, v->cosine[0][0][GEODEC_VARADHAN_LOG].value,
            v->cosine[0][0][GEODEC_VARADHAN_EUCLID].value, (long long)v->counted[2][GEODEC_VARADHAN_LOG],
            (long long)v->queries, v->planted_cosine.value);
    }
}
