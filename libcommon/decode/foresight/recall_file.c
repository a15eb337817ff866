/* The artifact of a measurement of recall. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "flowmap/route.h"
#include "foresight/recall.h"

static const float WEIGHT_MAX = 64;

#define AT(m) GEODEC_AT(geodec_recall, m)
#define IN(m) GEODEC_IN(geodec_recall, m)
#define ARRAY(m) GEODEC_ARRAY(geodec_recall, m, [0])
#define MIXED GEODEC_WHEN(geodec_recall, mixture.positions)
#define CALIBRATED GEODEC_WHEN(geodec_recall, calibrated)
static const geodec_field fields[] = {
    {"/budget", GEODEC_I32, "B", 0, "1", "experts foretold in a layer: 1, 2, 4 times those used", 0, ARRAY(budget)},
    {"/first_layer", GEODEC_I32, "P", 0, "1", "first layer, from 0, that a predictor can foretell", 0, AT(first_layer)},
    {"/recall/value", GEODEC_F64, "P,L,B", GEODEC_FIELD_NONFINITE, "1",
     "share of the experts used that are among those foretold; NaN: the predictor knows nothing of the layer", 0,
     AT(value)},
    {"/recall/low", GEODEC_F64, "P,L,B", GEODEC_FIELD_NONFINITE, "1", "its 95 % interval over documents: lower end", 0,
     AT(low)},
    {"/recall/high", GEODEC_F64, "P,L,B", GEODEC_FIELD_NONFINITE, "1", "upper end", 0, AT(high)},
    {"/mean/value", GEODEC_F64, "P,B", GEODEC_FIELD_NONFINITE, "1", "over the layers that a predictor can foretell", 0,
     AT(mean)},
    {"/mean/low", GEODEC_F64, "P,B", GEODEC_FIELD_NONFINITE, "1", "lower end of its interval", 0, AT(mean_low)},
    {"/mean/high", GEODEC_F64, "P,B", GEODEC_FIELD_NONFINITE, "1", "upper end", 0, AT(mean_high)},
    {"/distinct/tokens", GEODEC_I32, "D", 0, "1", "consecutive tokens", 0, ARRAY(run)},
    {"/distinct/value", GEODEC_F64, "D", 0, "1", "distinct experts that they use in a layer, mean over layers", 0,
     ARRAY(distinct)},
    {"/distinct/low", GEODEC_F64, "D", 0, "1", "lower end of its interval", 0, ARRAY(distinct_low)},
    {"/distinct/high", GEODEC_F64, "D", 0, "1", "upper end", 0, ARRAY(distinct_high)},
    {"/distinct/random", GEODEC_F64, "D", 0, "1", "control: the same for tokens at random places", 0,
     ARRAY(distinct_random)},
    {"/mix/weight", GEODEC_F32, "3,L", GEODEC_FIELD_OPTIONAL, "1",
     "weight of the router's logits in the mixtures with router1, router1.5, router2", 0, AT(mixture.weight)},
    {"/mix/reliability", GEODEC_F32, "3,L,32", GEODEC_FIELD_OPTIONAL, "1",
     "P(used) by the share of a mixture, even in its root", 0, AT(mixture.reliability)},
    {"/scale/predicted", GEODEC_F64, "3,32", GEODEC_FIELD_OPTIONAL, "1",
     "mean calibrated probability by bin, even in its root: by token, state and token, and these with router1", 0,
     AT(scale_predicted)},
    {"/scale/used", GEODEC_F64, "3,32", GEODEC_FIELD_OPTIONAL, "1", "share of these experts that were used", 0,
     AT(scale_used)},
    {"/scale/count", GEODEC_I64, "3,32", GEODEC_FIELD_OPTIONAL, "1", "number of predictions", 0, AT(scale_count)},
    {"/scale/error", GEODEC_F64, "3", GEODEC_FIELD_OPTIONAL, "1",
     "expected calibration error: mean |predicted - used| over the bins, weighted by predictions", 0,
     ARRAY(scale_error), CALIBRATED},
};

static const geodec_attr attrs[] = {
    {"predictors", GEODEC_ATTR_STR, 0, "names, in the order of P", IN(names)},
    {"when", GEODEC_ATTR_STR, 0,
     "when each is available: always, previous (after the previous pass), token (before the pass), block (in the pass)",
     IN(when)},
    {"n_expert", GEODEC_ATTR_I64, 0, "experts of a layer", IN(experts)},
    {"n_expert_used", GEODEC_ATTR_I64, 0, "experts of a layer that a token uses", IN(used)},
    {"positions", GEODEC_ATTR_I64, 0, "tokens foretold", IN(positions)},
    {"documents", GEODEC_ATTR_I64, 0, "their documents", IN(documents)},
    {"stored", GEODEC_ATTR_I64, 0, "positions of the store, from which the tables were made", IN(stored)},
    {"calibrated", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "probabilities of the flow map that were examined",
     IN(calibrated), CALIBRATED},
    {"mix_positions", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "tokens of the text of the mixtures' fit",
     IN(mixture.positions), MIXED},
};

static const geodec_extent extents[] = {
    {"P", IN(predictors)}, {"L", IN(layers)}, {"B", {0}, 0, GEODEC_RECALL_BUDGETS}, {"D", {0}, 0, GEODEC_RECALL_RUNS}};

const geodec_kind geodec_foresight_kind = {
    GEODEC_ABOUT("foresight", 1, 0, "geodec-foresight",
                 "recall of the experts of a token by predictor and layer, distinct experts, calibration"),
    GEODEC_TABLES(fields, attrs, extents),
};

void geodec_recall_clear(geodec_recall *r)
{
    geodec_artifact_clear(&geodec_foresight_kind, r);
    GEODEC_FREE(r->names, r->when);
    *r = (geodec_recall){0};
}

geodec_status geodec_recall_write(const geodec_recall *r, geodec_artifact *out, geodec_err *err)
{
    return geodec_artifact_save(out, r, err);
}

geodec_status geodec_recall_read_mixture(const geodec_artifact *a, int64_t layers, geodec_mixture *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_mixture m = {0};
    const int64_t cells = GEODEC_MIXTURES * layers;
    if (!geodec_artifact_has(a, "/mix/weight") || !geodec_artifact_has(a, "/mix/reliability"))
        GEODEC_THROW(GEODEC_NOTFOUND, "%s: measured without a mixture", geodec_artifact_path(a));
    GEODEC_TRY(geodec_artifact_dim(a, "L", &m.layers, err));
    if (m.layers != layers)
        GEODEC_THROW(GEODEC_INVAL, "%s: %lld layers, not %lld", geodec_artifact_path(a), (long long)m.layers,
                     (long long)layers);
    GEODEC_TRY(geodec_artifact_read(a, "/mix/weight", &m.weight, err));
    GEODEC_TRY(geodec_artifact_read(a, "/mix/reliability", &m.reliability, err));
    for (int64_t i = 0; i < cells; i++)
        if (!(m.weight[i] > 0 && m.weight[i] <= WEIGHT_MAX))
            GEODEC_THROW(GEODEC_FORMAT, "%s: a weight that is not positive", geodec_artifact_path(a));
    for (int64_t i = 0; i < cells * GEODEC_ROUTE_BINS; i++)
        if (!(m.reliability[i] >= 0 && m.reliability[i] <= 1))
            GEODEC_THROW(GEODEC_FORMAT, "%s: a reliability outside 0..1", geodec_artifact_path(a));
    *out = m;
    m = (geodec_mixture){0};
done:
    geodec_mixture_clear(&m);
    return st;
}
