/* geodec-bake: a flow map from the activations of texts. */
#include "base/mem.h"
#include "chain/cloud.h"
#include "cli/needs.h"
#include "cli/stage.h"
#include "flowmap/flowmap_needs.h"
#include "flowmap/map.h"

static const char *output = "flowmap.h5", *decays = "0.5,0.9", *charts = "learned";
static int64_t dims = 16, neighbours = 32, own = 8, chains = 16;
static double correction = 1;
static geodec_flowmap_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "flowmap.h5"),
    OPT_I64("dims", 'r', &dims, 4, GEODEC_FLOW_DIMS_MAX, "R", "coordinates of a key, a multiple of 4"),
    OPT_I64("state-dims", 0, &opt.state_dims, 1, GEODEC_FLOW_STATE_MAX, "M",
            "principal coordinates of a state that the charts use"),
    OPT_STR("decays", 0, &decays, "LIST",
            "decays of the exponential means of the state along the text: 1 to 4 numbers, at least 0 and below 1"),
    OPT_F64("ridge", 0, &opt.ridge, 1e-6, 1e9, "X",
            "ridge that shrinks a token's Jacobian towards the Jacobian of all tokens, in observations"),
    OPT_STR("charts", 0, &charts, "KIND",
            "learned, or a control of the same rank: euclidean (states), features, random (projection of features)"),
    OPT_F64("correction", 0, &correction, 0, 1e9, "X",
            "ridge of the local linear correction of votes; 1e9 switches it off"),
    OPT_I64("chart-bytes", 0, &opt.chart_bytes, 0, 1e6, "B",
            "limit of the size of the charts, in bytes per node; rare tokens share a chart"),
    OPT_I64("neighbours", 'k', &neighbours, 1, GEODEC_FLOW_NEAR_MAX, "K", "nearest nodes that vote when drafting"),
    OPT_I64("own", 0, &own, 0, GEODEC_FLOW_NEAR_MAX, "K", "nearest earlier positions of the current text that vote"),
    OPT_I64("chains", 0, &chains, 1, GEODEC_FLOW_NEAR_MAX, "K",
            "search the bucket again when fewer than K neighbours of a draft remain"),
    OPT_I64("calibration", 0, &opt.calibration, 0, 1e9, "N",
            "positions predicted for the calibration, each without the nodes of its own text"),
};

static const cli_tool tool = {
    .name = "geodec-bake",
    .topic = CLI_TOPIC_DRAFTING,
    .purpose = "build a flow map, which drafts tokens, from the activations of texts",
    .usage = "[OPTIONS] ACTIVATIONS.h5 [CLOUD.h5]",
    .description =
        "Each stored position becomes a node. A node holds the state before its token, in the chart of that token\n"
        "(8-bit keys), the next token of the model, and the node that the flow reaches with this token. A chart is\n"
        "the pull-back metric of the flow of its token; a regression estimates it. With CLOUD.h5, its principal\n"
        "directions are the first coordinates of the state. Confidences are calibrated on texts of the store,\n"
        "without the nodes of the predicted text. The acceptance that is printed is from this test, not from\n"
        "decoding.",
    .examples = "geodec-sample --model model.gguf --texts 768 --length 256 -o store.tokens\n"
                "geodec-export --model model.gguf --tokens store.tokens --layers last -o store.h5\n"
                "geodec-bake -o flowmap.h5 store.h5",
    CLI_TAKES(options, 1, 2),
    .plans = true,
};

/* --plan */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_activations *states, geodec_err *err)
{
    double bytes;
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_flowmap_needs(states, &opt, c->pool, &c->hooks, c->needs, &bytes, err));
    const geodec_size size = {.fields = (int64_t)bytes};
    needs_process(c->needs);
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_activations states;
    geodec_cloud cloud = {0};
    geodec_flowmap map = {0};
    geodec_flowmap_summary s;
    cli_stage stage = {0};
    opt.dims = dims;
    opt.vote.neighbours = neighbours;
    opt.vote.own = own;
    opt.vote.chains = chains;
    opt.vote.ridge = correction;
    GEODEC_TRY(geodec_flowmap_words(decays, charts, &opt, err));
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &states, err));
    if (c->n_args > 1) GEODEC_TRY(geodec_flowmap_directions(c->args[1], &states, &stage.p, &cloud, &opt, err));
    if (c->needs) {
        GEODEC_TRY(plan(c, &stage, &states, err));
        goto done;
    }
    GEODEC_TRY(stage_create(&stage, &geodec_flowmap_kind, err));
    GEODEC_TRY(geodec_flowmap_bake(&states, &opt, &map, &s, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_flowmap_write(&map, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    cli_say(
        c, "%lld nodes of %lld texts, %.1f bytes per node; %lld charts of %lld coordinates; %.1f %% follow their label",
        (long long)s.nodes, (long long)s.sequences, s.bytes_per_node, (long long)s.charts, (long long)dims,
        100 * (double)s.followed / (double)s.nodes);
    cli_say(c,
            "nearest nodes of other texts agree with %.1f %%; %lld positions predicted without their own text: first "
            "draft correct %.1f %%, %.2f of 4 drafts",
            100 * s.agreement, (long long)s.calibrated, 100 * s.first, s.mean_of_4);
    if (s.route_bytes > 0)
        cli_say(c, "routes: %lld bytes per node; they do not hold %.2f %% of the experts used",
                (long long)s.route_bytes, 100 * s.route_lost);
done:
    geodec_flowmap_clear(&map);
    geodec_cloud_clear(&cloud);
    stage_end(&stage);
    return st;
}

CLI_MAIN(opt = geodec_flowmap_defaults())
