/* The flow map's artifact. */
#include "base/mem.h"
#include "records/flow_internal.h"
#include "records/flowmap.h"

#include <math.h>
#include <string.h>

static const geodec_field fields[] = {
    {"/state/basis", GEODEC_F32, "d,m", 0, "1", "principal directions of the scaled state, columns", 0},
    {"/state/offset", GEODEC_F32, "m", 0, "1", "z = basis^T s - offset, s = h / sqrt(mean h^2 + 1e-5)", 0},
    {"/state/decay", GEODEC_F32, "E", 0, "1", "a of the exponential means e <- a e + (1 - a) z", 0},
    {"/state/feature_mean", GEODEC_F32, "F", 0, "1", "mean of the features (z, e_1 .. e_E)", 0},
    {"/state/feature_factor", GEODEC_F32, "F", 0, "1", "one over their standard deviation", 0},
    {"/chart/of_token", GEODEC_I32, "V", 0, "1", "chart of a token; 0 is the one all rare tokens share", 0},
    {"/chart/weight", GEODEC_I8, "C,F,r", GEODEC_FIELD_COMPRESS, "1", "W: principal directions of the flow's Jacobian",
     0},
    {"/chart/scale", GEODEC_F32, "C,r", 0, "1", "key = round(scale (W f) - offset), cut to -64..63", 0},
    {"/chart/offset", GEODEC_F32, "C,r", 0, "1", "centre of a chart", 0},
    {"/node/bucket", GEODEC_I64, "B", 0, "1", "nodes of token t: bucket[t] .. bucket[t+1]-1", 0},
    {"/node/key", GEODEC_I8, "N,r", GEODEC_FIELD_COMPRESS, "1", "state before the token in its token's chart", 0},
    {"/node/label", GEODEC_I32, "N", GEODEC_FIELD_COMPRESS, "1", "what the model says after the token", 0},
    {"/node/next", GEODEC_I32, "N", GEODEC_FIELD_COMPRESS, "1", "node the flow reaches by the label, -1 = none", 0},
    {"/node/sure", GEODEC_U8, "N", GEODEC_FIELD_COMPRESS, "1/255", "agreement of other texts' nearest nodes", 0},
    {"/node/choice", GEODEC_I32, "N,3", GEODEC_FIELD_COMPRESS | GEODEC_FIELD_OPTIONAL, "1",
     "the likeliest next tokens beside the label, falling; -1 = none", 2},
    {"/node/chance", GEODEC_U8, "N,4", GEODEC_FIELD_COMPRESS | GEODEC_FIELD_OPTIONAL, "1/255",
     "chances of the label and the choices: softmax over the exported logits", 2},
    {"/text/order", GEODEC_I32, "N", GEODEC_FIELD_COMPRESS, "1", "nodes in text order", 0},
    {"/text/start", GEODEC_I64, "T", 0, "1", "first entry of /text/order of a text", 0},
    {"/text/first_token", GEODEC_I32, "S", 0, "1", "token at position 0 of a text, which is no node", 0},
    {"/text/first_argmax", GEODEC_I32, "S", 0, "1", "what the model says after it", 0},
    {"/calibration/reliability", GEODEC_F32, "4,16", 0, "1",
     "P(right) of a child of draft 0, 1, 2, 3+ by raw score in sixteenths, leaving its own text out", 0},
};

static const geodec_attr attrs[] = {
    {"neighbours", GEODEC_ATTR_I64, 0, "nearest nodes that vote"},
    {"own", GEODEC_ATTR_I64, 0, "nearest earlier positions of the text being written that vote"},
    {"own_weight", GEODEC_ATTR_F64, 0, "their weight against a node's"},
    {"match_weight", GEODEC_ATTR_F64, 0, "weight exp(match_weight l) for l <= 8 equal tokens before"},
    {"bandwidth", GEODEC_ATTR_F64, 0, "kernel variance over squared distance of the rank-th neighbour"},
    {"rank", GEODEC_ATTR_I64, 0, "of that neighbour"},
    {"ridge", GEODEC_ATTR_F64, 0, "ridge of the local linear correction"},
    {"chains", GEODEC_ATTR_I64, 0, "a draft with fewer voters left has its bucket asked again"},
    {"explained", GEODEC_ATTR_F64, 0, "share of the state's variance in z"},
    {"consistency", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "share of calibration positions whose most probable next token the map gives first, own text left out"},
    {"consistency_shuffled", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "the same for labels shuffled within their token's bucket: the control"},
};

const geodec_kind geodec_kind_flowmap = {
    .name = "flowmap",
    .major = 1,
    .minor = 2, /* 1.0 was calibrated for another raw score, and for the best child alone; 1.1 had no consistency */
    .tool = "geodec-bake",
    .purpose = "where a model's trajectories go next: nodes in token buckets, charts, successors, calibration",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_flowmap_write(const geodec_flowmap *map, geodec_artifact *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap copy = *map; /* the list of arrays wants places it could fill */
    geodec__flow_array a[GEODEC__FLOW_ARRAYS];
    const geodec_flow_vote *v = &map->vote;
    const struct {
        const char *name;
        int64_t extent;
    } dims[] = {{"d", map->d},     {"m", map->m},         {"E", map->decays},       {"F", map->features},
                {"V", map->vocab}, {"B", map->vocab + 1}, {"C", map->charts},       {"r", map->dims},
                {"N", map->nodes}, {"S", map->sequences}, {"T", map->sequences + 1}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        GEODEC_TRY(geodec_artifact_set_dim(out, dims[i].name, dims[i].extent, err));
    geodec__flowmap_arrays(&copy, a);
    for (int i = 0; a[i].path; i++)
        if (*a[i].data) GEODEC_TRY(geodec_artifact_write(out, a[i].path, *a[i].data, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "neighbours", v->neighbours, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "own", v->own, err));
    GEODEC_TRY(geodec_artifact_put_f64(out, "own_weight", v->own_weight, err));
    GEODEC_TRY(geodec_artifact_put_f64(out, "match_weight", v->match_weight, err));
    GEODEC_TRY(geodec_artifact_put_f64(out, "bandwidth", v->bandwidth, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "rank", v->rank, err));
    GEODEC_TRY(geodec_artifact_put_f64(out, "ridge", v->ridge, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "chains", v->chains, err));
    GEODEC_TRY(geodec_artifact_put_f64(out, "explained", map->explained, err));
    if (isfinite(map->consistency)) {
        GEODEC_TRY(geodec_artifact_put_f64(out, "consistency", map->consistency, err));
        GEODEC_TRY(geodec_artifact_put_f64(out, "consistency_shuffled", map->consistency_shuffled, err));
    }
done:
    return st;
}

static geodec_status copy_fingerprint(const geodec_artifact *a, const char *attr, char out[GEODEC_SHA256_HEX],
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *text;
    GEODEC_TRY(geodec_artifact_get_str(a, attr, &text, err));
    if (strlen(text) >= GEODEC_SHA256_HEX)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %s is no SHA-256", geodec_artifact_path(a), attr);
    memcpy(out, text, strlen(text) + 1);
done:
    return st;
}

geodec_status geodec_flowmap_read(const geodec_artifact *in, geodec_flowmap *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap map = {0};
    geodec__flow_array a[GEODEC__FLOW_ARRAYS];
    geodec_flow_vote *v = &map.vote;
    int64_t buckets, texts;
    int major, minor;
    GEODEC_TRY(geodec_artifact_dim(in, "d", &map.d, err));
    GEODEC_TRY(geodec_artifact_dim(in, "m", &map.m, err));
    GEODEC_TRY(geodec_artifact_dim(in, "E", &map.decays, err));
    GEODEC_TRY(geodec_artifact_dim(in, "F", &map.features, err));
    GEODEC_TRY(geodec_artifact_dim(in, "V", &map.vocab, err));
    GEODEC_TRY(geodec_artifact_dim(in, "B", &buckets, err));
    GEODEC_TRY(geodec_artifact_dim(in, "C", &map.charts, err));
    GEODEC_TRY(geodec_artifact_dim(in, "r", &map.dims, err));
    GEODEC_TRY(geodec_artifact_dim(in, "N", &map.nodes, err));
    GEODEC_TRY(geodec_artifact_dim(in, "S", &map.sequences, err));
    GEODEC_TRY(geodec_artifact_dim(in, "T", &texts, err));
    if (buckets != map.vocab + 1 || texts != map.sequences + 1)
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together", geodec_artifact_path(in));
    GEODEC_TRY(geodec_artifact_get_i64(in, "neighbours", &v->neighbours, err));
    GEODEC_TRY(geodec_artifact_get_i64(in, "own", &v->own, err));
    GEODEC_TRY(geodec_artifact_get_f64(in, "own_weight", &v->own_weight, err));
    GEODEC_TRY(geodec_artifact_get_f64(in, "match_weight", &v->match_weight, err));
    GEODEC_TRY(geodec_artifact_get_f64(in, "bandwidth", &v->bandwidth, err));
    GEODEC_TRY(geodec_artifact_get_i64(in, "rank", &v->rank, err));
    GEODEC_TRY(geodec_artifact_get_f64(in, "ridge", &v->ridge, err));
    GEODEC_TRY(geodec_artifact_get_i64(in, "chains", &v->chains, err));
    GEODEC_TRY(geodec_artifact_get_f64(in, "explained", &map.explained, err));
    map.consistency = map.consistency_shuffled = NAN;
    if (geodec_artifact_has_attr(in, "consistency"))
        GEODEC_TRY(geodec_artifact_get_f64(in, "consistency", &map.consistency, err));
    if (geodec_artifact_has_attr(in, "consistency_shuffled"))
        GEODEC_TRY(geodec_artifact_get_f64(in, "consistency_shuffled", &map.consistency_shuffled, err));
    GEODEC_TRY(copy_fingerprint(in, "model_fingerprint", map.model_fingerprint, err));
    GEODEC_TRY(copy_fingerprint(in, "tokenizer_fingerprint", map.tokenizer_fingerprint, err));
    geodec__flowmap_arrays(&map, a);
    for (int i = 0; a[i].path; i++) /* those that may be absent are of no use alone */
        if ((a[i].data != (void **)&map.choice && a[i].data != (void **)&map.chance) ||
            (geodec_artifact_has(in, "/node/choice") && geodec_artifact_has(in, "/node/chance")))
            GEODEC_TRY(geodec_artifact_read(in, a[i].path, a[i].data, err));
    geodec_artifact_version(in, &major, &minor);
    for (int i = 0; minor < 1 && i < GEODEC_FLOW_DEPTHS * GEODEC_FLOW_BINS; i++) /* the score itself */
        map.reliability[i] = ((float)(i % GEODEC_FLOW_BINS) + 0.5f) / GEODEC_FLOW_BINS;
    GEODEC_TRY(geodec__flowmap_finish(&map, geodec_artifact_path(in), err));
    *out = map;
    memset(&map, 0, sizeof map);
done:
    geodec_flowmap_clear(&map);
    return st;
}
