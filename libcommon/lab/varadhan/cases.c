#include "lab/varadhan/cases.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "lab/harness/names.h"

#include <string.h>

typedef struct report {
    geodec_varadhan_options o;
    int64_t n_cases, heads;
    const geodec_varadhan_case *c; /* [n_cases] */
    double *head;                  /* [n_cases][heads][FORMS][DIRECTIONS] */
    const char *cases, *split;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_varadhan_case, m)

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the states: input of the block whose attention is examined", 0,
     OF(layer)},
    {"/queries", GEODEC_I64, "C", 0, "1", "rows of held-out texts whose gradients are taken", 0, OF(figures.queries)},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0, OF(figures.texts)},
    {"/counted", GEODEC_I64, "C,F,D", 0, "1", "queries that have the direction", 0, OF(figures.counted[0][0])},
    {"/cosine", GEODEC_F64, "C,2,F,D,3", 0, "1",
     "mean cosine of gradient and direction: every head by itself, all heads together; value and 95 % bootstrap "
     "interval over texts (0 where counted is 0)",
     0, OF(figures.cosine[0][0][0].value)},
    {"/excess", GEODEC_F64, "C,2,F,D,3", 0, "1",
     "the same for the cosine of log minus that of the direction, at queries that have both", 0,
     OF(figures.excess[0][0][0].value)},
    {"/head", GEODEC_F64, "C,H,F,D", 0, "1", "mean cosine of each head", 0, GEODEC_AT(report, head)},
    {"/inside", GEODEC_F64, "C,F", 0, "1",
     "mean share of the gradient's squared length in the chart, all heads together", 0, OF(inside[0])},
    {"/weight", GEODEC_F64, "C", 0, "1", "mean attention weight of the key, all heads together", 0, OF(weight)},
    {"/planted", GEODEC_I64, "C", 0, "1", "control: queries with a planted gradient, of -d(x, a)^2 / 2", 0,
     OF(figures.planted)},
    {"/planted_cosine", GEODEC_F64, "C,3", 0, "1", "control: its mean cosine with log; 1 where it is right", 0,
     OF(figures.planted_cosine.value)},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: metric, layer, keys, joined by ':' and separated by commas",
     IN(cases)},
    {"forms", GEODEC_ATTR_STR, 0, "names along F, separated by commas", GEODEC_TEXT("weight,score,pair")},
    {"directions", GEODEC_ATTR_STR, 0, "names along D, separated by commas", GEODEC_LIST(geodec_varadhan_names)},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics", IN(o.rtol)},
    {"drift_max", GEODEC_ATTR_F64, 0, "relative change of g(v,v) at which a geodesic counts as broken",
     IN(o.drift_max)},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap", IN(o.replicates)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};

static const geodec_extent extents[] = {{"C", IN(n_cases)},
                                        {"H", IN(heads)},
                                        {"F", .plus = GEODEC_VARADHAN_FORMS},
                                        {"D", .plus = GEODEC_VARADHAN_DIRECTIONS}};

const geodec_kind geodec_varadhan_kind = {
    .name = "varadhan",
    .major = 1,
    .minor = 1,
    .tool = "geodec-varadhan",
    .purpose = "gradients of attention weights compared with logarithm maps towards the keys, with controls",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_varadhan_case), offsetof(report, c), false},
    .first = "/layer,/queries,/texts,/planted",
};

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

geodec_status geodec_varadhan_cases_write(const geodec_varadhan_cases *s, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const int64_t each = (s->columns - 1) * GEODEC_VARADHAN_FORMS * GEODEC_VARADHAN_DIRECTIONS;
    report r = {s->o, s->n_cases, s->columns - 1, s->cases, NULL, text, geodec_split_name(s->charts.units.by_document)};
    GEODEC_NEW(r.head, s->n_cases * each);
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_varadhan_case *c = s->cases + i;
        if (each > 0) memcpy(r.head + i * each, c->figures.head, (size_t)each * sizeof *r.head);
        GEODEC_TRY(geodec_names_add(text, err, "%s:%d:%s", c->metric, (int)c->layer, c->keys));
    }
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    geodec_mem_free(r.head);
    return st;
}
