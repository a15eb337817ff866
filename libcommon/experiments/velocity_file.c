/* The velocity artifact. */
#include "base/mem.h"
#include "experiments/names_internal.h"
#include "experiments/velocity.h"

enum { S = GEODEC_INITIAL_SURROGATES };

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the states", 0},
    {"/starts", GEODEC_I64, "C", 0, "1", "states of held-out texts whose next step is predicted", 0},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0},
    {"/training", GEODEC_I64, "C", 0, "1", "steps of the other texts, which fits and neighbours are from", 0},
    {"/counted", GEODEC_I64, "C,S,2", 0, "1", "starts that have a prediction; in the metric: and both logarithms", 0},
    {"/cosine", GEODEC_F64, "C,S,2,3", 0, "1",
     "mean cosine of predicted and true velocity, in the chart and (logarithms) in the metric: value and 95 % "
     "bootstrap "
     "interval over texts (0 where counted is 0)",
     0},
    {"/gain", GEODEC_F64, "C,S,2,3", 0, "1",
     "the same less that of the direction to the mean state, where both are there", 0},
    {"/leak", GEODEC_F64, "C,S,3", 0, "1",
     "leak test: loss of cosine (chart) when another start's future stands in for the own; 0 for what does not look at "
     "it",
     0},
    {"/chance", GEODEC_F64, "C,S,3", 0, "1", "control: cosine (chart) with the true step of another text's start", 0},
    {"/close", GEODEC_F64, "C,S,3", 0, "1", "share of starts whose cosine (chart) is above the attribute close", 0},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: metric, layer, joined by ':' and separated by commas"},
    {"surrogates", GEODEC_ATTR_STR, 0, "names along S, separated by commas"},
    {"close", GEODEC_ATTR_F64, 0, "cosine above which a prediction counts as close"},
    {"ridge", GEODEC_ATTR_F64, 0, "of the regressions, in mean variances of their inputs"},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics"},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap"},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)"},
};

const geodec_kind geodec_kind_velocity = {
    .name = "velocity",
    .major = 1,
    .minor = 1,
    .tool = "geodec-velocity",
    .purpose = "surrogates of the initial velocity against true next steps, with a leak test",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

static void put(geodec_estimate e, double *to)
{
    to[0] = e.value;
    to[1] = e.low;
    to[2] = e.high;
}

static geodec_status write_names(int64_t cases, const geodec_initial_case *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    for (int64_t i = 0; i < cases; i++) GEODEC_TRY(geodec__names_add(text, err, "%s:%d", c[i].metric, (int)c[i].layer));
    GEODEC_TRY(geodec_artifact_put_str(a, "cases", text, err));
    text[0] = 0;
    for (int s = 0; s < S; s++)
        GEODEC_TRY(geodec__names_add(text, err, "%s", geodec_initial_name((geodec_initial_surrogate)s)));
    GEODEC_TRY(geodec_artifact_put_str(a, "surrogates", text, err));
done:
    return st;
}

geodec_status geodec_initial_write(int64_t cases, const geodec_initial_case *c, const geodec_initial_options *o,
                                   geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *layer = NULL;
    int64_t *number = NULL, *counted = NULL;
    double *cosine = NULL, *gain = NULL, *leak = NULL, *chance = NULL, *close = NULL;
    GEODEC_NEW(layer, cases);
    GEODEC_NEW(number, 3 * cases);
    GEODEC_NEW(counted, cases * S * 2);
    GEODEC_NEW(cosine, cases * S * 6);
    GEODEC_NEW(gain, cases * S * 6);
    GEODEC_NEW(leak, cases * S * 3);
    GEODEC_NEW(chance, cases * S * 3);
    GEODEC_NEW(close, cases * S * 3);
    for (int64_t i = 0; i < cases; i++) {
        const geodec_initial *v = &c[i].figures;
        layer[i] = c[i].layer;
        number[i] = v->starts;
        number[cases + i] = v->texts;
        number[2 * cases + i] = v->training;
        for (int s = 0; s < S; s++) {
            const int64_t at = i * S + s;
            for (int k = 0; k < 2; k++) {
                counted[at * 2 + k] = v->counted[s][k];
                put(v->cosine[s][k], cosine + (at * 2 + k) * 3);
                put(v->gain[s][k], gain + (at * 2 + k) * 3);
            }
            put(v->leak[s], leak + at * 3);
            put(v->chance[s], chance + at * 3);
            put(v->close[s], close + at * 3);
        }
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", cases, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "S", S, err));
    GEODEC_TRY(geodec_artifact_write(a, "/layer", layer, err));
    GEODEC_TRY(geodec_artifact_write(a, "/starts", number, err));
    GEODEC_TRY(geodec_artifact_write(a, "/texts", number + cases, err));
    GEODEC_TRY(geodec_artifact_write(a, "/training", number + 2 * cases, err));
    GEODEC_TRY(geodec_artifact_write(a, "/counted", counted, err));
    GEODEC_TRY(geodec_artifact_write(a, "/cosine", cosine, err));
    GEODEC_TRY(geodec_artifact_write(a, "/gain", gain, err));
    GEODEC_TRY(geodec_artifact_write(a, "/leak", leak, err));
    GEODEC_TRY(geodec_artifact_write(a, "/chance", chance, err));
    GEODEC_TRY(geodec_artifact_write(a, "/close", close, err));
    GEODEC_TRY(write_names(cases, c, a, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "close", o->close, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "ridge", o->ridge, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "rtol", o->rtol, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "replicates", o->replicates, err));
done:
    geodec_mem_free(layer);
    geodec_mem_free(number);
    geodec_mem_free(counted);
    geodec_mem_free(cosine);
    geodec_mem_free(gain);
    geodec_mem_free(leak);
    geodec_mem_free(chance);
    geodec_mem_free(close);
    return st;
}
