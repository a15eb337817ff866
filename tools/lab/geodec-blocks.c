/* geodec-blocks: prediction of block summaries of a text from those of other texts. */
#include "chain/metric.h"
#include "cli/lab/charts.h"
#include "cli/stage.h"
#include "lab/blocks/blocks.h"
#include "lab/harness/trajectories.h"

#include <stdio.h>
#include <string.h>

static const char *output = "blocks.h5";
static int64_t dim = 6, points = 300;
static geodec_blocks_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "blocks.h5"),
    OPT_I64("dim", 'n', &dim, 1, GEODEC_RBF_MAX_N, "N",
            "dimension of the chart: principal directions of the last kept layer"),
    OPT_I64("metric-points", 0, &points, 32, 1e6, "N", "states of training texts at which the metric is fitted"),
    OPT_I64("stride", 0, &opt.stride, 1, 1e6, "T", "tokens of a block"),
    OPT_I64("anchors", 'a', &opt.anchors, 2, 1e6, "N", "windows of training texts"),
    OPT_I64("queries", 0, &opt.queries, 2, 1e6, "N", "windows of held-out texts"),
    OPT_I64("top", 0, &opt.top, 1, 64, "K", "anchors in a blend"),
};

static const cli_tool tool = {
    .name = "geodec-blocks",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "predict the block summaries of held-out texts from those of other texts",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
    .description =
        "The blocks are real states at a distance of some tokens. Those of a held-out text are predicted from the\n"
        "nearest anchor, with and without the propagator of its geodesic, and from blends of the nearest anchors\n"
        "with softmax weights or least-squares weights on the simplex. Controls: persistence, the mean anchor and a\n"
        "shuffled anchor. Weights fitted to the true answer give the limit of all blends.",
    .examples = "  geodec-blocks -o blocks.h5 activations.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_activations view;
    geodec_harness_charted chart = {0};
    geodec_metric m = {0};
    geodec_rbf *field = NULL;
    geodec_blocks r;
    cli_stage stage = {0};
    geodec_harness_split split = geodec_harness_split_defaults();
    geodec_harness_chart_options co = geodec_harness_chart_defaults();
    const geodec_metric_options mo = geodec_metric_defaults();
    split.seed = opt.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &view, err));
    co.n = dim;
    co.points = points;
    co.index = view.layers - 1;
    co.split = &split;
    GEODEC_TRY(geodec_harness_charted_make(&view, &co, c->pool, &c->hooks, &chart, err));
    geodec_harness_charts_say_split(&c->hooks, &chart.split);
    GEODEC_TRY(geodec_metric_fit(chart.points, dim, chart.point, &mo, c->pool, &c->hooks, &m, err));
    GEODEC_TRY(geodec_metric_field(&m, &field, err));
    GEODEC_TRY(geodec_blocks_run(geodec_rbf_space(field), &chart.t, &split, &opt, c->pool, &c->hooks, &r, err));
    STAGE_WRITE(&stage, &geodec_blocks_kind,
                geodec_blocks_write(&r, &opt, geodec_split_name(chart.split.by_document), stage.out, err));
    char line[512] = "";
    for (int k = 0; k < GEODEC_BLOCKS_PREDICTORS; k++) {
        const size_t used = strlen(line);
        (void)snprintf(line + used, sizeof line - used, "%s%s %.2f / %.2f", k ? ", " : "",
                       geodec_blocks_predictor_names[k], r.error[k][0].value, r.error[k][opt.blocks - 1].value);
    }
    cli_say(c, "%lld anchors, %lld queries of %lld texts; error relative to the displacement, first / last block: %s",
            (long long)r.anchors, (long long)r.queries, (long long)r.texts, line);
done:
    stage_end(&stage);
    geodec_harness_charted_clear(&chart);
    geodec_metric_clear(&m);
    geodec_rbf_destroy(field);
    return st;
}

CLI_MAIN(opt = geodec_blocks_defaults())
