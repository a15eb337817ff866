/* geodec-geodesicity: do geodesics predict where a residual stream goes? */
#include "base/mem.h"
#include "cli/charts.h"
#include "cli/stage.h"
#include "lab/geodesicity/correct.h"

#include <string.h>

enum { CASES_MAX = 256 };

static const char *output = "geodesicity.h5", *along = "both", *layers = "last";
static int64_t starts = 60, ahead = 4;
static charts_options chart = {"", .dim = 6, .points = 300, .blend = 0.5, .ridge = 0.01, .sigma_nn = 1};

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "geodesicity.h5"),
    CHARTS_OPTIONS(chart),
    OPT_CHOICE(
        "along", 0, &along, "both|tokens|layers|none", "WAY",
        "token by token at a layer, layer by layer at a token (all kept layers), or both; none: each METRIC.h5 alone"),
    OPT_STR("layers", 'l', &layers, "LIST",
            "layers to go along the tokens at: all, last, sink or numbers joined by commas"),
    OPT_I64("starts", 0, &starts, 2, 1e9, "N", "predictions are made from N states of held-out texts, of each layer"),
    OPT_I64("ahead", 0, &ahead, 1, GEODEC_GEODESICITY_AHEAD, "M", "predict 1 to M steps"),
};

static const cli_tool tool = {
    .name = "geodec-geodesicity",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "do geodesics predict where a residual stream goes? Beside lines, regressions and shuffled metrics",
    .usage = "[OPTIONS] ACTIVATIONS.h5 [METRIC.h5 ..]",
    .description =
        "From a state and its last step, the next states are predicted by the geodesic of a metric, by the straight "
        "line,\n"
        "by linear maps fitted to other texts, by staying, and by geodesics of the same metric with its matrices "
        "shuffled\n"
        "among the points or turned at random. Chart, metric and regressions are from one half of the texts, all "
        "figures\n"
        "from the other; intervals are a bootstrap over texts. The metrics: inverse local covariances (mahalanobis), "
        "and\n"
        "with --model the pulled-back Fisher information of the next token and a log-Euclidean blend of the two. The\n"
        "Euclidean metric's geodesic is the line. Each METRIC.h5, of any kind, is one more, token by token in its own "
        "chart\n"
        "and layer; points of held-out texts are left out of it. Control: the same on planted geodesics of the same "
        "metric.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-geodesicity --model model.gguf --layers 2,4,last -o geodesicity.h5 layers.h5 metric.h5",
    CLI_TAKES(options, 1, 64),
};

typedef struct state {
    charts charts;
    geodec_geodesicity_options o;
    geodec_geodesicity_case cases[CASES_MAX];
    int64_t n_cases;
} state;

static geodec_status evaluate(void *ctx, const geodec_harness_charted *c, int64_t index, const geodec_harness_sites *f,
                              const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    state *s = ctx;
    const cli *cl = s->charts.c;
    geodec_geodesicity *figures = NULL;
    int64_t count;
    GEODEC_TRY(geodec_geodesicity_run(&c->t, f, &s->o, cl->pool, &cl->hooks, &count, &figures, err));
    for (int64_t i = 0; i < count; i++) {
        if (s->n_cases == CASES_MAX) GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)CASES_MAX);
        s->cases[s->n_cases++] =
            (geodec_geodesicity_case){.along = index < 0 ? "layers" : "tokens",
                                      .metric = metric,
                                      .layer = s->charts.layer[index < 0 ? figures[i].place : index],
                                      .figures = figures[i]};
    }
done:
    geodec_mem_free(figures);
    return st;
}

static void summarise(const state *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_geodesicity_case *k = s->cases + i;
        const geodec_geodesicity *f = &k->figures;
        const geodec_estimate d = f->difference[GEODEC_PREDICT_GEODESIC][0][0];
        cli_say(
            s->charts.c,
            "%s %s layer %d: error in steps one ahead: geodesic %.3f (line %+.3f [%.3f, %.3f]), line %.3f, shuffled "
            "%.3f, random %.3f, stay %.3f, linear %.3f / %.3f; broken %lld of %lld",
            k->along, k->metric, k->layer, f->error[GEODEC_PREDICT_GEODESIC][0][0].value, d.value, d.low, d.high,
            f->error[GEODEC_PREDICT_LINE][0][0].value, f->error[GEODEC_PREDICT_SHUFFLED][0][0].value,
            f->error[GEODEC_PREDICT_RANDOM][0][0].value, f->error[GEODEC_PREDICT_STAY][0][0].value,
            f->error[GEODEC_PREDICT_LINEAR_X][0][0].value, f->error[GEODEC_PREDICT_LINEAR_XV][0][0].value,
            (long long)f->broken[GEODEC_PREDICT_GEODESIC], (long long)f->starts);
    }
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    state s = {.o = geodec_geodesicity_defaults()};
    s.charts = (charts){.c = c, .o = &chart, .split = &s.o.split};
    s.o.starts = starts;
    s.o.split.sites = chart.points;
    s.o.ahead = ahead;
    s.o.split.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(charts_open(&s.charts, &stage, c->args[0], err));
    const bool both = strcmp(along, "both") == 0;
    if (strcmp(along, "none") == 0 && c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "--along none wants a METRIC.h5");
    if (both || strcmp(along, "tokens") == 0) GEODEC_TRY(charts_layers(&s.charts, layers, evaluate, &s, err));
    if (both || strcmp(along, "layers") == 0) GEODEC_TRY(charts_fitted(&s.charts, -1, evaluate, &s, err));
    for (int i = 1; i < c->n_args; i++) GEODEC_TRY(charts_file(&s.charts, &stage, c->args[i], evaluate, &s, err));
    STAGE_WRITE(&stage, &geodec_geodesicity_kind,
                geodec_geodesicity_write(s.n_cases, s.cases, ahead, &s.o, geodec_split_name(s.charts.units.by_document),
                                         stage.out, err));
    summarise(&s);
done:
    stage_end(&stage);
    charts_close(&s.charts);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
