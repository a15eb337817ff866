/* geodec-fisher-field: curvature and geodesics of the model's own Fisher metric. */
#include "cli/lab/charts.h"
#include "cli/stage.h"
#include "geometry/geodesic.h"
#include "lab/fisher/cases.h"
#include "session/layer_list.h"

static const char *output = "fisher-field.h5", *layers = "sink,last";
static geodec_harness_charts_options chart = {.model = ""};
static geodec_fisher_cases s;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "fisher-field.h5"),
    CLI_MODEL_OPTION(chart.model),
    OPT_STR("layers", 'l', &layers, "LIST",
            "boundaries of the residual stream: all, last, sink (2/3 of the depth) or numbers joined by commas"),
    OPT_I64("dim", 'n', &s.n, 2, GEODEC_FISHER_FIELD_MAX, "N", "dimension of the charts"),
    OPT_I64("starts", 0, &s.starts, 2, 1e9, "N", "states of held-out texts, for each layer"),
    OPT_I64("steps", 0, &s.o.steps, 1, GEODEC_LOGMAP_STEPS, "N", "steps of a geodesic"),
    OPT_I64("checks", 0, &s.checks, 0, 1e9, "N",
            "states of a chart whose curvature is also computed from a differentiated connection"),
    OPT_I64("bootstrap", 0, &s.replicates, 0, 1e6, "N", "replicates over texts for the 95 % intervals"),
};

static const cli_tool tool = {
    .name = "geodec-fisher-field",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure curvature and geodesics of the model's own Fisher metric in charts through its states",
    .usage = "--model FILE [OPTIONS] ACTIVATIONS.h5",
    .description =
        "The Fisher information of the next token's distribution, pulled back through the rest of the network, is a\n"
        "metric at every point of a chart through a state, whether a text has a state there or not. The tool computes\n"
        "it from exact derivatives of the float64 evaluation, and its connection and curvature from one central\n"
        "difference of these; error and asymmetry say how exact that is. A part of the simplex of all distributions\n"
        "that is flat within it has curvature 1/4. Charts: principal directions of the states of training texts,\n"
        "directions that change the next token most, and random directions as the control. Between each state and the\n"
        "one before it: the Fisher length of the geodesic, of the straight line, and the distance among all\n"
        "distributions. The geodesic is continued to predict the next state, against the straight line and no "
        "movement.\n"
        "Controls: families of distributions of curvature 1/4, 0 and -1/2; the curvature of a differentiated\n"
        "connection; planted geodesics.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-fisher-field --model model.gguf --layers 2,last -o fisher-field.h5 layers.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    int32_t list[GEODEC_LAYERS_MAX], n = 0;
    s.split.seed = c->seed;
    s.charts = (geodec_harness_charts){.o = &chart, .split = &s.split};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_charts(&stage, c->args[0], &s.charts, err));
    GEODEC_TRY(geodec_layer_list_parse(layers, (int32_t)s.charts.n_layer, list, &n, err));
    GEODEC_TRY(geodec_fisher_cases_families(&s, err));
    for (int32_t i = 0; i < n; i++) GEODEC_TRY_MSG(geodec_fisher_cases_add(&s, list[i], err), "layer %d", list[i]);
    STAGE_WRITE(&stage, &geodec_fisher_cases_kind, geodec_fisher_cases_write(&s, stage.out, err));
    geodec_fisher_cases_say(&c->hooks, &s);
done:
    stage_end(&stage);
    geodec_harness_charts_close(&s.charts);
    geodec_fisher_cases_clear(&s);
    return st;
}

CLI_MAIN(s = geodec_fisher_cases_defaults())
