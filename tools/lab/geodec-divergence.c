/* geodec-divergence: what metrics on hidden states know of the model's output. */
#include "base/mem.h"
#include "cli/stage.h"
#include "lab/divergence/measure.h"

#include <string.h>

enum { REPLICATES = 400 };

static const char *output = "divergence.h5", *model_path = "", *activations_path = "";
static int64_t pairs = 600;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "divergence.h5"),
    CLI_MODEL_OPTION(model_path),
    OPT_FILE("activations", 'a', &activations_path, "FILE", "the activations the metrics' cloud is from",
             .flags = CLI_REQUIRED),
    OPT_I64("pairs", 'p', &pairs, 8, 1e7, "N", "pairs of a point and one of its neighbours"),
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
    CLI_TAKES(options, 1, GEODEC_DIVERGENCE_METRICS),
};

static geodec_status read_metrics(const cli *c, geodec_divergence_work *w, geodec_provenance *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    double *basis = NULL;
    for (w->metrics = 0; w->metrics < c->n_args; w->metrics++) {
        const char *path = c->args[w->metrics];
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
            GEODEC_THROW(GEODEC_CHECKSUM, "%s is of another chart or other points than %s", path, c->args[0]);
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

static void summarise(const cli *c, const geodec_divergence_work *w)
{
    const geodec_divergence *d = &w->result;
    cli_say(c, "layer %lld, chart of %lld dimensions, %lld pairs; the chart holds %.1f %% of the squared step",
            (long long)w->layer, (long long)w->n, (long long)d->pairs, 100 * w->explained);
    for (int64_t k = 0; k < d->kinds; k++)
        cli_say(c,
                "%-13s rank correlation with KL: in the chart %.3f [%.3f, %.3f], whole state %.3f [%.3f, %.3f]; median "
                "KL / length %.3g",
                d->name[k], d->rank[k][0].value, d->rank[k][0].low, d->rank[k][0].high, d->rank[k][1].value,
                d->rank[k][1].low, d->rank[k][1].high, d->ratio[k][0]);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in;
    cli_stage stage = {0};
    geodec_model_states states = {0};
    geodec_divergence_work w = {
        .states = &states, .hooks = &c->hooks, .seed = c->seed, .pairs = pairs, .replicates = REPLICATES};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, activations_path, &in, err));
    GEODEC_TRY(geodec_model_states_open(model_path, in, c->pool, &states, err));
    GEODEC_TRY(read_metrics(c, &w, &stage.p, err));
    if (w.d != states.view.d) GEODEC_THROW(GEODEC_CHECKSUM, "the metrics are not from %s", activations_path);
    GEODEC_TRY(geodec_divergence_measure(&w, err));
    STAGE_WRITE(&stage, &geodec_divergence_kind,
                geodec_divergence_write(&w.result, w.layer, w.n, w.explained, stage.out, err));
    summarise(c, &w);
done:
    stage_end(&stage);
    geodec_model_states_close(&states);
    geodec_divergence_work_clear(&w);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
