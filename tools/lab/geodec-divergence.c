/* geodec-divergence: agreement of metrics on hidden states with the divergence of the model's output. */
#include "cli/stage.h"
#include "lab/divergence/measure.h"

enum { REPLICATES = 400 };

static const char *output = "divergence.h5", *model_path = "", *activations_path = "";
static int64_t pairs = 600;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "divergence.h5"),
    CLI_MODEL_OPTION(model_path),
    OPT_FILE("activations", 'a', &activations_path, "FILE", "activations from which the cloud of the metrics was made",
             .flags = CLI_REQUIRED),
    OPT_I64("pairs", 'p', &pairs, 8, 1e7, "N", "number of pairs of a point and one of its neighbours"),
};

static const cli_tool tool = {
    .name = "geodec-divergence",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "test how well metrics rank the divergences of next-token distributions between neighbouring states",
    .usage = "--model FILE --activations FILE [OPTIONS] METRIC.h5...",
    .description =
        "For pairs of a point and one of its nearest neighbours, the squared length d^T g d / 2 in each metric is\n"
        "compared with the true Kullback-Leibler divergence of the next token. The state is moved along d within the\n"
        "chart, or replaced by the neighbour. The result is Spearman's rank correlation, with a bootstrap over\n"
        "texts. The metrics of the files, all from one chart, are compared with the Fisher metric computed from the\n"
        "model (fisher), its scale without directions (trace), Euclidean lengths (euclidean), the Fisher metric with\n"
        "shuffled rows of the head (shuffled_head) or with its matrices permuted among the points (permuted), and\n"
        "the metric of the whole stream (whole), which is the limit for a metric at the point.",
    .examples = "geodec-divergence -m model.gguf -a activations.h5 -o divergence.h5 metric.h5 metric-blend.h5",
    CLI_TAKES(options, 1, GEODEC_DIVERGENCE_METRICS),
};

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
    GEODEC_TRY(geodec_divergence_measure_metrics(&w, c->n_args, c->args, &stage.p, err));
    if (w.d != states.view.d) GEODEC_THROW(GEODEC_CHECKSUM, "the metrics are not from %s", activations_path);
    GEODEC_TRY(geodec_divergence_measure(&w, err));
    STAGE_WRITE(&stage, &geodec_divergence_kind,
                geodec_divergence_write(&w.result, w.layer, w.n, w.explained, stage.out, err));
    geodec_divergence_measure_say(&c->hooks, &w);
done:
    stage_end(&stage);
    geodec_model_states_close(&states);
    geodec_divergence_work_clear(&w);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
