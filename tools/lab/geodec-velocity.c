/* geodec-velocity: what can be known of the next step of a residual stream before it is taken? */
#include "base/mem.h"
#include "cli/charts.h"
#include "cli/stage.h"
#include "lab/velocity/model.h"

#include <string.h>

enum { CASES_MAX = 256 };

static const char *output = "velocity.h5", *layers = "last";
static int64_t starts = 100;
static charts_options chart = {"", .dim = 6, .points = 200, .blend = 0.5, .ridge = 0.01, .sigma_nn = 1};
static bool fisher;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "velocity.h5"),
    CHARTS_OPTIONS(chart),
    OPT_STR("layers", 'l', &layers, "LIST",
            "layers to predict steps at, token by token: all, last, sink or numbers joined by commas; none: each "
            "METRIC.h5 alone"),
    OPT_I64("starts", 0, &starts, 2, 1e9, "N", "predictions are made at N states of held-out texts, of each layer"),
    OPT_FLAG("fisher", 0, &fisher, "with the model's Fisher metric and the blend beside the metric of the states"),
};

static const cli_tool tool = {
    .name = "geodec-velocity",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "what can be known of the next step of a residual stream before it is taken? With a leak test",
    .usage = "[OPTIONS] ACTIVATIONS.h5 [METRIC.h5 ..]",
    .description =
        "Surrogates of the initial velocity: the mean step, the way to the mean state, the last step, the step of the "
        "nearest training state, "
        "linear\n"
        "maps, the last layer's part, the depth sink's; and with --model directions towards its most probable next\n"
        "tokens. Measured on held-out texts: the cosine with the true step, in the chart and between logarithm maps "
        "in\n"
        "the metric. Controls: a random direction, a linear map fitted to shuffled steps, the steps of other states, "
        "and\n"
        "the leak test: with another's future in place of the own no surrogate may change, but the two that know the\n"
        "answer. Layers 0, the one before and the depth sink give surrogates of their own where the file has them.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-velocity --model model.gguf -o velocity.h5 layers.h5",
    CLI_TAKES(options, 1, 64),
};

typedef struct state {
    charts charts;
    geodec_harness_split split;
    geodec_velocity_initial_options o;
    geodec_velocity_initial_case cases[CASES_MAX];
    int64_t n_cases;
} state;

static geodec_status evaluate(void *ctx, const geodec_harness_charted *c, int64_t index, const geodec_harness_sites *f,
                              const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    state *s = ctx;
    const cli *cl = s->charts.c;
    const int32_t layer = s->charts.layer[index];
    geodec_velocity_initial_predictions e = {0};
    const geodec_initial_source source = {.view = &s->charts.view,
                                          .layer = s->charts.layer,
                                          .n_layer = s->charts.n_layer,
                                          .model = &s->charts.source,
                                          .split = &s->split,
                                          .pool = cl->pool};
    int64_t count, *row = NULL;
    if (s->n_cases == CASES_MAX) GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)CASES_MAX);
    GEODEC_TRY(geodec_velocity_initial_starts(&c->t, &s->split, &s->o, &count, &row, err));
    GEODEC_TRY(geodec_velocity_initial_predict(&source, c, layer, count, row, &e, err));
    geodec_velocity_initial_case *k = s->cases + s->n_cases;
    *k = (geodec_velocity_initial_case){.metric = metric, .layer = layer};
    GEODEC_TRY(
        geodec_velocity_initial_run(&c->t, f, &e.view, &s->split, &s->o, cl->pool, &cl->hooks, &k->figures, err));
    s->n_cases++;
done:
    geodec_velocity_initial_predictions_clear(&e);
    geodec_mem_free(row);
    return st;
}

static void summarise(const state *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_velocity_initial_case *k = s->cases + i;
        const geodec_velocity_initial *v = &k->figures;
        cli_say(s->charts.c, "%s layer %d: %lld starts of %lld texts", k->metric, k->layer, (long long)v->starts,
                (long long)v->texts);
        for (int p = 0; p < GEODEC_INITIAL_SURROGATES; p++) {
            if (v->counted[p][0] == 0) continue;
            cli_say(
                s->charts.c,
                "  %-14s cosine %+.3f [%+.3f, %+.3f], in the metric %+.3f of %lld, another's step %+.3f, leak %.3f, "
                "above %g %.0f %%",
                geodec_velocity_initial_name((geodec_velocity_initial_surrogate)p), v->cosine[p][0].value,
                v->cosine[p][0].low, v->cosine[p][0].high, v->cosine[p][1].value, (long long)v->counted[p][1],
                v->unrelated[p].value, v->leak[p].value, s->o.close, 100 * v->close[p].value);
        }
    }
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    state s = {.split = geodec_harness_split_defaults(), .o = geodec_velocity_initial_defaults()};
    s.charts = (charts){.c = c, .o = &chart, .split = &s.split, .local = !fisher};
    s.split.sites = chart.points;
    s.split.seed = s.o.seed = c->seed;
    s.o.starts = starts;
    if (fisher && !*chart.model) GEODEC_THROW(GEODEC_INVAL, "--fisher wants a --model");
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(charts_open(&s.charts, &stage, c->args[0], err));
    const bool none = strcmp(layers, "none") == 0;
    if (none && c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "--layers none wants a METRIC.h5");
    if (!none) GEODEC_TRY(charts_layers(&s.charts, layers, evaluate, &s, err));
    for (int i = 1; i < c->n_args; i++) GEODEC_TRY(charts_file(&s.charts, &stage, c->args[i], evaluate, &s, err));
    STAGE_WRITE(&stage, &geodec_velocity_kind,
                geodec_velocity_initial_write(s.n_cases, s.cases, &s.o, geodec_split_name(s.charts.units.by_document),
                                              stage.out, err));
    summarise(&s);
done:
    stage_end(&stage);
    charts_close(&s.charts);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
