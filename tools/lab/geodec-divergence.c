/* geodec-divergence: what metrics on hidden states know of the model's output. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "chain/metric.h"
#include "cli/cli.h"
#include "cli/fisher.h"
#include "lab/divergence/correct.h"

#include <string.h>

enum { METRICS_MAX = 8, REPLICATES = 400, EXTRA = 6 };

static const char *output = "divergence.h5", *model_path = "", *activations_path = "";
static int64_t pairs = 600;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "divergence.h5"),
    CLI_MODEL_OPTION(model_path),
    {.name = "activations",
     .letter = 'a',
     .type = CLI_STR,
     .flags = CLI_PATH | CLI_REQUIRED,
     .target = &activations_path,
     .metavar = "FILE",
     .help = "the activations the metrics' cloud is from"},
    {.name = "pairs",
     .letter = 'p',
     .type = CLI_I64,
     .target = &pairs,
     .min = 8,
     .max = 1e7,
     .metavar = "N",
     .help = "pairs of a point and one of its neighbours"},
};

static const cli_tool tool = {
    .name = "geodec-divergence",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "how well metrics order the divergences of next-token distributions between neighbouring states",
    .usage = "--model FILE --activations FILE [OPTIONS] METRIC.h5...",
    .description =
        "For pairs of a point and one of its nearest neighbours, the squared length d^T g d / 2 in each metric is "
        "compared\n"
        "with the true Kullback-Leibler divergence of the next token when the state moves along d within the chart, "
        "and when it\n"
        "is replaced by the neighbour's. Spearman's rank correlation, with a bootstrap over texts. Beside the files' "
        "metrics\n"
        "(of one chart) stand: the Fisher metric fresh from the model (fisher), its scale without directions (trace), "
        "plain\n"
        "lengths (euclidean), the Fisher metric with the head's rows shuffled (shuffled_head) or dealt out anew among "
        "the\n"
        "points (permuted), and that of the whole stream (whole), which is the best a metric at the point can do.",
    .examples = "geodec-divergence -m model.gguf -a activations.h5 -o divergence.h5 metric.h5 metric-blend.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = METRICS_MAX,
};

typedef struct work {
    const cli *c;
    geodec_metric metric[METRICS_MAX]; /* of the files */
    int64_t metrics, n, d, layer;
    int32_t *row;          /* [points] */
    double *basis;         /* [n][d] */
    int64_t *from, *to;    /* [pairs] points; from rises with its row */
    fisher_rows own, next; /* states of the pairs' points */
    double *kl;            /* [2][pairs] */
    double *whole;         /* [2][pairs] */
    double explained;
} work;

static geodec_status read_metrics(work *w, geodec_provenance *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    double *basis = NULL;
    for (w->metrics = 0; w->metrics < w->c->n_args; w->metrics++) {
        const char *path = w->c->args[w->metrics];
        geodec_metric *m = w->metric + w->metrics;
        GEODEC_TRY(geodec_artifact_open(&geodec_metric_kind, path, &a, err));
        GEODEC_TRY(geodec_metric_read(a, m, err));
        int64_t d;
        GEODEC_TRY(geodec_artifact_dim(a, "d", &d, err));
        GEODEC_TRY(geodec_artifact_read(a, "/basis", &basis, err));
        if (w->metrics == 0) {
            w->n = m->n;
            w->d = d;
            w->basis = basis;
            basis = NULL;
            GEODEC_TRY(geodec_artifact_read(a, "/activation_row", &w->row, err));
            GEODEC_TRY(geodec_artifact_get_i64(a, "layer", &w->layer, err));
        } else if (m->n != w->n || m->points != w->metric[0].points || d != w->d ||
                   memcmp(basis, w->basis, (size_t)(d * w->n) * sizeof *basis) != 0 ||
                   memcmp(m->point, w->metric[0].point, (size_t)(m->points * m->n) * sizeof(double)) != 0)
            GEODEC_THROW(GEODEC_CHECKSUM, "%s is of another chart or other points than %s", path, w->c->args[0]);
        geodec_mem_free(basis);
        basis = NULL;
        GEODEC_TRY(geodec_provenance_add_artifact(p, a, err));
        geodec_artifact_close(a);
        a = NULL;
    }
done:
    geodec_mem_free(basis);
    geodec_artifact_close(a);
    return st;
}

/* Pairs: seeded points in their order, each with one of its neighbours. */
static geodec_status draw_pairs(work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_metric *m = w->metric;
    GEODEC_NEW(w->from, pairs);
    GEODEC_NEW(w->to, pairs);
    geodec_rng r = geodec_rng_stream(w->c->seed, geodec_rng_id("divergence pairs", 0));
    if (pairs > m->points) pairs = m->points;
    for (int64_t i = 0, taken = 0; i < m->points && taken < pairs; i++) {
        if (geodec_rng_uniform(&r) * (double)(m->points - i) >= (double)(pairs - taken)) continue;
        w->from[taken] = i;
        w->to[taken++] = m->knn_index[i * m->k + (int64_t)geodec_rng_below(&r, (uint64_t)m->k)];
    }
done:
    return st;
}

/* The steps in the chart, [pairs][n]; w->explained: their share of the whole steps. */
static void steps(work *w, double *delta)
{
    double in = 0, all = 0;
    for (int64_t j = 0; j < pairs; j++) {
        const double *x = w->own.state + j * w->d, *y = w->next.state + j * w->d;
        for (int64_t a = 0; a < w->n; a++) {
            delta[j * w->n + a] = 0;
            for (int64_t i = 0; i < w->d; i++) delta[j * w->n + a] += w->basis[a * w->d + i] * (y[i] - x[i]);
            in += delta[j * w->n + a] * delta[j * w->n + a];
        }
        for (int64_t i = 0; i < w->d; i++) all += (y[i] - x[i]) * (y[i] - x[i]);
    }
    w->explained = all > 0 ? in / all : 1;
}

/* The true divergences and the whole stream's forms, for moves within the chart and whole ones. */
static geodec_status truth(work *w, const fisher_source *s, const double *delta, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *moved = NULL;
    int64_t *of = NULL;
    GEODEC_NEW(moved, pairs * w->d);
    GEODEC_NEW(of, pairs);
    memcpy(moved, w->own.state, (size_t)(pairs * w->d) * sizeof *moved);
    for (int64_t j = 0; j < pairs; j++) {
        of[j] = j;
        for (int64_t a = 0; a < w->n; a++)
            for (int64_t i = 0; i < w->d; i++) moved[j * w->d + i] += delta[j * w->n + a] * w->basis[a * w->d + i];
    }
    GEODEC_TRY(geodec_fisher_divergence(s->reference, &w->own.s, pairs, of, moved, &w->c->hooks, w->kl, w->whole, err));
    GEODEC_TRY(geodec_fisher_divergence(s->reference, &w->own.s, pairs, of, w->next.state, &w->c->hooks, w->kl + pairs,
                                        w->whole + pairs, err));
done:
    geodec_mem_free(moved);
    geodec_mem_free(of);
    return st;
}

/* d^T g d / 2 for g [pairs][n][n]; the same for both truths, for a chart sees no more. */
static void lengths(const work *w, const double *g, const double *delta, double *out)
{
    for (int64_t j = 0; j < pairs; j++)
        out[j] = out[pairs + j] = 0.5 * geodec__norm2(w->n, g + j * w->n * w->n, delta + j * w->n);
}

static geodec_status predict(work *w, const fisher_source *s, const double *delta, geodec_divergence *d,
                             double *predicted, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *mc = geodec_model_configuration(s->model);
    const int64_t n = w->n, size = n * n;
    double *g = NULL, *shuffled = NULL, *other = NULL;
    int32_t *swap = NULL;
    GEODEC_NEW(g, pairs * size);
    GEODEC_NEW(shuffled, pairs * size);
    GEODEC_NEW(other, pairs * size);
    GEODEC_NEW(swap, mc->n_vocab);
    geodec_fisher_swap(mc->n_vocab, w->c->seed, swap);
    GEODEC_TRY(geodec_fisher_metric(s->reference, &w->own.s, n, w->basis, swap, &w->c->hooks, g, shuffled, NULL, err));
    geodec_mem_free(swap);
    GEODEC_NEW(swap, pairs);
    geodec_fisher_swap(pairs, w->c->seed, swap);
#define NEXT(label) (d->name[d->kinds] = (label), predicted + 2 * pairs * d->kinds++)
    lengths(w, g, delta, NEXT("fisher"));
    for (int64_t j = 0; j < pairs; j++) {
        double trace = 0;
        for (int64_t a = 0; a < n; a++) trace += g[j * size + a * n + a];
        for (int64_t a = 0; a < size; a++) other[j * size + a] = a % (n + 1) == 0 ? trace / (double)n : 0;
    }
    d->control = d->kinds;
    lengths(w, other, delta, NEXT("trace"));
    for (int64_t j = 0; j < pairs; j++)
        for (int64_t a = 0; a < size; a++) other[j * size + a] = a % (n + 1) == 0;
    lengths(w, other, delta, NEXT("euclidean"));
    lengths(w, shuffled, delta, NEXT("shuffled_head"));
    for (int64_t j = 0; j < pairs; j++) memcpy(other + j * size, g + swap[j] * size, (size_t)size * sizeof *g);
    lengths(w, other, delta, NEXT("permuted"));
    memcpy(NEXT("whole"), w->whole, (size_t)(2 * pairs) * sizeof *predicted);
    for (int64_t k = 0; k < w->metrics; k++) {
        if (w->metric[k].kind == GEODEC_METRIC_FISHER) continue; /* fresh above, without ridge */
        for (int64_t j = 0; j < pairs; j++)
            GEODEC_TRY(geodec_metric_at_point(w->metric + k, w->from[j], other + j * size, err));
        lengths(w, other, delta, NEXT(geodec_metric_type_name(w->metric[k].kind)));
    }
#undef NEXT
done:
    geodec_mem_free(g);
    geodec_mem_free(shuffled);
    geodec_mem_free(other);
    geodec_mem_free(swap);
    return st;
}

static void summarise(const cli *c, const work *w, const geodec_divergence *d)
{
    cli_say(c, "layer %lld, chart of %lld dimensions, %lld pairs; the chart holds %.1f %% of the squared step",
            (long long)w->layer, (long long)w->n, (long long)d->pairs, 100 * w->explained);
    for (int64_t k = 0; k < d->kinds; k++)
        cli_say(c,
                "%-13s rank correlation with KL: in the chart %.3f [%.3f, %.3f], whole state %.3f [%.3f, %.3f]; median "
                "KL / length %.3g",
                d->name[k], d->rank[k][0].value, d->rank[k][0].low, d->rank[k][0].high, d->rank[k][1].value,
                d->rank[k][1].low, d->rank[k][1].high, d->ratio[k][0]);
}

static void clear(work *w)
{
    for (int64_t k = 0; k < METRICS_MAX; k++) geodec_metric_clear(w->metric + k);
    geodec_mem_free(w->row);
    geodec_mem_free(w->basis);
    geodec_mem_free(w->from);
    geodec_mem_free(w->to);
    geodec_mem_free(w->kl);
    geodec_mem_free(w->whole);
    fisher_rows_clear(&w->own);
    fisher_rows_clear(&w->next);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *out = NULL;
    geodec_provenance p = cli_provenance(c);
    fisher_source source = {0};
    geodec_divergence d = {0};
    work w = {.c = c};
    double *delta = NULL, *predicted = NULL;
    int32_t *own = NULL, *next = NULL, *text = NULL;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, activations_path, &in, err));
    GEODEC_TRY(fisher_open(c, model_path, in, &source, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    GEODEC_TRY(read_metrics(&w, &p, err));
    GEODEC_TRY(draw_pairs(&w, err));
    if (w.d != source.view.d) GEODEC_THROW(GEODEC_CHECKSUM, "the metrics are not from %s", activations_path);
    GEODEC_NEW(own, pairs);
    GEODEC_NEW(next, pairs);
    GEODEC_NEW(text, pairs);
    for (int64_t j = 0; j < pairs; j++) {
        own[j] = w.row[w.from[j]];
        next[j] = w.row[w.to[j]];
    }
    GEODEC_TRY(fisher_rows_read(&source, w.layer, pairs, own, &w.own, err));
    GEODEC_TRY(fisher_rows_read(&source, w.layer, pairs, next, &w.next, err));
    for (int64_t j = 0; j < pairs; j++) text[j] = source.text[own[j]];
    GEODEC_NEW(delta, pairs * w.n);
    GEODEC_NEW(w.kl, 2 * pairs);
    GEODEC_NEW(w.whole, 2 * pairs);
    GEODEC_NEW(predicted, (EXTRA + w.metrics) * 2 * pairs);
    steps(&w, delta);
    GEODEC_TRY(truth(&w, &source, delta, err));
    d.pairs = pairs;
    GEODEC_TRY(predict(&w, &source, delta, &d, predicted, err));
    d.kl = w.kl;
    d.predicted = predicted;
    GEODEC_TRY(geodec_divergence_compute(&d, text, REPLICATES, c->seed, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_divergence_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_divergence_write(&d, w.layer, w.n, w.explained, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(c, &w, &d);
done:
    geodec_artifact_close(out);
    fisher_close(&source);
    geodec_artifact_close(in);
    clear(&w);
    geodec_mem_free(delta);
    geodec_mem_free(predicted);
    geodec_mem_free(own);
    geodec_mem_free(next);
    geodec_mem_free(text);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
