#include "artifact/binding.h"
#include "flowmap/flowmap_internal.h"
#include "flowmap/map.h"

#include <math.h>
#include <string.h>

#define AT(m) GEODEC_AT(geodec_flowmap, m)
#define IN(m) GEODEC_IN(geodec_flowmap, m)
#define ROUTES GEODEC_WHEN(geodec_flowmap, routes.used)
#define MEASURED GEODEC_WHEN(geodec_flowmap, measured)
static const geodec_field fields[] = {
    {"/state/basis", GEODEC_F32, "d,m", 0, "1", "principal directions of the scaled state, columns", 0, AT(basis)},
    {"/state/offset", GEODEC_F32, "m", 0, "1", "z = basis^T s - offset, s = h / sqrt(mean h^2 + 1e-5)", 0, AT(offset)},
    {"/state/decay", GEODEC_F32, "E", 0, "1", "a of the exponential means e <- a e + (1 - a) z", 0, AT(decay)},
    {"/state/feature_mean", GEODEC_F32, "F", 0, "1", "mean of the features (z, e_1 .. e_E)", 0, AT(feature_mean)},
    {"/state/feature_factor", GEODEC_F32, "F", 0, "1", "one over their standard deviation", 0, AT(feature_factor)},
    {"/chart/of_token", GEODEC_I32, "V", 0, "1", "chart of a token; 0 is the one all rare tokens share", 0,
     AT(chart_of)},
    {"/chart/weight", GEODEC_I8, "C,F,r", GEODEC_FIELD_COMPRESS, "1", "W: principal directions of the flow's Jacobian",
     0, AT(chart)},
    {"/chart/scale", GEODEC_F32, "C,r", 0, "1", "key = round(scale (W f) - offset), cut to -64..63", 0,
     AT(chart_scale)},
    {"/chart/offset", GEODEC_F32, "C,r", 0, "1", "centre of a chart", 0, AT(chart_offset)},
    {"/node/bucket", GEODEC_I64, "B", 0, "1", "nodes of token t: bucket[t] .. bucket[t+1]-1", 0, AT(bucket)},
    {"/node/key", GEODEC_I8, "N,r", GEODEC_FIELD_COMPRESS, "1", "state before the token in its token's chart", 0,
     AT(key)},
    {"/node/label", GEODEC_I32, "N", GEODEC_FIELD_COMPRESS, "1", "the model's argmax after the token", 0, AT(label)},
    {"/node/next", GEODEC_I32, "N", GEODEC_FIELD_COMPRESS, "1", "node the flow reaches by the label, -1 = none", 0,
     AT(next)},
    {"/node/sure", GEODEC_U8, "N", GEODEC_FIELD_COMPRESS, "1/255", "agreement of other texts' nearest nodes", 0,
     AT(agreement)},
    {"/node/choice", GEODEC_I32, "N,3", GEODEC_FIELD_COMPRESS | GEODEC_FIELD_OPTIONAL, "1",
     "the most probable next tokens other than the label, falling; -1 = none", 2, AT(choice)},
    {"/node/chance", GEODEC_U8, "N,4", GEODEC_FIELD_COMPRESS | GEODEC_FIELD_OPTIONAL, "1/255",
     "probabilities of the label and the choices: softmax over the exported logits", 2, AT(probability)},
    {"/text/order", GEODEC_I32, "N", GEODEC_FIELD_COMPRESS, "1", "nodes in text order", 0, AT(order)},
    {"/text/start", GEODEC_I64, "T", 0, "1", "first entry of /text/order of a text", 0, AT(sequence_start)},
    {"/text/first_token", GEODEC_I32, "S", 0, "1", "token at position 0 of a text, which is no node", 0,
     AT(first_token)},
    {"/text/first_argmax", GEODEC_I32, "S", 0, "1", "the model's argmax after it", 0, AT(first_argmax)},
    {"/calibration/reliability", GEODEC_F32, "4,16", 0, "1",
     "P(right) of a child of draft 0, 1, 2, 3+ by raw score in sixteenths, leaving its own text out", 0,
     AT(reliability)},
    {"/route/code", GEODEC_U8, "N,Y", GEODEC_FIELD_COMPRESS | GEODEC_FIELD_OPTIONAL, "1",
     "experts of a node: bit layer * route_width + rank in its token's list, lowest bit of a byte first", 3,
     AT(routes.code)},
    {"/route/total", GEODEC_I64, "A,X", GEODEC_FIELD_OPTIONAL, "1", "uses of each expert in each layer, all nodes", 3,
     AT(routes.total)},
    {"/route/length", GEODEC_I16, "V,A", GEODEC_FIELD_COMPRESS | GEODEC_FIELD_OPTIONAL, "1",
     "experts in a token's list of a layer", 3, AT(routes.length)},
    {"/route/expert", GEODEC_I16, "Z", GEODEC_FIELD_COMPRESS | GEODEC_FIELD_OPTIONAL, "1",
     "the lists, by token and layer: experts that the token's nodes used, most frequent first", 3, AT(routes.expert)},
    {"/route/count", GEODEC_I32, "Z", GEODEC_FIELD_COMPRESS | GEODEC_FIELD_OPTIONAL, "1", "nodes that used them", 3,
     AT(routes.count)},
    {"/route/reliability", GEODEC_F32, "2,A,32", GEODEC_FIELD_OPTIONAL, "1",
     "P(used) of an expert by its share, even in its root, from token and state, or from the token alone", 3,
     AT(routes.reliability)},
};

static const geodec_attr attrs[] = {
    {"neighbours", GEODEC_ATTR_I64, 0, "nearest nodes that vote", IN(vote.neighbours)},
    {"own", GEODEC_ATTR_I64, 0, "nearest earlier positions of the text being written that vote", IN(vote.own)},
    {"own_weight", GEODEC_ATTR_F64, 0, "their weight against a node's", IN(vote.own_weight)},
    {"match_weight", GEODEC_ATTR_F64, 0, "weight exp(match_weight l) for l <= 8 equal tokens before",
     IN(vote.match_weight)},
    {"bandwidth", GEODEC_ATTR_F64, 0, "kernel variance over squared distance of the rank-th neighbour",
     IN(vote.bandwidth)},
    {"rank", GEODEC_ATTR_I64, 0, "of that neighbour", IN(vote.rank)},
    {"ridge", GEODEC_ATTR_F64, 0, "ridge of the local linear correction", IN(vote.ridge)},
    {"chains", GEODEC_ATTR_I64, 0, "a draft with fewer neighbours left has its bucket asked again", IN(vote.chains)},
    {"explained", GEODEC_ATTR_F64, 0, "share of the state's variance in z", IN(explained)},
    {"consistency", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "share of calibration positions whose most probable next token the map gives first, own text left out",
     IN(consistency), MEASURED},
    {"consistency_shuffled", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "control: the same for labels permuted within their token's bucket", IN(consistency_shuffled), MEASURED},
    {"n_expert_used", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "experts of a layer that a token uses", IN(routes.used),
     ROUTES},
    {"route_width", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "bits of a layer in /route/code", IN(routes.width), ROUTES},
    {"route_lost", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "choices of experts that /route/code does not hold",
     IN(routes.lost), ROUTES},
};

static const geodec_extent extents[] = {{"d", IN(d)},
                                        {"m", IN(m)},
                                        {"E", IN(decays)},
                                        {"F", IN(features)},
                                        {"V", IN(vocab)},
                                        {"B", IN(vocab), 0, 1},
                                        {"C", IN(charts)},
                                        {"r", IN(dims)},
                                        {"N", IN(nodes)},
                                        {"S", IN(sequences)},
                                        {"T", IN(sequences), 0, 1},
                                        {"A", IN(routes.layers)},
                                        {"X", IN(routes.experts)},
                                        {"Y", IN(routes.bytes)},
                                        {"Z", IN(routes.entries)}};

const geodec_kind geodec_flowmap_kind = {
    .name = "flowmap",
    .major = 1,
    /* 1.0 was calibrated for another raw score, and for the best child alone; 1.1 had no consistency; 1.2 no routes */
    .minor = 3,
    .tool = "geodec-bake",
    .purpose = "where a model's trajectories go next: nodes in token buckets, charts, successors, calibration",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_flowmap_write(const geodec_flowmap *map, geodec_artifact *out, geodec_err *err)
{
    geodec_flowmap file = *map;
    file.measured = isfinite(map->consistency);
    return geodec_artifact_save(out, &file, err);
}

geodec_status geodec__flowmap_fingerprints(const geodec_artifact *a, geodec_flowmap *map, geodec_err *err)
{
    static const char *const attr[] = {"model_fingerprint", "tokenizer_fingerprint"};
    char *const out[] = {map->model_fingerprint, map->tokenizer_fingerprint};
    for (int i = 0; i < 2; i++) {
        const char *text;
        GEODEC_PASS(geodec_artifact_get_str(a, attr[i], &text, err));
        if (strlen(text) >= GEODEC_SHA256_HEX)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: %s is not a SHA-256", geodec_artifact_path(a), attr[i]);
        memcpy(out[i], text, strlen(text) + 1);
    }
    return GEODEC_OK;
}

geodec_status geodec_flowmap_read(const geodec_artifact *in, geodec_flowmap *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap map = {.consistency = NAN, .consistency_shuffled = NAN};
    int major, minor;
    GEODEC_TRY(geodec_artifact_load(in, &map, err));
    if (!map.choice != !map.probability)
        GEODEC_THROW(GEODEC_FORMAT, "%s: of /node/choice and /node/chance one is missing", geodec_artifact_path(in));
    GEODEC_TRY(geodec__flowmap_fingerprints(in, &map, err));
    geodec_artifact_version(in, &major, &minor);
    for (int i = 0; minor < 1 && i < GEODEC_FLOW_DEPTHS * GEODEC_FLOW_BINS; i++) /* the raw score itself */
        map.reliability[i] = ((float)(i % GEODEC_FLOW_BINS) + 0.5f) / GEODEC_FLOW_BINS;
    GEODEC_TRY(geodec__flowmap_finish(&map, geodec_artifact_path(in), err));
    *out = map;
    memset(&map, 0, sizeof map);
done:
    geodec_flowmap_clear(&map);
    return st;
}
