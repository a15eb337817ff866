/* geodec-velocity: what can be known of the next step of a residual stream before it is taken? */
#include "base/mem.h"
#include "cli/charts.h"
#include "cli/layers.h"
#include "geometry/pca.h"
#include "lab/velocity/correct.h"

#include <math.h>
#include <string.h>

enum { CASES_MAX = 256, BEST = 32 /* tokens of the centroid */ };

static const char *output = "velocity.h5", *model_path = "", *layers = "last";
static int64_t dim = 6, points = 200, starts = 100;
static double blend = 0.5, ridge = 0.01, sigma_nn = 1;
static bool fisher;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "velocity.h5"),
    CHARTS_OPTIONS(model_path, dim, points, blend, ridge, sigma_nn),
    {.name = "layers",
     .letter = 'l',
     .type = CLI_STR,
     .target = &layers,
     .metavar = "LIST",
     .help = "layers to predict steps at, token by token: all, last, sink or numbers joined by commas; none: each "
             "METRIC.h5 alone"},
    {.name = "starts",
     .type = CLI_I64,
     .target = &starts,
     .min = 2,
     .max = 1e9,
     .metavar = "N",
     .help = "predictions are made at N states of held-out texts, of each layer"},
    {.name = "fisher",
     .type = CLI_FLAG,
     .target = &fisher,
     .help = "with the model's Fisher metric and the blend beside the metric of the states"},
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
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 64,
};

typedef struct state {
    charts charts;
    geodec_harness_split split;
    geodec_velocity_initial_options o;
    geodec_velocity_initial_case cases[CASES_MAX];
    int64_t n_cases;
} state;

/* Surrogates' predicted next states, [starts][n] each. */
typedef struct ends {
    double *end[GEODEC_INITIAL_SURROGATES];
    geodec_velocity_initial_ends view;
} ends;

static geodec_status add(ends *e, geodec_velocity_initial_surrogate s, int64_t count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(e->end[s], count);
    e->view.end[s] = e->end[s];
done:
    return st;
}

/* States of these rows at a kept layer, [count][d]. */
static geodec_status read_rows(const geodec_activations *v, int64_t index, int64_t count, const int64_t *row, double *x,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *read = NULL;
    uint8_t *scratch = NULL;
    GEODEC_NEW(read, v->d);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(v, 1) + 1);
    for (int64_t i = 0; i < count; i++) {
        GEODEC_TRY(geodec_activations_read(v, index, row[i], 1, read, scratch, err));
        for (int64_t k = 0; k < v->d; k++) x[i * v->d + k] = (double)read[k];
    }
done:
    geodec_mem_free(read);
    geodec_mem_free(scratch);
    return st;
}

/* Place of a layer in the file, or -1. */
static int64_t kept(const state *s, int64_t layer)
{
    for (int64_t i = 0; i < s->charts.view.layers; i++)
        if (s->charts.layer[i] == layer) return i;
    return -1;
}

/* end = x + B (state at layer a - state at layer b), where both are kept. */
static geodec_status add_difference(const state *s, const geodec_harness_charted *c,
                                    geodec_velocity_initial_surrogate which, int64_t layer_a, int64_t layer_b,
                                    int64_t count, const int64_t *row, ends *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t a = kept(s, layer_a), b = kept(s, layer_b), d = c->d, n = c->n;
    double *xa = NULL, *xb = NULL, *zero = NULL;
    if (a < 0 || b < 0 || a == b) goto done;
    GEODEC_NEW(xa, count * d);
    GEODEC_NEW(xb, count * d);
    GEODEC_NEW(zero, d);
    GEODEC_TRY(add(e, which, count * n, err));
    GEODEC_TRY(read_rows(&s->charts.view, a, count, row, xa, err));
    GEODEC_TRY(read_rows(&s->charts.view, b, count, row, xb, err));
    for (int64_t i = 0; i < count * d; i++) xa[i] -= xb[i];
    GEODEC_TRY(geodec_pca_project(d, n, c->basis, zero, count, xa, e->end[which], s->charts.c->pool, err));
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < n; k++) e->end[which][i * n + k] += c->x[row[i] * n + k];
done:
    geodec_mem_free(xa);
    geodec_mem_free(xb);
    geodec_mem_free(zero);
    return st;
}

/* Mean chart coordinates of the training states of each token, NaN without one: mean [n_vocab][n]. */
static geodec_status token_means(const state *s, const geodec_harness_charted *c, int64_t vocab, double *mean,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const fisher_source *f = &s->charts.source;
    int64_t *count = NULL;
    GEODEC_NEW(count, vocab);
    for (int64_t i = 0; i < f->view.rows; i++) {
        const int32_t token = f->token[i];
        if (f->position[i] == 0 || token < 0 || token >= vocab ||
            !geodec_harness_split_on(&s->split, f->text[i], false))
            continue;
        for (int64_t k = 0; k < c->n; k++) mean[token * c->n + k] += c->x[i * c->n + k];
        count[token]++;
    }
    for (int64_t t = 0; t < vocab; t++)
        for (int64_t k = 0; k < c->n; k++) mean[t * c->n + k] = count[t] ? mean[t * c->n + k] / (double)count[t] : NAN;
done:
    geodec_mem_free(count);
    return st;
}

/* The BEST most probable tokens and their probabilities among themselves, best first. */
static int64_t most_probable(int64_t vocab, const double *logit, int32_t *token, double *p)
{
    int64_t count = 0;
    for (int64_t t = 0; t < vocab; t++) {
        if (count == BEST && !(logit[t] > p[count - 1])) continue;
        int64_t i = count < BEST ? count++ : count - 1;
        for (; i > 0 && logit[t] > p[i - 1]; i--) {
            p[i] = p[i - 1];
            token[i] = token[i - 1];
        }
        p[i] = logit[t];
        token[i] = (int32_t)t;
    }
    double sum = 0;
    const double most = p[0];
    for (int64_t i = 0; i < count; i++) sum += p[i] = exp(p[i] - most);
    for (int64_t i = 0; i < count; i++) p[i] /= sum;
    return count;
}

/* What the model itself says comes next, from the last layer's state at the row: nothing after it. */
static geodec_status add_of_model(const state *s, const geodec_harness_charted *c, int64_t count, const int64_t *row,
                                  ends *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const fisher_source *f = &s->charts.source;
    const int64_t last = kept(s, s->charts.n_layer), n = c->n, d = c->d;
    int32_t token[BEST];
    double *x = NULL, *logit = NULL, *embedded = NULL, *y = NULL, *mean = NULL, p[BEST];
    if (!f->reference || last < 0) goto done;
    const int64_t vocab = geodec_model_configuration(f->model)->n_vocab;
    GEODEC_NEW(x, count * d);
    GEODEC_NEW(logit, count * vocab);
    GEODEC_NEW(embedded, BEST * d);
    GEODEC_NEW(y, BEST * n);
    GEODEC_NEW(mean, vocab * n);
    GEODEC_TRY(add(e, GEODEC_INITIAL_EMBEDDING, count * n, err));
    GEODEC_TRY(add(e, GEODEC_INITIAL_CENTROID, count * n, err));
    GEODEC_TRY(add(e, GEODEC_INITIAL_TOKEN_MEAN, count * n, err));
    GEODEC_TRY(add(e, GEODEC_INITIAL_NEXT_TOKEN, count * n, err));
    GEODEC_TRY(token_means(s, c, vocab, mean, err));
    GEODEC_TRY(read_rows(&s->charts.view, last, count, row, x, err));
    const int32_t layer = (int32_t)s->charts.n_layer;
    GEODEC_TRY(geodec_reference_run(f->reference, layer, layer + 1, count, x, NULL, logit, err));
    for (int64_t i = 0; i < count; i++) {
        const int64_t best = most_probable(vocab, logit + i * vocab, token, p);
        GEODEC_TRY(geodec_reference_embed(f->reference, token, best, embedded, err));
        GEODEC_TRY(geodec_pca_project(d, n, c->basis, c->mean, best, embedded, y, NULL, err));
        const int32_t next = f->token[row[i] + 1];
        for (int64_t k = 0; k < n; k++) {
            e->end[GEODEC_INITIAL_EMBEDDING][i * n + k] = y[k];
            for (int64_t b = 0; b < best; b++) e->end[GEODEC_INITIAL_CENTROID][i * n + k] += p[b] * y[b * n + k];
            e->end[GEODEC_INITIAL_TOKEN_MEAN][i * n + k] = mean[token[0] * n + k];
            e->end[GEODEC_INITIAL_NEXT_TOKEN][i * n + k] = next >= 0 && next < vocab ? mean[next * n + k] : NAN;
        }
    }
done:
    geodec_mem_free(x);
    geodec_mem_free(logit);
    geodec_mem_free(embedded);
    geodec_mem_free(y);
    geodec_mem_free(mean);
    return st;
}

static geodec_status evaluate(void *ctx, const geodec_harness_charted *c, int64_t index, const geodec_harness_sites *f,
                              const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    state *s = ctx;
    const cli *cl = s->charts.c;
    const int32_t layer = s->charts.layer[index];
    ends e = {0};
    int64_t count, *row = NULL;
    if (s->n_cases == CASES_MAX) GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)CASES_MAX);
    GEODEC_TRY(geodec_velocity_initial_starts(&c->t, &s->split, &s->o, &count, &row, err));
    GEODEC_TRY(add_difference(s, c, GEODEC_INITIAL_LAYER_DELTA, layer, layer - 1, count, row, &e, err));
    const int64_t sink = (2 * s->charts.n_layer + 1) / 3;
    GEODEC_TRY(add_difference(s, c, GEODEC_INITIAL_DEPTH, sink, 0, count, row, &e, err));
    GEODEC_TRY(add_of_model(s, c, count, row, &e, err));
    geodec_velocity_initial_case *k = s->cases + s->n_cases;
    *k = (geodec_velocity_initial_case){.metric = metric, .layer = layer};
    GEODEC_TRY(
        geodec_velocity_initial_run(&c->t, f, &e.view, &s->split, &s->o, cl->pool, &cl->hooks, &k->figures, err));
    s->n_cases++;
done:
    for (int i = 0; i < GEODEC_INITIAL_SURROGATES; i++) geodec_mem_free(e.end[i]);
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
                v->chance[p].value, v->leak[p].value, s->o.close, 100 * v->close[p].value);
        }
    }
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    geodec_provenance p = cli_provenance(c);
    state s = {.split = geodec_harness_split_defaults(), .o = geodec_velocity_initial_defaults()};
    int32_t list[MAX_LAYERS], n_list = 0;
    s.charts = (charts){.c = c,
                        .split = &s.split,
                        .dim = dim,
                        .points = points,
                        .blend = blend,
                        .ridge = ridge,
                        .sigma_nn = sigma_nn,
                        .local = !fisher};
    s.split.sites = points;
    s.split.seed = s.o.seed = c->seed;
    s.o.starts = starts;
    if (fisher && !*model_path) GEODEC_THROW(GEODEC_INVAL, "--fisher wants a --model");
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(charts_open(&s.charts, c->args[0], model_path, &p, err));
    const bool none = strcmp(layers, "none") == 0;
    if (none && c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "--layers none wants a METRIC.h5");
    if (!none) GEODEC_TRY(parse_layers(layers, (int32_t)s.charts.n_layer, list, &n_list, err));
    for (int32_t i = 0; i < n_list; i++) {
        int64_t index;
        GEODEC_TRY(geodec_activations_find_layer(&s.charts.view, list[i], &index, err));
        GEODEC_TRY_MSG(charts_fitted(&s.charts, index, evaluate, &s, err), "layer %d", list[i]);
    }
    for (int i = 1; i < c->n_args; i++) GEODEC_TRY(charts_file(&s.charts, c->args[i], &p, evaluate, &s, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_velocity_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_velocity_initial_write(s.n_cases, s.cases, &s.o, geodec_split_name(s.charts.units.by_document),
                                             out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(&s);
done:
    geodec_artifact_close(out);
    charts_close(&s.charts);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
