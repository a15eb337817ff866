/* geodec-geodesicity: do geodesics predict where a residual stream goes? */
#include "base/mem.h"
#include "experiments/trajectories.h"
#include "geometry/metric.h"
#include "linalg/expm.h"
#include "support/cli.h"
#include "support/fisher.h"
#include "support/layers.h"

#include <string.h>

enum { CASES_MAX = 256 };

static const char *output = "geodesicity.h5", *model_path = "", *along = "both", *layers = "last";
static int64_t dim = 6, points = 300, starts = 60, ahead = 4;
static double blend = 0.5, ridge = 0.01, sigma_nn = 1;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "geodesicity.h5"),
    {.name = "model",
     .letter = 'm',
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &model_path,
     .metavar = "FILE",
     .help = "model as GGUF: with the Fisher metric of its next token, and the blend"},
    {.name = "along",
     .type = CLI_CHOICE,
     .target = &along,
     .choices = "both|tokens|layers",
     .metavar = "WAY",
     .help = "token by token at a layer, layer by layer at a token (all kept layers), or both"},
    {.name = "layers",
     .letter = 'l',
     .type = CLI_STR,
     .target = &layers,
     .metavar = "LIST",
     .help = "layers to go along the tokens at: all, last, sink or numbers joined by commas"},
    {.name = "dim",
     .letter = 'n',
     .type = CLI_I64,
     .target = &dim,
     .min = 1,
     .max = GEODEC_RBF_MAX_N,
     .metavar = "N",
     .help = "dimension of the charts: principal directions"},
    {.name = "points",
     .type = CLI_I64,
     .target = &points,
     .min = 32,
     .max = 1e6,
     .metavar = "N",
     .help = "states of training texts the metric is fitted at"},
    {.name = "starts",
     .type = CLI_I64,
     .target = &starts,
     .min = 2,
     .max = 1e9,
     .metavar = "N",
     .help = "predictions are made from N states of held-out texts, of each layer"},
    {.name = "ahead",
     .type = CLI_I64,
     .target = &ahead,
     .min = 1,
     .max = GEODEC_GEODESICITY_AHEAD,
     .metavar = "M",
     .help = "predict 1 to M steps"},
    {.name = "blend",
     .type = CLI_F64,
     .target = &blend,
     .min = 0,
     .max = 1,
     .metavar = "A",
     .help = "weight of the Fisher metric's logarithm in the blend"},
    {.name = "ridge",
     .type = CLI_F64,
     .target = &ridge,
     .min = 0,
     .max = 1e6,
     .metavar = "X",
     .help = "add X times the mean eigenvalue to the Fisher metric"},
    {.name = "sigma-nn",
     .type = CLI_F64,
     .target = &sigma_nn,
     .min = 1e-6,
     .max = 1e6,
     .metavar = "X",
     .help = "width of the fields in median distances to the nearest neighbour"},
};

static const cli_tool tool = {
    .name = "geodec-geodesicity",
    .purpose = "do geodesics predict where a residual stream goes? Beside lines, regressions and shuffled metrics",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
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
        "Euclidean metric's geodesic is the line. Control: the same on planted geodesics of the same metric.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-geodesicity --model model.gguf --layers 2,4,last -o geodesicity.h5 layers.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 1,
};

typedef struct state {
    const cli *c;
    geodec_activations view;
    geodec_geodesicity_options o;
    fisher_source source; /* empty without a model */
    int32_t *layer;       /* [L] of the file */
    geodec_geodesicity_case cases[CASES_MAX];
    int64_t n_cases;
} state;

/* Fisher matrices at the chart's points, regularised; points are in order of layer. */
static geodec_status fisher_at_points(state *s, const geodec_charted *c, double *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    fisher_rows rows = {0};
    int32_t *row = NULL;
    GEODEC_NEW(row, c->points);
    for (int64_t i = 0; i < c->points; i++) row[i] = (int32_t)c->point_row[i];
    for (int64_t i = 0, count; i < c->points; i += count) {
        for (count = 1; i + count < c->points && c->point_place[i + count] == c->point_place[i];) count++;
        GEODEC_TRY(fisher_rows_read(&s->source, s->layer[c->point_place[i]], count, row + i, &rows, err));
        GEODEC_TRY(geodec_fisher_metric(s->source.reference, &rows.s, c->n, c->basis, NULL, &s->c->hooks,
                                        g + i * c->n * c->n, NULL, NULL, err));
        fisher_rows_clear(&rows);
    }
    GEODEC_TRY(geodec_fisher_regularise(c->points, c->n, ridge, g, NULL, NULL, NULL, err));
done:
    fisher_rows_clear(&rows);
    geodec_mem_free(row);
    return st;
}

static geodec_status evaluate(state *s, const geodec_charted *c, const geodec_metric *m, const double *log_g,
                              const char *metric, int64_t index, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_geodesicity_field f = {.sites = c->points, .site = c->point, .log_g = log_g, .sigma = m->sigma};
    geodec_geodesicity *figures = NULL;
    int64_t count;
    GEODEC_TRY_MSG(geodec_geodesicity_run(&c->t, &f, &s->o, s->c->pool, &s->c->hooks, &count, &figures, err), "%s",
                   metric);
    for (int64_t i = 0; i < count; i++) {
        if (s->n_cases == CASES_MAX) GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)CASES_MAX);
        s->cases[s->n_cases++] = (geodec_geodesicity_case){.along = index < 0 ? "layers" : "tokens",
                                                           .metric = metric,
                                                           .layer = s->layer[index < 0 ? figures[i].place : index],
                                                           .figures = figures[i]};
    }
done:
    geodec_mem_free(figures);
    return st;
}

/* All metrics of one chart. index: kept layer, or -1. */
static geodec_status one_chart(state *s, int64_t index, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t packed = geodec_sym_packed(dim);
    geodec_chart_options co = geodec_chart_defaults();
    geodec_metric_options mo = geodec_metric_defaults();
    geodec_charted c = {0};
    geodec_metric m = {0};
    double *g = NULL, *log_g = NULL, *mixed = NULL, *l = NULL;
    co.n = dim;
    co.points = points;
    co.index = index;
    co.split = &s->o;
    mo.sigma_nn = sigma_nn;
    GEODEC_TRY(geodec_charted_make(&s->view, &co, s->c->pool, &s->c->hooks, &c, err));
    GEODEC_TRY(geodec_metric_fit(c.points, dim, c.point, &mo, s->c->pool, &s->c->hooks, &m, err));
    cli_say(s->c, "%s: chart of %lld dimensions holds %.1f %% of the variance (the first %.1f %%), %lld points",
            index < 0 ? "layer by layer" : "token by token", (long long)dim, 100 * c.explained, 100 * c.leading,
            (long long)c.points);
    GEODEC_TRY(evaluate(s, &c, &m, m.log_g, "mahalanobis", index, err));
    if (!s->source.reference) goto done;
    GEODEC_NEW(g, c.points * dim * dim);
    GEODEC_NEW(log_g, c.points * packed);
    GEODEC_NEW(mixed, c.points * packed);
    GEODEC_NEW(l, dim * dim);
    GEODEC_TRY(fisher_at_points(s, &c, g, err));
    for (int64_t i = 0; i < c.points; i++) {
        GEODEC_TRY_MSG(geodec_logm_spd(dim, g + i * dim * dim, l, err), "Fisher metric of point %lld", (long long)i);
        geodec_sym_pack(dim, l, log_g + i * packed);
    }
    for (int64_t i = 0; i < c.points * packed; i++) mixed[i] = (1 - blend) * m.log_g[i] + blend * log_g[i];
    GEODEC_TRY(evaluate(s, &c, &m, log_g, "fisher", index, err));
    GEODEC_TRY(evaluate(s, &c, &m, mixed, "blend", index, err));
done:
    geodec_charted_clear(&c);
    geodec_metric_clear(&m);
    geodec_mem_free(g);
    geodec_mem_free(log_g);
    geodec_mem_free(mixed);
    geodec_mem_free(l);
    return st;
}

static void summarise(const state *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_geodesicity_case *k = s->cases + i;
        const geodec_geodesicity *f = &k->figures;
        const geodec_estimate d = f->difference[GEODEC_PREDICT_GEODESIC][0][0];
        cli_say(
            s->c,
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
    geodec_artifact *in = NULL, *out = NULL;
    geodec_provenance p = cli_provenance(c);
    state s = {.c = c, .o = geodec_geodesicity_defaults()};
    int32_t list[MAX_LAYERS], n_list = 0;
    int64_t n_layer;
    s.o.starts = starts;
    s.o.sites = points;
    s.o.ahead = ahead;
    s.o.seed = c->seed;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_kind_activations, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &s.view, err));
    GEODEC_TRY(geodec_artifact_read(in, "/layer", &s.layer, err));
    GEODEC_TRY(geodec_artifact_get_i64(in, "n_layer", &n_layer, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    if (*model_path) GEODEC_TRY(fisher_open(c, model_path, in, &s.source, err));
    if (strcmp(along, "layers") != 0) {
        GEODEC_TRY(parse_layers(layers, (int32_t)n_layer, list, &n_list, err));
        for (int32_t i = 0; i < n_list; i++) {
            int64_t index;
            GEODEC_TRY(geodec_activations_find_layer(&s.view, list[i], &index, err));
            GEODEC_TRY_MSG(one_chart(&s, index, err), "layer %d", list[i]);
        }
    }
    if (strcmp(along, "tokens") != 0) GEODEC_TRY(one_chart(&s, -1, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_geodesicity, output, &p, &out, err));
    GEODEC_TRY(geodec_geodesicity_write(s.n_cases, s.cases, ahead, &s.o, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(&s);
done:
    geodec_artifact_close(out);
    geodec_artifact_close(in);
    fisher_close(&s.source);
    geodec_mem_free(s.layer);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
