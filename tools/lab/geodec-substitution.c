/* geodec-substitution: next hidden states from records of earlier steps, instead of a pass of the model. */
#include "cli/lab/charts.h"
#include "cli/stage.h"
#include "lab/substitution/measure.h"

#include <string.h>

enum { REPLICATES = 400 };

static const char *output = "substitution.h5", *model_path, *kind = "mahalanobis";
static int64_t dim = 8, records = 2000, queries = 400;
static double ridge = 0.01;
static bool timed;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "substitution.h5"),
    CLI_MODEL_OPTION(model_path),
    OPT_CHOICE("kind", 0, &kind, "mahalanobis|fisher", "KIND", "metric of the lookup and the propagators"),
    OPT_I64("dim", 'n', &dim, 1, GEODEC_RBF_MAX_N, "N", "dimension of the chart (number of principal directions)"),
    OPT_I64("records", 'r', &records, 64, 1e6, "N", "number of records: pairs of consecutive states of training texts"),
    OPT_I64("queries", 0, &queries, 2, 1e7, "N", "number of states of held-out texts"),
    OPT_FLAG("time", 0, &timed,
             "time a step of the model, its head and a lookup on one thread (without this option, no speed-ups are "
             "reported)"),
};

static const cli_tool tool = {
    .name = "geodec-substitution",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "predict next hidden states from records of earlier steps, compared with predictors without records",
    .usage = "--model FILE [OPTIONS] ACTIVATIONS.h5",
    .description =
        "Records are pairs of consecutive states at the last layer, from one half of the texts. For states of the\n"
        "other half, the next state is predicted by the successor of the nearest record, by this successor shifted\n"
        "or moved by the propagator of the record, by a linear map without records, by persistence, and by a random\n"
        "record. Errors are in units of the length of a step; the agreement is the share of predictions with the\n"
        "same argmax token as the true next state.",
    .examples = "geodec-substitution -m model.gguf --time -o substitution.h5 activations.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in;
    cli_stage stage = {0};
    geodec_model_states states = {0};
    geodec_substitution_work w = {.states = &states,
                                  .pool = c->pool,
                                  .hooks = &c->hooks,
                                  .seed = c->seed,
                                  .dim = dim,
                                  .records = records,
                                  .queries = queries,
                                  .ridge = ridge,
                                  .replicates = REPLICATES,
                                  .fisher = strcmp(kind, "fisher") == 0,
                                  .timed = timed};
    geodec_substitution s;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_model_states_open(model_path, in, c->pool, &states, err));
    geodec_harness_charts_say_split(&c->hooks, &states.units);
    GEODEC_TRY(geodec_substitution_measure(&w, &s, err));
    STAGE_WRITE(&stage, &geodec_substitution_kind,
                geodec_substitution_write(&s, geodec_split_name(states.units.by_document), stage.out, err));
    geodec_substitution_say(&c->hooks, &s);
done:
    stage_end(&stage);
    geodec_substitution_work_clear(&w);
    geodec_model_states_close(&states);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
