/* geodec-velocity: prediction of the next step of a residual stream. */
#include "base/mem.h"
#include "cli/lab/charts.h"
#include "cli/stage.h"
#include "lab/velocity/cases.h"

#include <string.h>

static const char *output = "velocity.h5", *layers = "last";
static int64_t starts = 100;
static geodec_harness_charts_options chart = {"", .dim = 6, .points = 200, .blend = 0.5, .ridge = 0.01, .sigma_nn = 1};
static bool fisher;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "velocity.h5"),
    CHARTS_OPTIONS(chart),
    OPT_STR("layers", 'l', &layers, "LIST",
            "layers at which to predict steps, token by token: all, last, sink or numbers joined by commas; none: only "
            "the METRIC.h5 files"),
    OPT_I64("starts", 0, &starts, 2, 1e9, "N",
            "number of states of held-out texts at which predictions are made, for each layer"),
    OPT_FLAG("fisher", 0, &fisher, "also use the model's Fisher metric and its blend with the metric of the states"),
};

static const cli_tool tool = {
    .name = "geodec-velocity",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "compare surrogates of the initial velocity with the true next step of a residual stream",
    .usage = "[OPTIONS] ACTIVATIONS.h5 [METRIC.h5 ..]",
    .description =
        "Surrogates of the initial velocity: the mean step, the direction to the mean state, the last step, the step\n"
        "of the nearest training state, linear maps, the changes by the last layer and by the depth sink, and with\n"
        "--model the directions towards the most probable next tokens. The experiment measures, on held-out texts,\n"
        "the cosine with the true step, in the chart and between logarithm maps in the metric. Controls: a random\n"
        "direction, a linear map fitted to shuffled steps, the steps of other states, and the leak test. The leak\n"
        "test replaces the future of a start by that of another start; only the two surrogates that use the answer\n"
        "may change. Surrogates from layer 0, the previous layer and the depth sink need these layers in the file.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-velocity --model model.gguf -o velocity.h5 layers.h5",
    CLI_TAKES(options, 1, 64),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_velocity_cases s = {.split = geodec_harness_split_defaults(), .o = geodec_velocity_initial_defaults()};
    s.charts = (geodec_harness_charts){.o = &chart, .split = &s.split, .local = !fisher};
    s.split.sites = chart.points;
    s.split.seed = s.o.seed = c->seed;
    s.o.starts = starts;
    if (fisher && !*chart.model) GEODEC_THROW(GEODEC_INVAL, "--fisher needs --model");
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_charts(&stage, c->args[0], &s.charts, err));
    const bool none = strcmp(layers, "none") == 0;
    if (none && c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "--layers none needs a METRIC.h5");
    if (!none) GEODEC_TRY(geodec_harness_charts_layers(&s.charts, layers, geodec_velocity_cases_add, &s, err));
    for (int i = 1; i < c->n_args; i++)
        GEODEC_TRY(geodec_harness_charts_file(&s.charts, &stage.p, c->args[i], geodec_velocity_cases_add, &s, err));
    STAGE_WRITE(&stage, &geodec_velocity_kind, geodec_velocity_cases_write(&s, stage.out, err));
    geodec_velocity_cases_say(&c->hooks, &s);
done:
    stage_end(&stage);
    geodec_harness_charts_close(&s.charts);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
