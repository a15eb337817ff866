#include "lab/geodesicity/cases.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "lab/harness/names.h"

typedef struct report {
    geodec_geodesicity_options o;
    int64_t n_cases;
    const geodec_geodesicity_case *c; /* [n_cases] */
    const char *cases, *split;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_geodesicity_case, m)
/* m[..][AHEAD]..: `ahead` of them are saved */
#define AHEAD(m, first)                                                                                                \
    GEODEC_OF_ROWS(NULL, geodec_geodesicity_case, m first, 8, sizeof(((geodec_geodesicity_case *)0)->m[0]))

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the start", 0, OF(layer)},
    {"/place", GEODEC_I64, "C", 0, "1", "number of the start in its path, from 0; -1 = all together", 0,
     OF(figures.place)},
    {"/starts", GEODEC_I64, "C", 0, "1", "starts evaluated, in held-out texts", 0, OF(figures.starts)},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0, OF(figures.texts)},
    {"/training", GEODEC_I64, "C", 0, "1", "starts the regressions are fitted to, in the other texts", 0,
     OF(figures.training)},
    {"/step", GEODEC_F64, "C,2", 0, "activation; 1", "root mean square length of a true step: chart, metric", 0,
     OF(figures.step[0])},
    {"/broken", GEODEC_I64, "C,P", 0, "1", "starts whose prediction one step ahead broke down; left out", 0,
     OF(figures.broken[0])},
    {"/counted", GEODEC_I64, "C,P,M", 0, "1", "starts that count", 0, AHEAD(figures.counted, [0][0])},
    {"/error", GEODEC_F64, "C,P,M,2,3", 0, "1",
     "sum of |predicted - true| m = 1..M steps ahead over sum of |true step|, in the chart and in the metric at the "
     "true "
     "state: value and 95 % bootstrap interval over texts (0 where counted is 0)",
     0, AHEAD(figures.error, [0][0][0].value)},
    {"/difference", GEODEC_F64, "C,P,M,2,3", 0, "1",
     "the same for the error minus the straight line's at the same starts (geodesic_fitted: minus line_fitted's)", 0,
     AHEAD(figures.difference, [0][0][0].value)},
    {"/planted", GEODEC_I64, "C", 0, "1", "control: starts with a planted geodesic", 0, OF(figures.planted)},
    {"/planted_error", GEODEC_F64, "C,3,M,3", 0, "1",
     "control: error on planted geodesics (steps a quarter as long) in their own steps, in the chart: line, geodesic, "
     "geodesic_log",
     0, AHEAD(figures.planted_error, [0][0].value)},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: along, metric, layer, joined by ':' and separated by commas",
     IN(cases)},
    {"predictors", GEODEC_ATTR_STR, 0, "names along P, separated by commas",
     GEODEC_LIST(geodec_geodesicity_predictor_names)},
    {"held_out", GEODEC_ATTR_F64, 0, "share of texts held out", IN(o.split.held_out)},
    {"ridge", GEODEC_ATTR_F64, 0, "of the regressions, in mean variances of their inputs", IN(o.ridge)},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics", IN(o.rtol)},
    {"drift_max", GEODEC_ATTR_F64, 0, "relative change of g(v,v) at which a geodesic counts as broken",
     IN(o.drift_max)},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap", IN(o.replicates)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};

static const geodec_extent extents[] = {{"C", IN(n_cases)}, {"P", .plus = GEODEC_PREDICTORS}, {"M", IN(o.ahead)}};

const geodec_kind geodec_geodesicity_kind = {
    GEODEC_ABOUT("geodesicity", 1, 1, "geodec-geodesicity",
                 "how well geodesics predict real trajectories, compared with lines, regressions and shuffled metrics"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_geodesicity_case), offsetof(report, c), false},
};

geodec_status geodec_geodesicity_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                           const geodec_harness_sites *f, const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesicity_cases *s = ctx;
    geodec_geodesicity *figures = NULL;
    int64_t count;
    GEODEC_TRY(geodec_geodesicity_run(&c->t, f, &s->o, s->charts.pool, s->charts.hooks, &count, &figures, err));
    for (int64_t i = 0; i < count; i++) {
        if (s->n_cases == GEODEC_GEODESICITY_CASES)
            GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_GEODESICITY_CASES);
        s->cases[s->n_cases++] =
            (geodec_geodesicity_case){.along = index < 0 ? "layers" : "tokens",
                                      .metric = metric,
                                      .layer = s->charts.layer[index < 0 ? figures[i].place : index],
                                      .figures = figures[i]};
    }
done:
    geodec_mem_free(figures);
    return st;
}

void geodec_geodesicity_cases_say(const geodec_hooks *hooks, const geodec_geodesicity_cases *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_geodesicity_case *k = s->cases + i;
        const geodec_geodesicity *f = &k->figures;
        const geodec_estimate d = f->difference[GEODEC_PREDICT_GEODESIC][0][0];
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%s %s layer %d: error in steps one ahead: geodesic %.3f (line %+.3f [%.3f, %.3f]), line %.3f, shuffled "
            "%.3f, random %.3f, stay %.3f, linear %.3f / %.3f; broken %lld of %lld",
            k->along, k->metric, k->layer, f->error[GEODEC_PREDICT_GEODESIC][0][0].value, d.value, d.low, d.high,
            f->error[GEODEC_PREDICT_LINE][0][0].value, f->error[GEODEC_PREDICT_SHUFFLED][0][0].value,
            f->error[GEODEC_PREDICT_RANDOM][0][0].value, f->error[GEODEC_PREDICT_STAY][0][0].value,
            f->error[GEODEC_PREDICT_LINEAR_X][0][0].value, f->error[GEODEC_PREDICT_LINEAR_XV][0][0].value,
            (long long)f->broken[GEODEC_PREDICT_GEODESIC], (long long)f->starts);
    }
}

geodec_status geodec_geodesicity_cases_write(const geodec_geodesicity_cases *s, geodec_artifact *a, geodec_err *err)
{
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const report r = {s->o, s->n_cases, s->cases, text, geodec_split_name(s->charts.units.by_document)};
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_geodesicity_case *c = s->cases + i;
        GEODEC_PASS(geodec_names_add(text, err, "%s:%s:%d", c->along, c->metric, (int)c->layer));
    }
    GEODEC_PASS(geodec_artifact_save(a, &r, err));
    return GEODEC_OK;
}
