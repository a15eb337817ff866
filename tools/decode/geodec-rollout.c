/* geodec-rollout: the geometric rollout drafter and its ablation. */
#include "cli/stage.h"
#include "cli/streaming.h"
#include "drafters/rollout_ablation.h"

#include <stdio.h>
#include <string.h>

static const char *output = "rollout.h5", *model_path;
static int64_t dims = 64, cells = 4096, places = 4000, resamples = 1000;
static double ridge = 10;
static geodec_rollout_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "rollout.h5"),
    CLI_MODEL_OPTION(model_path),
    OPT_I64("dims", 'k', &dims, 1, GEODEC_STEP_DIMS_MAX, "K", "principal coordinates of a state"),
    OPT_I64("field-dims", 0, &opt.dims, 1, GEODEC_RBF_MAX_N, "M", "leading coordinates in which the metric is fitted"),
    OPT_I64("sites", 0, &opt.sites, 2, 1e6, "N", "sites of the metric"),
    OPT_I64("words", 0, &opt.words, 1, GEODEC_ROLLOUT_WORDS_MAX, "N", "tokens of the readout's shortlist"),
    OPT_I64("cells", 0, &cells, 1, 1e6, "C", "cells of the nearest-cell variant"),
    OPT_F64("ridge", 0, &ridge, 1e-9, 1e9, "X", "ridge of the regressions, in observations"),
    OPT_I64("places", 'n', &places, 1, 1e9, "N", "held-out positions of the ablation"),
    OPT_I64("resamples", 0, &resamples, 1, 1e6, "N", "bootstrap resamples of the intervals"),
    CLI_STREAMING_OPTIONS,
};

static const cli_tool tool = {
    .name = "geodec-rollout",
    .topic = CLI_TOPIC_DRAFTING,
    .purpose = "fit a drafter that extrapolates states along geodesics, and run its ablation",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
    .description =
        "Starts at the state before the newest token with a velocity that is known before the next token: a\n"
        "regression on the state and the newest token, on the state alone, or the last step. Moves for one unit of\n"
        "time straight on (flat), along the geodesic of the fitted metric, or under a random connection of the same\n"
        "norm, and then applies the model's readout. The comparisons are a unigram, a bigram, counts in nearest\n"
        "cells and an n-gram, all from the same texts and at the same positions of other texts. Prints one row per\n"
        "variant with shares of positions: correct first token (top1), correct among eight (top8), mean calibrated\n"
        "confidence (claimed), the gain over the variant in the column base (gain1, gain8), with 95 % intervals over\n"
        "texts, and steps whose geodesic diverged and was replaced by a straight line (broken). The drafters\n"
        "rollout, rollout-flat and rollout-random read the file.",
    .examples = "geodec-rollout --model model.gguf -o results/rollout.h5 store.h5\n"
                "geodec-decode --model model.gguf --artifacts results --draft rollout --prompt \"Once\"",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_model *m = NULL;
    geodec_activations a;
    cli_stage stage = {0};
    geodec_rollout r = {0};
    geodec_step_rows rows = {0};
    geodec_ablation_figures f[GEODEC_ABLATION_MAX];
    double broken[GEODEC_ABLATION_MAX] = {0};
    geodec_rollout_ablation l = {.n = 0};
    opt.step.k = dims;
    opt.step.ridge = ridge;
    opt.step.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &a, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(streaming_begin(c, m, GEODEC_EXACT, 1, err));
    GEODEC_TRY(stage_file(&stage, model_path, err));
    if (strcmp(geodec_model_fingerprint(m), geodec_artifact_provenance(in)->model_fingerprint) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: activations of another model than %s", c->args[0], model_path);
    GEODEC_TRY(stage_create(&stage, &geodec_rollout_kind, err));
    GEODEC_TRY(geodec_rollout_bake(&a, &opt, geodec_rollout_ablation_readout, m, c->pool, &c->hooks, &r, &rows, err));
    const geodec_rollout_ablation_options q = {cells, opt.step.ridge, c->seed};
    GEODEC_TRY(geodec_rollout_ablation_fill(&l, &a, &r, &rows, &opt, &q, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_ablation_run(&a, &rows, c->seed, places, resamples, l.variant, l.n, &c->hooks, f, err));
    geodec_rollout_ablation_broken(&l, broken);
    GEODEC_TRY(geodec_rollout_ablation_write(&r, l.variant, f, broken, l.n, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    geodec_rollout_ablation_print(stdout, &l, f, broken);
    cli_say(c, "%lld positions of held-out texts; the shortlist contains %.2f %% of the model's next tokens",
            (long long)f[0].places, 100 * r.covered);
done:
    geodec_rollout_ablation_clear(&l);
    geodec_rollout_clear(&r);
    geodec_step_rows_clear(&rows);
    stage_end(&stage);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

CLI_MAIN(opt = geodec_rollout_defaults())
