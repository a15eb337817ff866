#include "lab/velocity/cases.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "lab/harness/names.h"

typedef struct report {
    geodec_velocity_initial_options o;
    int64_t n_cases;
    const geodec_velocity_initial_case *c; /* [n_cases] */
    const char *cases, *split;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_velocity_initial_case, m)

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the states", 0, OF(layer)},
    {"/starts", GEODEC_I64, "C", 0, "1", "states of held-out texts whose next step is predicted", 0,
     OF(figures.starts)},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0, OF(figures.texts)},
    {"/training", GEODEC_I64, "C", 0, "1", "steps of the other texts, which fits and neighbours are from", 0,
     OF(figures.training)},
    {"/counted", GEODEC_I64, "C,S,2", 0, "1", "starts that have a prediction; in the metric: and both logarithms", 0,
     OF(figures.counted[0][0])},
    {"/cosine", GEODEC_F64, "C,S,2,3", 0, "1",
     "mean cosine of predicted and true velocity, in the chart and (logarithms) in the metric: value and 95 % "
     "bootstrap "
     "interval over texts (0 where counted is 0)",
     0, OF(figures.cosine[0][0].value)},
    {"/gain", GEODEC_F64, "C,S,2,3", 0, "1",
     "the same less that of the direction to the mean state, where both are there", 0, OF(figures.gain[0][0].value)},
    {"/leak", GEODEC_F64, "C,S,3", 0, "1",
     "leak test: loss of cosine (chart) when another start's future replaces the own; 0 for predictions that do not "
     "use it",
     0, OF(figures.leak[0].value)},
    {"/chance", GEODEC_F64, "C,S,3", 0, "1", "control: cosine (chart) with the true step of another text's start", 0,
     OF(figures.unrelated[0].value)},
    {"/close", GEODEC_F64, "C,S,3", 0, "1", "share of starts whose cosine (chart) is above the attribute close", 0,
     OF(figures.close[0].value)},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: metric, layer, joined by ':' and separated by commas", IN(cases)},
    {"surrogates", GEODEC_ATTR_STR, 0, "names along S, separated by commas",
     GEODEC_LIST(geodec_velocity_initial_names)},
    {"close", GEODEC_ATTR_F64, 0, "cosine above which a prediction counts as close", IN(o.close)},
    {"ridge", GEODEC_ATTR_F64, 0, "of the regressions, in mean variances of their inputs", IN(o.ridge)},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics", IN(o.rtol)},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap", IN(o.replicates)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};

static const geodec_extent extents[] = {{"C", IN(n_cases)}, {"S", .plus = GEODEC_INITIAL_SURROGATES}};

const geodec_kind geodec_velocity_kind = {
    .name = "velocity",
    .major = 1,
    .minor = 1,
    .tool = "geodec-velocity",
    .purpose = "surrogates of the initial velocity against true next steps, with a leak test",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_velocity_initial_case), offsetof(report, c), false},
};

geodec_status geodec_velocity_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                        const geodec_harness_sites *f, const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_velocity_cases *s = ctx;
    const int32_t layer = s->charts.layer[index];
    geodec_velocity_initial_predictions e = {0};
    const geodec_initial_source source = {.view = &s->charts.view,
                                          .layer = s->charts.layer,
                                          .n_layer = s->charts.n_layer,
                                          .model = &s->charts.source,
                                          .split = &s->split,
                                          .pool = s->charts.pool};
    int64_t count, *row = NULL;
    if (s->n_cases == GEODEC_VELOCITY_CASES)
        GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_VELOCITY_CASES);
    GEODEC_TRY(geodec_velocity_initial_starts(&c->t, &s->split, &s->o, &count, &row, err));
    GEODEC_TRY(geodec_velocity_initial_predict(&source, c, layer, count, row, &e, err));
    geodec_velocity_initial_case *k = s->cases + s->n_cases;
    *k = (geodec_velocity_initial_case){.metric = metric, .layer = layer};
    GEODEC_TRY(geodec_velocity_initial_run(&c->t, f, &e.view, &s->split, &s->o, s->charts.pool, s->charts.hooks,
                                           &k->figures, err));
    s->n_cases++;
done:
    geodec_velocity_initial_predictions_clear(&e);
    geodec_mem_free(row);
    return st;
}

void geodec_velocity_cases_say(const geodec_hooks *hooks, const geodec_velocity_cases *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_velocity_initial_case *k = s->cases + i;
        const geodec_velocity_initial *v = &k->figures;
        geodec_hooks_log(hooks, GEODEC_LOG_INFO, "%s layer %d: %lld starts of %lld texts", k->metric, k->layer,
                         (long long)v->starts, (long long)v->texts);
        for (int p = 0; p < GEODEC_INITIAL_SURROGATES; p++) {
            if (v->counted[p][0] == 0) continue;
            geodec_hooks_log(
                hooks, GEODEC_LOG_INFO,
                "  %-14s cosine %+.3f [%+.3f, %+.3f], in the metric %+.3f of %lld, another's step %+.3f, leak %.3f, "
                "above %g %.0f %%",
                geodec_velocity_initial_names[p], v->cosine[p][0].value, v->cosine[p][0].low, v->cosine[p][0].high,
                v->cosine[p][1].value, (long long)v->counted[p][1], v->unrelated[p].value, v->leak[p].value, s->o.close,
                100 * v->close[p].value);
        }
    }
}

geodec_status geodec_velocity_cases_write(const geodec_velocity_cases *s, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const report r = {s->o, s->n_cases, s->cases, text, geodec_split_name(s->charts.units.by_document)};
    for (int64_t i = 0; i < s->n_cases; i++)
        GEODEC_TRY(geodec_names_add(text, err, "%s:%d", s->cases[i].metric, (int)s->cases[i].layer));
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    return st;
}
