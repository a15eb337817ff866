/* geodec-bake: activations of texts to a flow map. */
#include "base/mem.h"
#include "chain/cloud.h"
#include "cli/stage.h"
#include "flowmap/map.h"

#include <stdlib.h>
#include <string.h>

static const char *output = "flowmap.h5", *decays = "0.5,0.9", *charts = "learned";
static int64_t dims = 16, state_dims = 64, neighbours = 32, own = 8, chains = 16, calibration = 6000, chart_bytes = 12;
static double ridge = 30, correction = 1;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "flowmap.h5"),
    OPT_I64("dims", 'r', &dims, 4, GEODEC_FLOW_DIMS_MAX, "R", "coordinates of a key, a multiple of 4"),
    OPT_I64("state-dims", 0, &state_dims, 1, GEODEC_FLOW_STATE_MAX, "M",
            "principal coordinates of a state that the charts see"),
    OPT_STR("decays", 0, &decays, "LIST",
            "decays of the exponential means of the state over the text, 1 to 4 numbers from 0 to below 1"),
    OPT_F64("ridge", 0, &ridge, 1e-6, 1e9, "X",
            "ridge of a token's Jacobian towards the one of all tokens, in observations"),
    OPT_STR("charts", 0, &charts, "KIND",
            "learned, or a control of the same rank: euclidean (states), features, random (projection of features)"),
    OPT_F64("correction", 0, &correction, 0, 1e9, "X",
            "ridge of the local linear correction of votes; 1e9 switches it off"),
    OPT_I64("chart-bytes", 0, &chart_bytes, 0, 1e6, "B", "charts take at most B bytes a node; rarer tokens share one"),
    OPT_I64("neighbours", 'k', &neighbours, 1, GEODEC_FLOW_NEAR_MAX, "K", "nearest nodes that vote when drafting"),
    OPT_I64("own", 0, &own, 0, GEODEC_FLOW_NEAR_MAX, "K", "nearest earlier positions of the text at hand that vote"),
    OPT_I64("chains", 0, &chains, 1, GEODEC_FLOW_NEAR_MAX, "K",
            "a draft with fewer voters left has its bucket asked again"),
    OPT_I64("calibration", 0, &calibration, 0, 1e9, "N",
            "positions predicted for the calibration, each with its own text left out"),
};

static const cli_tool tool = {
    .name = "geodec-bake",
    .topic = CLI_TOPIC_TABLES,
    .purpose = "turn the activations of texts into a flow map that drafts tokens",
    .usage = "[OPTIONS] ACTIVATIONS.h5 [CLOUD.h5]",
    .description =
        "Every stored position becomes a node: the state before its token in the chart of that token (8-bit keys), "
        "what\n"
        "the model says next, and the node the flow reaches by it. A chart is the pull-back metric of the token's own\n"
        "flow, found by regression. With CLOUD.h5 its principal directions come first in the state's coordinates.\n"
        "Confidences are calibrated on texts of the store whose own nodes are left out; the acceptance printed is the\n"
        "one of that test on these texts, not of decoding.",
    .examples = "geodec-sample --model model.gguf --texts 768 --length 256 -o store.tokens\n"
                "geodec-export --model model.gguf --tokens store.tokens --layers last -o store.h5\n"
                "geodec-bake -o flowmap.h5 store.h5",
    CLI_TAKES(options, 1, 2),
};

static geodec_status parse_decays(geodec_flowmap_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *p = decays;
    for (o->decays = 0;; p++) {
        char *end;
        if (o->decays == GEODEC_FLOW_DECAYS_MAX)
            GEODEC_THROW(GEODEC_INVAL, "--decays: more than %d numbers", GEODEC_FLOW_DECAYS_MAX);
        const double a = strtod(p, &end);
        if (end == p || !(a >= 0 && a < 1) || (*end && *end != ','))
            GEODEC_THROW(GEODEC_INVAL, "--decays: '%s' is no list of numbers from 0 to below 1", decays);
        o->decay[o->decays++] = a;
        p = end;
        if (!*p) break;
    }
done:
    return st;
}

static geodec_status parse_charts(geodec_flowmap_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char *const kind[] = {"learned", "euclidean", "features", "random"};
    int k = 0;
    while (k < 4 && strcmp(charts, kind[k]) != 0) k++;
    if (k == 4) GEODEC_THROW(GEODEC_INVAL, "--charts: '%s' is none of learned, euclidean, features, random", charts);
    o->charts = (geodec_flowmap_charts)k;
done:
    return st;
}

/* Directions of a cloud of the same model and layer. */
static geodec_status use_cloud(const char *path, const geodec_activations *states, geodec_provenance *p,
                               geodec_cloud *cloud, geodec_flowmap_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    int64_t n_layer;
    const char *mine, *its;
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, path, &a, err));
    GEODEC_TRY(geodec_cloud_read(a, cloud, err));
    GEODEC_TRY(geodec_artifact_get_i64(states->file, "n_layer", &n_layer, err));
    GEODEC_TRY(geodec_artifact_get_str(states->file, "model_fingerprint", &mine, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "model_fingerprint", &its, err));
    if (strcmp(mine, its) != 0) GEODEC_THROW(GEODEC_CHECKSUM, "%s: the cloud of another model", path);
    if (cloud->layer != n_layer || cloud->d != states->d)
        GEODEC_THROW(GEODEC_INVAL, "%s: a cloud of layer %lld; the flow map is baked from the last layer, %lld", path,
                     (long long)cloud->layer, (long long)n_layer);
    GEODEC_TRY(geodec_provenance_add_artifact(p, a, err));
    o->direction = cloud->basis;
    o->n_directions = cloud->k;
done:
    geodec_artifact_close(a);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_activations states;
    geodec_cloud cloud = {0};
    geodec_flowmap map = {0};
    geodec_flowmap_summary s;
    geodec_flowmap_options o = geodec_flowmap_defaults();
    cli_stage stage = {0};
    o.dims = dims;
    o.state_dims = state_dims;
    o.ridge = ridge;
    o.chart_bytes = chart_bytes;
    o.calibration = calibration;
    o.vote.neighbours = neighbours;
    o.vote.own = own;
    o.vote.chains = chains;
    o.vote.ridge = correction;
    GEODEC_TRY(parse_charts(&o, err));
    GEODEC_TRY(parse_decays(&o, err));
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &states, err));
    if (c->n_args > 1) GEODEC_TRY(use_cloud(c->args[1], &states, &stage.p, &cloud, &o, err));
    GEODEC_TRY(stage_create(&stage, &geodec_flowmap_kind, err));
    GEODEC_TRY(geodec_flowmap_bake(&states, &o, &map, &s, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_flowmap_write(&map, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    cli_say(c,
            "%lld nodes of %lld texts, %.1f bytes a node; %lld charts of %lld coordinates; %.1f %% follow their label",
            (long long)s.nodes, (long long)s.sequences, s.bytes_per_node, (long long)s.charts, (long long)dims,
            100 * (double)s.followed / (double)s.nodes);
    cli_say(c,
            "nearest nodes of other texts agree with %.1f %%; %lld positions predicted without their own text: first "
            "draft right %.1f %%, %.2f of 4",
            100 * s.agreement, (long long)s.calibrated, 100 * s.first, s.mean_of_4);
done:
    geodec_flowmap_clear(&map);
    geodec_cloud_clear(&cloud);
    stage_end(&stage);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
