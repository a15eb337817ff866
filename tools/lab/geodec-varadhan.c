/* geodec-varadhan: does attention look along geodesics, as a heat kernel would? */
#include "cli/charts.h"
#include "cli/layers.h"
#include "cli/stage.h"
#include "lab/varadhan/ask.h"

#include <string.h>

enum { CASES_MAX = 256, FORMS = GEODEC_VARADHAN_FORMS };

static const char *output = "varadhan.h5", *layers = "sink", *keys = "both";
static int64_t n_queries = 24, planted = 8;
static charts_options chart = {"", .dim = 6, .points = 200, .blend = 0.5, .ridge = 0.01, .sigma_nn = 1};

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "varadhan.h5"),
    CHARTS_OPTIONS(chart),
    OPT_STR("layers", 'l', &layers, "LIST",
            "layers whose states attend in the block after them: all, sink or numbers joined by commas; none: each "
            "METRIC.h5 alone"),
    OPT_I64("queries", 0, &n_queries, 2, 1e9, "N",
            "states of held-out texts whose attention is looked at, of each layer"),
    OPT_CHOICE("keys", 0, &keys, "both|any|near", "WHICH",
               "any: earlier states at random; near: the two nearest in the chart"),
    OPT_I64("planted", 0, &planted, 0, 1e9, "N",
            "of these, N with a planted gradient: the control that the harness sees a heat kernel"),
};

static const cli_tool tool = {
    .name = "geodec-varadhan",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose =
        "does attention look along geodesics, as a heat kernel would? Beside chords, other keys and shuffled metrics",
    .usage = "[OPTIONS] --model MODEL.gguf ACTIVATIONS.h5 [METRIC.h5 ..]",
    .description =
        "If attention weights were a heat kernel of a metric, the gradient of their logarithm in the attending state\n"
        "would point along the geodesic to the key (Varadhan). Measured for real states and keys of held-out texts, "
        "for\n"
        "every head: the cosine of the gradient - of the logarithm of the weight, of the score, and of the difference "
        "of\n"
        "two keys - with the logarithm map towards the key, with the straight chord, with another key's direction, "
        "and\n"
        "with those of the metric shuffled among its points or turned at random. Chart and metrics are from one half "
        "of\n"
        "the texts, the queries from the other; intervals are a bootstrap over texts. Each METRIC.h5, of any kind, is "
        "one\n"
        "more metric in its own chart and layer.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-varadhan --model model.gguf --layers all -o varadhan.h5 layers.h5",
    CLI_TAKES(options, 1, 64),
};

typedef struct state {
    charts charts;
    geodec_harness_split split;
    geodec_varadhan_options o;
    geodec_varadhan_case cases[CASES_MAX];
    int64_t n_cases, columns;
} state;

static geodec_status one_case(state *s, const geodec_harness_charted *c, int32_t layer, const geodec_harness_sites *f,
                              const char *metric, bool near, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *cl = s->charts.c;
    geodec_varadhan_asked g = {0};
    const geodec_varadhan_source source = {
        .states = &s->charts.source, .split = &s->split, .queries = n_queries, .seed = s->o.seed, .hooks = &cl->hooks};
    if (s->n_cases == CASES_MAX) GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)CASES_MAX);
    geodec_varadhan_case *k = s->cases + s->n_cases;
    *k = (geodec_varadhan_case){.metric = metric, .keys = near ? "near" : "any", .layer = layer};
    GEODEC_TRY(geodec_varadhan_ask(&source, c, layer, near, &g, err));
    const geodec_varadhan_queries q = {.queries = g.count,
                                       .n = c->n,
                                       .columns = s->columns,
                                       .text = g.text,
                                       .state = g.state,
                                       .gradient = g.gradient,
                                       .along = g.along};
    GEODEC_TRY(geodec_varadhan_run(&q, f, &s->split, &s->o, cl->pool, &cl->hooks, &k->figures, err));
    s->n_cases++;
    for (int64_t i = 0; i < g.count; i++) {
        const int64_t together = i * s->columns + s->columns - 1;
        for (int form = 0; form < FORMS; form++) k->inside[form] += g.inside[together * FORMS + form] / (double)g.count;
        k->weight += g.weight[together] / (double)g.count;
    }
done:
    geodec_varadhan_asked_clear(&g);
    return st;
}

static geodec_status evaluate(void *ctx, const geodec_harness_charted *c, int64_t index, const geodec_harness_sites *f,
                              const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    state *s = ctx;
    const int32_t layer = s->charts.layer[index];
    if (layer >= s->charts.n_layer) GEODEC_THROW(GEODEC_RANGE, "layer %d: no block attends after the last", layer);
    if (strcmp(keys, "near") != 0) GEODEC_TRY(one_case(s, c, layer, f, metric, false, err));
    if (strcmp(keys, "any") != 0) GEODEC_TRY(one_case(s, c, layer, f, metric, true, err));
done:
    return st;
}

static void summarise(const state *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_varadhan_case *k = s->cases + i;
        const geodec_varadhan *v = &k->figures;
        const geodec_estimate *pair = v->cosine[0][2], x = v->excess[0][2][GEODEC_VARADHAN_EUCLID];
        cli_say(
            s->charts.c,
            "%s layer %d, %s keys: cosine of the gradient (pair of keys): log %.3f [%.3f, %.3f], chord %.3f, Euclidean "
            "%.3f (log %+.3f [%.3f, %.3f]), whole stream %.3f, shuffled %.3f, random %.3f; other keys %.3f / %.3f / "
            "%.3f; noise %.3f; of the weight: log %.3f, Euclidean %.3f; found %lld of %lld; planted %.4f",
            k->metric, k->layer, k->keys, pair[GEODEC_VARADHAN_LOG].value, pair[GEODEC_VARADHAN_LOG].low,
            pair[GEODEC_VARADHAN_LOG].high, pair[GEODEC_VARADHAN_CHORD].value, pair[GEODEC_VARADHAN_EUCLID].value,
            x.value, x.low, x.high, pair[GEODEC_VARADHAN_STREAM].value, pair[GEODEC_VARADHAN_SHUFFLED].value,
            pair[GEODEC_VARADHAN_RANDOM].value, pair[GEODEC_VARADHAN_WRONG_LOG].value,
            pair[GEODEC_VARADHAN_WRONG_EUCLID].value, pair[GEODEC_VARADHAN_WRONG_STREAM].value,
            pair[GEODEC_VARADHAN_NOISE].value, v->cosine[0][0][GEODEC_VARADHAN_LOG].value,
            v->cosine[0][0][GEODEC_VARADHAN_EUCLID].value, (long long)v->counted[2][GEODEC_VARADHAN_LOG],
            (long long)v->queries, v->planted_cosine.value);
    }
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    state s = {.split = geodec_harness_split_defaults(), .o = geodec_varadhan_defaults()};
    int32_t list[MAX_LAYERS], n_list = 0;
    s.charts = (charts){.c = c, .o = &chart, .split = &s.split};
    s.split.sites = chart.points;
    s.split.seed = s.o.seed = c->seed;
    s.o.planted = planted;
    if (!*chart.model) GEODEC_THROW(GEODEC_INVAL, "--model is wanted: whose attention?");
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(charts_open(&s.charts, &stage, c->args[0], err));
    s.columns = geodec_varadhan_columns(&s.charts.source);
    const bool none = strcmp(layers, "none") == 0, all = strcmp(layers, "all") == 0;
    if (none && c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "--layers none wants a METRIC.h5");
    if (!none) GEODEC_TRY(parse_layers(layers, (int32_t)s.charts.n_layer, list, &n_list, err));
    for (int32_t i = 0; i < n_list; i++) {
        int64_t index;
        if (all && list[i] == s.charts.n_layer) continue;
        if (list[i] == s.charts.n_layer && strcmp(layers, "sink") == 0)
            GEODEC_THROW(GEODEC_SCARCE, "%lld block; attention after the sink layer needs at least 2",
                         (long long)s.charts.n_layer);
        if (list[i] == s.charts.n_layer)
            GEODEC_THROW(GEODEC_RANGE, "layer %d: no block attends after the last", list[i]);
        GEODEC_TRY(geodec_activations_find_layer(&s.charts.view, list[i], &index, err));
        GEODEC_TRY_MSG(charts_fitted(&s.charts, index, evaluate, &s, err), "layer %d", list[i]);
    }
    for (int i = 1; i < c->n_args; i++) GEODEC_TRY(charts_file(&s.charts, &stage, c->args[i], evaluate, &s, err));
    STAGE_WRITE(&stage, &geodec_varadhan_kind,
                geodec_varadhan_write(s.n_cases, s.cases, s.columns, &s.o,
                                      geodec_split_name(s.charts.units.by_document), stage.out, err));
    summarise(&s);
done:
    for (int64_t i = 0; i < s.n_cases; i++) geodec_varadhan_clear(&s.cases[i].figures);
    stage_end(&stage);
    charts_close(&s.charts);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
