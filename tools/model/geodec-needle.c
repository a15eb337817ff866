/* geodec-needle: retrieval of an earlier sentence, by its depth in the text. */
#include "evaluate/needle.h"

#include "cli/cli.h"
#include "cli/context.h"
#include "cli/evaluation.h"
#include "cli/streaming.h"
#include "cli/text.h"
#include "lowrank/kv_projection.h"

static const char *model_path, *kv = "f32", *isa = "auto", *separator = "auto", *kv_projection;
static int64_t window, needle = 16, cue = 6, depths = 10, trials = 40;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_I64("window", 'w', &window, 0, 1 << 20, "N", "tokens of a trial (0: the model's context, at most 256)"),
    OPT_I64("needle", 0, &needle, 2, 1 << 16, "N", "tokens of a needle, at most a quarter of the window"),
    OPT_I64("cue", 0, &cue, 1, 1 << 16, "N", "tokens of the needle to repeat at the end; the model predicts the rest"),
    OPT_I64("depths", 0, &depths, 1, 1000, "N", "number of depths of the needle"),
    OPT_I64("trials", 'n', &trials, 1, 10000, "N", "trials of each depth"),
    CLI_KV_OPTION(kv),
    CLI_KV_PROJECTION_OPTION(kv_projection),
    CLI_ISA_OPTION(isa),
    CLI_STREAMING_OPTIONS,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-needle",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the retrieval of an earlier sentence by its depth in the text",
    .usage = "--model FILE [OPTIONS] TEXT",
    .description =
        "A needle, which is a piece from elsewhere in the text, is inserted into a slice of the text. Its first\n"
        "tokens are repeated at the end. A hit is a token of the rest of the needle that is the model's argmax. The\n"
        "output has one TSV row per depth (0: the beginning of the window, 1: just before the end) and one over all\n"
        "depths, with 95 % bootstrap intervals over trials and, as the control, the hits without the needle. The\n"
        "same --seed gives the same trials with any cache.",
    .examples = "  geodec-needle --model model.gguf --kv q8_0 book.txt",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    text_file file = {.run = NULL};
    geodec_needle_result r = {0};
    geodec_needle_options o = geodec_needle_defaults();
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(streaming_begin(c, m, GEODEC_EXACT, 1, err));
    if (kv_projection) GEODEC_TRY(geodec_kv_projection_load(kv_projection, m, err));
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    const geodec_scorer_evaluation e = evaluation_of(m, "exact", kv, isa);
    o.window = (int32_t)(window ? window : n_ctx < o.window ? n_ctx : o.window);
    context_check(c, m, "windows", o.window);
    o.needle = (int32_t)needle;
    o.cue = (int32_t)cue;
    o.depths = (int32_t)depths;
    o.trials = (int32_t)trials;
    o.seed = c->seed;
    GEODEC_TRY(text_open(c->args[0], separator, geodec_model_tokenizer(m), true, &file, err));
    GEODEC_TRY_MSG(geodec_needle_run(&e, &o, file.run, file.n_run, &c->hooks, &r, err), "%s", c->args[0]);
    GEODEC_TRY(geodec_needle_table(stdout, &r, err));
done:
    geodec_needle_free(&r);
    text_close(&file);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
