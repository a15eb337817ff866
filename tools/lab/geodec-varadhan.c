/* geodec-varadhan: test whether the gradients of attention point along geodesics, as those of a heat kernel do. */
#include "cli/lab/charts.h"
#include "cli/stage.h"
#include "lab/varadhan/cases.h"
#include "session/layer_list.h"

#include <string.h>

static const char *output = "varadhan.h5", *layers = "sink", *keys = "both";
static int64_t n_queries = 24, planted = 8;
static double kernel = -1;
static geodec_harness_charts_options chart = {"", .dim = 6, .points = 200, .blend = 0.5, .ridge = 0.01, .sigma_nn = 1};

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "varadhan.h5"),
    CHARTS_OPTIONS(chart),
    OPT_STR("layers", 'l', &layers, "LIST",
            "layers whose states are the input of the examined attention: all, sink or numbers joined by commas; none: "
            "only the METRIC.h5 files"),
    OPT_I64("queries", 0, &n_queries, 2, 1e9, "N",
            "number of states of held-out texts whose attention is examined, for each layer"),
    OPT_CHOICE("keys", 0, &keys, "both|any|near", "WHICH",
               "any: random earlier states; near: the two nearest earlier states in the chart"),
    OPT_I64(
        "planted", 0, &planted, 0, 1e9, "N",
        "number of these states that get a planted gradient; the control that the experiment detects a heat kernel"),
    OPT_F64(
        "kernel", 0, &kernel, -1, 1, "SHARE",
        "in place of the model's, gradients of which this share is that of a heat kernel of the metric and the rest "
        "random: the positive control (below 0: the model's)"),
};

static const cli_tool tool = {
    .name = "geodec-varadhan",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "test whether the gradients of attention point along geodesics, as those of a heat kernel do",
    .usage = "[OPTIONS] --model MODEL.gguf ACTIVATIONS.h5 [METRIC.h5 ..]",
    .description =
        "If attention weights were a heat kernel of a metric, the gradient of their logarithm with respect to the\n"
        "attending state would point along the geodesic to the key (Varadhan). The experiment uses real states and\n"
        "keys of held-out texts and measures, for every head, the cosine of the gradient with a direction. The\n"
        "gradients are those of the logarithm of the weight, of the score, and of the difference between two keys.\n"
        "The directions are the logarithm map towards the key, the straight chord, the direction of another key, and\n"
        "the logarithm maps of the metric with its matrices shuffled among the points or rotated at random. Chart\n"
        "and metrics come from one half of the texts, the queries from the other half; intervals are a bootstrap\n"
        "over texts. Each METRIC.h5, of any kind, is a further metric in its own chart and layer.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-varadhan --model model.gguf --layers all -o varadhan.h5 layers.h5",
    CLI_TAKES(options, 1, 64),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_varadhan_cases s = {.split = geodec_harness_split_defaults(), .o = geodec_varadhan_defaults()};
    int32_t list[GEODEC_LAYERS_MAX], n_list = 0;
    s.charts = (geodec_harness_charts){.o = &chart, .split = &s.split};
    s.split.sites = chart.points;
    s.split.seed = s.o.seed = c->seed;
    s.o.planted = planted;
    s.o.kernel = kernel;
    s.n_queries = n_queries;
    s.any = strcmp(keys, "near") != 0;
    s.near = strcmp(keys, "any") != 0;
    if (!*chart.model) GEODEC_THROW(GEODEC_INVAL, "--model is missing");
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_charts(&stage, c->args[0], &s.charts, err));
    s.columns = geodec_model_configuration(s.charts.source.model)->n_head + 1;
    const bool none = strcmp(layers, "none") == 0, all = strcmp(layers, "all") == 0;
    if (none && c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "--layers none needs a METRIC.h5");
    if (!none) GEODEC_TRY(geodec_layer_list_parse(layers, (int32_t)s.charts.n_layer, list, &n_list, err));
    for (int32_t i = 0; i < n_list; i++) {
        int64_t index;
        if (all && list[i] == s.charts.n_layer) continue;
        if (list[i] == s.charts.n_layer && strcmp(layers, "sink") == 0 && kernel < 0)
            GEODEC_THROW(GEODEC_SCARCE, "%lld block; attention after the sink layer needs at least 2",
                         (long long)s.charts.n_layer);
        if (list[i] == s.charts.n_layer && kernel < 0)
            GEODEC_THROW(GEODEC_RANGE, "layer %d: no block attends after the last", list[i]);
        GEODEC_TRY(geodec_activations_find_layer(&s.charts.view, list[i], &index, err));
        GEODEC_TRY_MSG(geodec_harness_charts_fitted(&s.charts, index, geodec_varadhan_cases_add, &s, err), "layer %d",
                       list[i]);
    }
    for (int i = 1; i < c->n_args; i++)
        GEODEC_TRY(geodec_harness_charts_file(&s.charts, &stage.p, c->args[i], geodec_varadhan_cases_add, &s, err));
    STAGE_WRITE(&stage, &geodec_varadhan_kind, geodec_varadhan_cases_write(&s, stage.out, err));
    geodec_varadhan_cases_say(&c->hooks, &s);
done:
    for (int64_t i = 0; i < s.n_cases; i++) geodec_varadhan_clear(&s.cases[i].figures);
    stage_end(&stage);
    geodec_harness_charts_close(&s.charts);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
