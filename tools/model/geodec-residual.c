/* geodec-residual: length of the residual stream by depth. */
#include "evaluate/residual.h"

#include "cli/cli.h"
#include "cli/context.h"
#include "cli/evaluation.h"
#include "cli/streaming.h"
#include "cli/text.h"
#include "lowrank/projection.h"

enum { DEFAULT_WINDOW = 256, REPLICATES = 1000 };

static const char *model_path, *fit_path, *projection, *attnres, *isa = "auto", *separator = "auto";
static int64_t window, windows;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_FILE("projection", 0, &projection, "FILE",
             "projection.h5 of the model (geodec-project), which replaces weights"),
    OPT_I64("window", 'w', &window, 0, 1 << 20, "N",
            "tokens of a window, BOS included (0: the model's context, at most 256)"),
    OPT_I64("windows", 'n', &windows, 0, 1e12, "N", "windows to read (0: all)"),
    OPT_FILE("fit", 0, &fit_path, "FILE", "also write the exponents of growth to FILE (TSV)", .flags = CLI_VOLATILE),
    CLI_ATTNRES_OPTION(attnres),
    CLI_ISA_OPTION(isa),
    CLI_STREAMING_OPTIONS,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-residual",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the lengths of the residual stream and its updates by depth, and the exponent of their growth",
    .usage = "--model FILE [OPTIONS] TEXT",
    .description =
        "Standard output has one TSV row per layer: mean length of the stream after the layer, of the updates by\n"
        "attention and feed-forward, standard errors over windows, the root mean square length of the stream and, as\n"
        "the control, its value for orthogonal updates. --fit writes the slope of log length on log layer, its 95 %\n"
        "bootstrap interval over windows, and the standard error of the scatter about the line. Orthogonal updates\n"
        "of equal length give slope 1/2.",
    .examples = "  geodec-residual --model model.gguf --windows 40 book.txt",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    text_file file = {.run = NULL};
    geodec_residual_profile p = {0};
    if (fit_path) GEODEC_TRY(cli_may_write(c, fit_path, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(streaming_begin(c, m, GEODEC_EXACT, 1, err));
    if (projection) GEODEC_TRY(geodec_projection_load(projection, m, err));
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    const geodec_residual_options o = {.window = (int32_t)(window                   ? window
                                                           : n_ctx < DEFAULT_WINDOW ? n_ctx
                                                                                    : DEFAULT_WINDOW),
                                       .max_windows = windows,
                                       .replicates = REPLICATES,
                                       .seed = c->seed};
    geodec_scorer_evaluation e = evaluation_of(m, "exact", "f32", isa);
    context_check(c, m, "windows", o.window);
    GEODEC_TRY(geodec_attnres_parse(attnres, &e.attnres, err));
    GEODEC_TRY(text_open(c->args[0], separator, geodec_model_tokenizer(m), true, &file, err));
    GEODEC_TRY_MSG(geodec_residual_run(&e, &o, file.run, file.n_run, c->pool, &c->hooks, &p, err), "%s", c->args[0]);
    GEODEC_TRY(geodec_residual_layers_table(stdout, m, &p, err));
    if (fit_path) GEODEC_TRY(geodec_residual_fits_table(fit_path, m, &p, err));
    for (int w = 0; w < GEODEC_RESIDUALS; w++)
        cli_say(c, "%-9s ~ l^%.3f [%.3f, %.3f], scatter %.3f", geodec_residual_name((geodec_residual_what)w),
                p.fit[w].exponent.value, p.fit[w].exponent.low, p.fit[w].exponent.high, p.fit[w].scatter_se);
done:
    geodec_residual_free(&p);
    text_close(&file);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
