/* geodec-fisher: number of directions of the residual stream that change the next-token distribution, by layer. */
#include "lab/fisher/windows.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/text.h"
#include "session/layer_list.h"

static const char *model_path, *layers = "all", *separator = "auto";
static geodec_fisher_windows o = {.window = 32, .windows = 8};

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_STR("layers", 0, &layers, "LIST",
            "boundaries: all, last, sink (2/3 of the depth) or numbers (0 = embedding) joined by commas"),
    OPT_I64("window", 'w', &o.window, 1, 1 << 16, "N", "tokens of a window, including BOS; the last one is measured"),
    OPT_I64("windows", 'n', &o.windows, 1, 1e9, "N", "number of windows, evenly spread over the text"),
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-fisher",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the effective rank of the next token's Fisher metric on the residual stream",
    .usage = "--model FILE [OPTIONS] TEXT",
    .description =
        "J is the derivative of the last logits of a window with respect to the residual stream of the same token at\n"
        "a layer boundary. p is the next-token distribution, and G = J^T (diag p - p p^T) J is the Fisher metric of\n"
        "p. The output has one TSV row per window and layer: entropy of p (nats), trace of G, its largest eigenvalue\n"
        "as a share of the trace, and its effective rank (tr G)^2 / tr G^2. A concentrated p alone makes the rank\n"
        "small; control_rank is the rank for the same p and a random J (mean of 4 samples). check is the relative\n"
        "difference between u^T G u and the second difference of the Kullback-Leibler divergence along a random u.\n"
        "All computations are in float64; the time grows with the square of the width.",
    .examples = "geodec-fisher --model model.gguf --windows 20 book.txt\n"
                "geodec-fisher --model model.gguf --layers 0,sink,last --window 64 book.txt",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    int32_t layer[GEODEC_LAYERS_MAX], *ids = NULL;
    int64_t n;
    o.layer = layer;
    o.seed = c->seed;
    o.out = stdout;
    o.pool = c->pool;
    o.hooks = &c->hooks;
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    context_check(c, m, "windows", o.window);
    GEODEC_TRY(geodec_layer_list_parse(layers, geodec_model_configuration(m)->n_layer, layer, &o.n_layers, err));
    GEODEC_TRY(text_ids(c->args[0], separator, geodec_model_tokenizer(m), &ids, &n, err));
    GEODEC_TRY(geodec_fisher_windows_print(&o, m, c->args[0], n, ids, err));
done:
    geodec_mem_free(ids);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
