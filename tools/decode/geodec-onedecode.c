/* geodec-onedecode: OneDecode with counts in cells of states. */
#include "cli/stage.h"
#include "drafters/onedecode.h"

#include <string.h>

static const char *output = "onedecode.h5", *labels = "argmax";
static int64_t cells = 4096, dims = 32;
static double ridge = 10;
static geodec_onedecode_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "onedecode.h5"),
    OPT_I64("cells", 0, &cells, 1, 1e6, "C", "number of cells of states"),
    OPT_I64("rounds", 0, &opt.rounds, 0, 1000, "N", "rounds of k-means"),
    OPT_I64("n-min", 0, &opt.n_min, 1, 1e9, "N", "positions that a cell needs; a cell with fewer is a miss"),
    OPT_I64("dims", 'k', &dims, 1, GEODEC_STEP_DIMS_MAX, "K", "principal coordinates of a state"),
    OPT_F64("ridge", 0, &ridge, 1e-9, 1e9, "X", "ridge of the map from a state to the next one, in observations"),
    OPT_CHOICE("labels", 0, &labels, "argmax|text", "KIND",
               "label to count: the argmax of the model, or the next token of the text"),
};

static const cli_tool tool = {
    .name = "geodec-onedecode",
    .topic = CLI_TOPIC_DRAFTING,
    .purpose = "count the next tokens of a model in cells of its hidden states",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
    .description =
        "The states before the newest token and the newest token give an estimate of the state after it. Estimates\n"
        "are divided into cells (k-means); each cell holds the counts of the model's next tokens. One tenth of the\n"
        "texts calibrates the confidences and another tenth gives the figures; the controls are a bigram and a\n"
        "unigram model of the remaining texts.",
    .examples = "geodec-onedecode -o results/onedecode.h5 store.h5\n"
                "geodec-decode --model model.gguf --artifacts results --draft onedecode --prompt \"Once\"",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_activations a;
    geodec_onedecode t = {0};
    geodec_onedecode_summary s;
    cli_stage stage = {0};
    opt.cells = cells;
    opt.step.k = dims;
    opt.step.ridge = ridge;
    opt.step.seed = c->seed;
    opt.text = strcmp(labels, "text") == 0;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &a, err));
    GEODEC_TRY(stage_create(&stage, &geodec_onedecode_kind, err));
    GEODEC_TRY(geodec_onedecode_bake(&a, &opt, &t, &s, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_onedecode_write(&t, &s, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    cli_say(c,
            "%lld positions in %lld cells; %lld held-out positions: first token correct %.1f %%, among eight %.1f %% "
            "(bigram %.1f %%, %.1f %%; unigram %.1f %%, %.1f %%)",
            (long long)s.fitted, (long long)s.cells, (long long)s.places, 100 * s.cells_figures.top1,
            100 * s.cells_figures.top8, 100 * s.bigram.top1, 100 * s.bigram.top8, 100 * s.unigram.top1,
            100 * s.unigram.top8);
    cli_say(c, "%.1f %% of lookups hit; their mean confidence is %.1f %%, and %.1f %% are correct", 100 * s.covered,
            100 * s.claimed, 100 * s.right);
done:
    stage_end(&stage);
    geodec_onedecode_clear(&t);
    return st;
}

CLI_MAIN(opt = geodec_onedecode_defaults())
