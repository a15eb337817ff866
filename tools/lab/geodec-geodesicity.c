/* geodec-geodesicity: prediction of residual streams by geodesics. */
#include "base/mem.h"
#include "cli/lab/charts.h"
#include "cli/stage.h"
#include "geometry/quadratic.h"
#include "lab/geodesicity/cases.h"

#include <string.h>

static const char *output = "geodesicity.h5", *along = "both", *layers = "last";
static int64_t starts = 60, ahead = 4, set_dim, set_points = 4000;
static double set_share = 0.99;
static geodec_harness_charts_options chart = {"", .dim = 6, .points = 300, .blend = 0.5, .ridge = 0.01, .sigma_nn = 1};

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "geodesicity.h5"),
    CHARTS_OPTIONS(chart),
    OPT_CHOICE("along", 0, &along, "both|tokens|layers|none", "WAY",
               "trajectories: tokens: token by token at a layer; layers: layer by layer at a token (all kept layers); "
               "both; none: only the METRIC.h5 files"),
    OPT_STR("layers", 'l', &layers, "LIST",
            "layers of the trajectories along tokens: all, last, sink or numbers joined by commas"),
    OPT_I64("starts", 0, &starts, 2, 1e9, "N",
            "number of states of held-out texts from which predictions are made, for each layer"),
    OPT_I64("ahead", 0, &ahead, 1, GEODEC_GEODESICITY_AHEAD, "M", "largest number of steps to predict"),
    OPT_I64("set-dim", 0, &set_dim, -1, GEODEC_QUADRATIC_MAX_N, "N",
            "dimension of the set that the states lie near (0: that of the charts, at most 12; -1: no set)"),
    OPT_I64("set-points", 0, &set_points, 30, 1e9, "N",
            "states of training texts through which the set is fitted, at most"),
    OPT_F64("set-share", 0, &set_share, 0.01, 1, "X",
            "least share of the variance in the coordinates of the set (of at most 64)"),
};

static const cli_tool tool = {
    .name = "geodec-geodesicity",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "compare predictions of residual streams by geodesics, lines, regressions and shuffled metrics",
    .usage = "[OPTIONS] ACTIVATIONS.h5 [METRIC.h5 ..]",
    .description =
        "From a state and its last step, the next states are predicted by the geodesic of a metric, by the straight\n"
        "line, by linear maps fitted to other texts, by persistence, and by geodesics of the same metric with its\n"
        "matrices shuffled among the points or rotated at random. Chart, metric and regressions come from one half\n"
        "of the texts, all figures from the other half; intervals are a bootstrap over texts. Metrics: inverse local\n"
        "covariances (mahalanobis), and with --model the pulled-back Fisher information of the next token (fisher)\n"
        "and a log-Euclidean blend of the two. The geodesic of the Euclidean metric is the line. Each METRIC.h5, of\n"
        "any kind, is a further metric, token by token in its own chart and layer, without its points from held-out\n"
        "texts. Control: the same on planted geodesics of the same metric.\n"
        "Token by token, also the geodesics of the set that the states lie near: local charts in the leading\n"
        "coordinates that hold --set-share of the variance, with no chart of the whole. set is the straight line\n"
        "and what the curvature of the set adds to it; set_fitted adds it to a regression. Controls: the curvature\n"
        "of other places, the set of a Gaussian cloud, and geodesics planted on the fitted set with the residuals\n"
        "of the data: the share of their correctable error that is recovered is the power of the comparison.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-geodesicity --model model.gguf --layers 2,4,last -o geodesicity.h5 layers.h5 metric.h5",
    CLI_TAKES(options, 1, 64),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_geodesicity_cases s = {.o = geodec_geodesicity_defaults()};
    s.charts = (geodec_harness_charts){.o = &chart, .split = &s.o.split};
    s.o.starts = starts;
    s.o.split.sites = chart.points;
    s.o.ahead = ahead;
    s.set = geodec_geodesicity_set_defaults();
    s.set.points = set_points;
    s.set.starts = starts;
    s.set.ahead = ahead;
    s.set_dim = set_dim;
    s.set_share = set_share;
    s.o.split.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_charts(&stage, c->args[0], &s.charts, err));
    const bool both = strcmp(along, "both") == 0;
    if (strcmp(along, "none") == 0 && c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "--along none needs a METRIC.h5");
    if (both || strcmp(along, "tokens") == 0)
        GEODEC_TRY(geodec_harness_charts_layers(&s.charts, layers, geodec_geodesicity_cases_add, &s, err));
    if (both || strcmp(along, "layers") == 0)
        GEODEC_TRY(geodec_harness_charts_fitted(&s.charts, -1, geodec_geodesicity_cases_add, &s, err));
    for (int i = 1; i < c->n_args; i++)
        GEODEC_TRY(geodec_harness_charts_file(&s.charts, &stage.p, c->args[i], geodec_geodesicity_cases_add, &s, err));
    STAGE_WRITE(&stage, &geodec_geodesicity_kind, geodec_geodesicity_cases_write(&s, stage.out, err));
    geodec_geodesicity_cases_say(&c->hooks, &s);
done:
    stage_end(&stage);
    geodec_harness_charts_close(&s.charts);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
