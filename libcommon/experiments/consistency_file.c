/* The consistency artifact. */
#include "base/mem.h"
#include "experiments/consistency.h"

static const geodec_field fields[] = {
    {"/cloud_row", GEODEC_I32, "H", 0, "1", "row of the cloud each held-out state is", 0},
    {"/discordance", GEODEC_F64, "K,H", 0, "1",
     "share of the pairs of its neighbours that stand in another order of length than by its own neighbours' metric",
     0},
    {"/step_ratio", GEODEC_F64, "K,H", 0, "1",
     "length of the step to the next state over that by its own neighbours' metric; 0 = there is no next state", 0},
    {"/order", GEODEC_F64, "K,3", 0, "1", "share of states with a discordance of at most tau, 95 % interval over texts",
     0},
    {"/step", GEODEC_F64, "K,3", 0, "1", "share of steps with |ratio - 1| <= tau, 95 % interval", 0},
    {"/score", GEODEC_F64, "K,3", 0, "1", "consistency: share of states for which both hold, 95 % interval", 0},
    {"/gain", GEODEC_F64, "K,3", 0, "1",
     "consistency of the fitted metric less that of each, paired by text, 95 % interval", 0},
};

static const geodec_attr attrs[] = {
    {"metrics", GEODEC_ATTR_STR, 0, "names along K: the fitted metric and its controls"},
    {"tau", GEODEC_ATTR_F64, 0, "tolerance of order and step"},
    {"consistency", GEODEC_ATTR_F64, 0, "of the fitted metric"},
    {"consistency_shuffled", GEODEC_ATTR_F64, 0, "control: with its matrices dealt out anew"},
    {"layer", GEODEC_ATTR_I64, 0, "of the states"},
    {"n", GEODEC_ATTR_I64, 0, "dimension of the chart"},
    {"k_int", GEODEC_ATTR_I64, 0, "integer intrinsic dimension of the cloud"},
    {"k", GEODEC_ATTR_I64, 0, "neighbours of a state"},
    {"fitted", GEODEC_ATTR_I64, 0, "states of the first half of the texts"},
    {"held_out", GEODEC_ATTR_I64, 0, "states of the second half"},
    {"steps", GEODEC_ATTR_I64, 0, "of these, with a next state"},
    {"units", GEODEC_ATTR_I64, 0, "texts or blocks of the second half"},
    {"split", GEODEC_ATTR_STR, 0, "what the halves are made of: document or block"},
};

const geodec_kind geodec_kind_consistency = {
    .name = "consistency",
    .major = 1,
    .minor = 0,
    .tool = "geodec-consistency",
    .purpose = "how far the metric of one half of the texts holds for the states of the other half",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_consistency_write(const geodec_consistency *c, const geodec_cloud *source,
                                       const geodec_split *split, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *row = NULL;
    GEODEC_NEW(row, c->held_out);
    for (int64_t i = 0; i < c->held_out; i++) row[i] = source->cloud_row[c->row[i]];
    GEODEC_TRY(geodec_artifact_set_dim(a, "H", c->held_out, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "K", GEODEC_CONSISTENT_METRICS, err));
    GEODEC_TRY(geodec_artifact_write(a, "/cloud_row", row, err));
    GEODEC_TRY(geodec_artifact_write(a, "/discordance", c->discordance, err));
    GEODEC_TRY(geodec_artifact_write(a, "/step_ratio", c->step_ratio, err));
    GEODEC_TRY(geodec_artifact_write(a, "/order", c->order, err));
    GEODEC_TRY(geodec_artifact_write(a, "/step", c->step, err));
    GEODEC_TRY(geodec_artifact_write(a, "/score", c->score, err));
    GEODEC_TRY(geodec_artifact_write(a, "/gain", c->gain, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "metrics", "fitted,shuffled,random,constant", err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "tau", c->tau, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "consistency", c->score[GEODEC_CONSISTENT_FITTED].value, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "consistency_shuffled", c->score[GEODEC_CONSISTENT_SHUFFLED].value, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "layer", source->layer, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n", c->n, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "k_int", source->k_int, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "k", c->k, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "fitted", c->fitted, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "held_out", c->held_out, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "steps", c->steps, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "units", c->units, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "split", geodec_split_name(split->by_document), err));
done:
    geodec_mem_free(row);
    return st;
}
