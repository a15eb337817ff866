/* geodec-substitution: next hidden states from records of earlier steps, instead of a pass of the model. */
#include "base/mem.h"
#include "chain/coverage.h"
#include "cli/charts.h"
#include "cli/mode.h"
#include "cli/stage.h"
#include "io/foreign.h"
#include "lab/published/substitution.h"
#include "lab/substitution/measure.h"

#include <math.h>
#include <string.h>

enum { REPLICATES = 400, REF_SHARES = 2 };

static const char *output = "substitution.h5", *mode = "correct", *draws, *model_path, *kind = "mahalanobis";
static int64_t dim = 8, records = 2000, queries = 400;
static double ridge = 0.01;
static bool timed;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "substitution.h5"),
    CLI_MODE_OPTION(mode),
    CLI_DRAWS_OPTION(draws),
    OPT_FILE("model", 'm', &model_path, "FILE", "model as GGUF (required by --mode correct)"),
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
    .usage = "--model FILE [OPTIONS] ACTIVATIONS.h5\n       geodec-substitution --mode ref --draws FILE.h5 [OPTIONS]",
    .description =
        "Records are pairs of consecutive states at the last layer, from one half of the texts. For states of the\n"
        "other half, the next state is predicted by the successor of the nearest record, by this successor shifted\n"
        "or moved by the propagator of the record, by a linear map without records, by persistence, and by a random\n"
        "record. Errors are in units of the length of a step; the agreement is the share of predictions with the\n"
        "same argmax token as the true next state. --mode ref repeats the published counts, which predict no next\n"
        "state.",
    .examples = "geodec-substitution -m model.gguf --time -o substitution.h5 activations.h5\n"
                "geodec-substitution --mode ref --draws smollm2-135m_n8.h5 -o substitution-ref.h5",
    CLI_TAKES(options, 0, 1),
};

static geodec_status run_ref(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const double share[REF_SHARES] = {0.25, 0.5};
    cli_stage stage = {0};
    geodec_harness_manifold m = {0};
    const geodec_harness_options o = geodec_harness_defaults();
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1}, *permutation = NULL;
    double *point = NULL;
    geodec_substitution_published row[REF_SHARES];
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    const int64_t points = shape[0], n = shape[1];
    memcpy(shape, (int64_t[]){-1, -1, points}, 3 * sizeof *shape);
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/coverage/permutations", 3, shape, 0, points - 1, &permutation, err));
    if (shape[0] < 1 || shape[1] < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: no permutation", draws);
    GEODEC_TRY(geodec_harness_manifold_fit(points, n, point, &o, c->pool, &c->hooks, &m, err));
    for (int i = 0; i < REF_SHARES; i++) {
        geodec_substitution_published *s = &row[i];
        const int64_t cached = (int64_t)fmax(1, rint(share[i] * (double)points)); /* the first draw of the harness */
        GEODEC_TRY(geodec_substitution_published_run(&m, cached, permutation, 3, 0.4, s, err));
        s->share = share[i];
        s->closed_form = geodec_coverage_closed_form(points, o.k, cached);
        cli_say(c,
                "%2.0f %% cached: within 3 of a cached point %.1f %% (closed form %.1f %%), within 0.4 %.1f %%, mean "
                "%.4f; projected from half a step a hit: %.2f",
                100 * share[i], 100 * s->hit, 100 * s->closed_form, 100 * s->correctable, s->distance, s->projected);
    }
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_substitution_published_kind,
                geodec_substitution_published_write(REF_SHARES, row, stage.out, err));
done:
    stage_end(&stage);
    geodec_harness_manifold_clear(&m);
    GEODEC_FREE(point, permutation);
    return st;
}

static geodec_status run_correct(const cli *c, geodec_err *err)
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
    if (!model_path) GEODEC_THROW(GEODEC_INVAL, "--model and ACTIVATIONS.h5 are needed");
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

static const cli_modes modes = {run_ref, run_correct, 1, "--model and ACTIVATIONS.h5 are needed", "activations"};

static geodec_status run(const cli *c, geodec_err *err) { return cli_run_mode(c, &modes, mode, draws, false, err); }

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
