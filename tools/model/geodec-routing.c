/* geodec-routing: how a mixture divides the tokens of a text among its experts. */
#include "evaluate/routing.h"

#include "cli/cli.h"
#include "cli/context.h"
#include "cli/evaluation.h"
#include "cli/text.h"

enum { DEFAULT_WINDOW = 256 };

static const char *model_path, *loads_path, *isa = "auto", *separator = "auto";
static int64_t window, windows;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_I64("window", 'w', &window, 0, 1 << 20, "N",
            "tokens of a window, BOS included (0: the model's context, at most 256)"),
    OPT_I64("windows", 'n', &windows, 0, 1e12, "N", "windows to read (0: all)"),
    OPT_FILE("loads", 0, &loads_path, "FILE", "also write the load of each expert to FILE (TSV)",
             .flags = CLI_VOLATILE),
    CLI_ISA_OPTION(isa),
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-routing",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure how a mixture divides the tokens of a text among its experts",
    .usage = "--model FILE [OPTIONS] TEXT",
    .description =
        "Standard output has one TSV row per layer with experts and one of the means over them (unused: of all\n"
        "layers). The load of an expert is its share of the layer's choices. Columns: smallest and largest load,\n"
        "experts without load, Gini coefficient and entropy (bits) of the loads, and the share of a token's experts\n"
        "that the token before it used too. Controls: random_gini and random_repeat are the values of a router that\n"
        "chooses at random.",
    .examples = "  geodec-routing --model mixture.gguf --windows 40 book.txt",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    text_file file = {.run = NULL};
    geodec_routing_profile p = {0};
    double gini = 0, least = 1;
    if (loads_path) GEODEC_TRY(cli_may_write(c, loads_path, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    const geodec_routing_options o = {.window = (int32_t)(window                   ? window
                                                          : n_ctx < DEFAULT_WINDOW ? n_ctx
                                                                                   : DEFAULT_WINDOW),
                                      .max_windows = windows};
    const geodec_scorer_evaluation e = evaluation_of(m, "exact", "f32", isa);
    context_check(c, m, "windows", o.window);
    GEODEC_TRY(text_open(c->args[0], separator, geodec_model_tokenizer(m), true, &file, err));
    GEODEC_TRY_MSG(geodec_routing_run(&e, &o, file.run, file.n_run, c->pool, &c->hooks, &p, err), "%s", c->args[0]);
    GEODEC_TRY(geodec_routing_table(stdout, m, &p, err));
    if (loads_path) GEODEC_TRY(geodec_routing_loads_table(loads_path, m, &p, err));
    for (int32_t l = 0; l < p.n_layer; l++) {
        if (!p.layer[l].routed) continue;
        gini += p.layer[l].gini / p.n_routed;
        if (p.layer[l].least < least) least = p.layer[l].least;
    }
    cli_say(c,
            "%lld tokens, %d of %d experts: Gini coefficient %.3f (random %.3f), least used expert %.2f %% of %.2f %%",
            (long long)p.tokens, p.n_expert_used, p.n_expert, gini, p.random_gini, 100 * least, 100.0 / p.n_expert);
done:
    geodec_routing_free(&p);
    text_close(&file);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
