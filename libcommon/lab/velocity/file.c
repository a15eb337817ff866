#include "artifact/binding.h"
#include "lab/harness/names.h"
#include "lab/velocity/correct.h"

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

geodec_status geodec_velocity_initial_write(int64_t cases, const geodec_velocity_initial_case *c,
                                            const geodec_velocity_initial_options *o, const char *split,
                                            geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const report r = {*o, cases, c, text, split};
    for (int64_t i = 0; i < cases; i++) GEODEC_TRY(geodec_names_add(text, err, "%s:%d", c[i].metric, (int)c[i].layer));
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    return st;
}
