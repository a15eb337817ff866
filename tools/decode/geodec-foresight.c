/* geodec-foresight: how well the experts of the next token can be foretold. */
#include "base/mem.h"
#include "cli/evaluation.h"
#include "cli/stage.h"
#include "cli/text.h"
#include "foresight/recall.h"
#include "io/file.h"

static const char *output = "foresight.h5", *model_path, *store_path, *map_path, *text_path, *tokens_path, *fit_path;
static const char *arithmetic = "exact", *kv = "f32", *separator = "auto";
static int64_t window = 128;
static geodec_history_options history_options;
static geodec_recall_options recall_options;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "foresight.h5"),
    CLI_MODEL_OPTION(model_path),
    OPT_FILE("store", 0, &store_path, "FILE",
             "token ids from which the tables are made, one sequence per line (geodec-sample)", .flags = CLI_REQUIRED),
    OPT_FILE("flowmap", 0, &map_path, "FILE", "flow map with routes, baked from an export of the same tokens"),
    OPT_FILE("fit", 0, &fit_path, "FILE",
             "token ids for the weights and the calibration of mixtures with the router, not part of the store"),
    OPT_FILE("text", 0, &text_path, "FILE", "text whose experts are foretold: UTF-8 text or JSON Lines"),
    CLI_SEPARATOR_OPTION(separator),
    OPT_FILE("tokens", 0, &tokens_path, "FILE", "token ids instead of text, one sequence per line"),
    OPT_I64("window", 'w', &window, 2, 4096, "N", "length of the longest sequence; longer documents are cut"),
    OPT_I64("max-tokens", 'n', &recall_options.max_tokens, 0, 1e12, "N", "stop after N tokens of the text (0: all)"),
    OPT_I64("store-tokens", 0, &history_options.max_tokens, 0, 1e12, "N", "read N tokens of the store (0: all)"),
    OPT_I64("maps", 0, &history_options.maps, 0, 1 << 20, "N", "most maps of gate probabilities to store"),
    OPT_I64("every", 0, &history_options.every, 1, 1 << 20, "N", "store the map of one token in N"),
    OPT_I64("replicates", 0, &recall_options.replicates, 0, 100000, "N", "replicates of the bootstrap"),
    CLI_ARITHMETIC_OPTION(arithmetic, "auto|exact|fast"),
    CLI_KV_OPTION(kv),
};

static const cli_tool tool = {
    .name = "geodec-foresight",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "measure how well the experts of the next token can be foretold",
    .usage = "--model FILE --store FILE (--text FILE | --tokens FILE) [OPTIONS]",
    .description =
        "For each predictor and layer: the share of the experts used that are among the first 1, 2 and 4 times as\n"
        "many foretold, with 95 % intervals over documents. Tables are made from the store; the text should not be\n"
        "part of it. With a flow map, also the calibration of its probabilities; with --fit, also the mixtures of map\n"
        "and router that a decoder may use.",
    .examples = "geodec-sample --model model.gguf --texts 1600 --length 128 -o store.tokens\n"
                "geodec-export --model model.gguf --tokens store.tokens --layers last -o store.h5\n"
                "geodec-bake -o flowmap.h5 store.h5\n"
                "geodec-foresight --model model.gguf --store store.tokens --flowmap flowmap.h5 --text held-out.txt",
    CLI_TAKES(options, 0, 0),
};

typedef struct input {
    geodec_file_map map;
    text_file file;
    geodec_export_source source;
    geodec_routes_recorder *recorder;
} input;

static void close_input(input *in)
{
    geodec_routes_close(in->recorder);
    geodec_export_source_close(&in->source);
    text_close(&in->file);
    geodec_file_map_close(&in->map);
}

static geodec_status open_input(cli_stage *stage, const geodec_model *m, const char *text, const char *tokens,
                                input *in, geodec_err *err)
{
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    if (text) {
        GEODEC_PASS(text_open(text, separator, t, false, &in->file, err));
        GEODEC_PASS(geodec_export_source_text(&in->file.documents, t, &in->source, err));
    } else {
        GEODEC_PASS(geodec_file_map_open(tokens, &in->map, err));
        GEODEC_PASS(geodec_export_source_tokens(tokens, (const char *)in->map.data, in->map.size,
                                                geodec_model_configuration(m)->n_vocab, &in->source, err));
    }
    GEODEC_PASS(geodec_routes_open(m, &in->source, (int32_t)window, arithmetic_of(arithmetic), kv_of(kv),
                                   stage->c->pool, &in->recorder, err));
    GEODEC_PASS(stage_file(stage, text ? text : tokens, err));
    return GEODEC_OK;
}

static geodec_status open_map(cli_stage *stage, const geodec_model *m, geodec_flowmap *map, geodec_err *err)
{
    geodec_artifact *a;
    GEODEC_PASS(stage_open(stage, &geodec_flowmap_kind, map_path, &a, err));
    GEODEC_PASS(geodec_flowmap_read(a, map, err));
    GEODEC_PASS_MSG(geodec_flowmap_match(map, geodec_model_fingerprint(m),
                                         geodec_tokenizer_fingerprint(geodec_model_tokenizer(m)), err),
                    "%s", map_path);
    return GEODEC_OK;
}

static void say_recall(const cli *c, const geodec_recall *r)
{
    enum { B = GEODEC_RECALL_BUDGETS };
    cli_say(c, "%lld tokens of %lld documents; recall of %lld experts among %d, %d and %d of %lld (95 %% interval)",
            (long long)r->positions, (long long)r->documents, (long long)r->used, r->budget[0], r->budget[1],
            r->budget[2], (long long)r->experts);
    for (int64_t p = 0, i = 0; i < geodec_predictors_count && p < r->predictors; i++) {
        const geodec_predictor *x = &geodec_predictors[i];
        if (x->needs_map && r->calibrated == 0) continue;
        const double *v = r->mean + p * B, *low = r->mean_low + p * B, *high = r->mean_high + p * B;
        const double *first = r->value + (p * r->layers + x->first_layer) * B,
                     *last = r->value + ((p + 1) * r->layers - 1) * B;
        cli_say(
            c,
            "%-10s %-8s layers %lld-%lld: %.3f (%.3f-%.3f) %.3f (%.3f-%.3f) %.3f (%.3f-%.3f); first %.3f %.3f %.3f, "
            "last %.3f %.3f %.3f",
            x->name, geodec_predictors_when(x->when), (long long)x->first_layer + 1, (long long)r->layers, v[0], low[0],
            high[0], v[1], low[1], high[1], v[2], low[2], high[2], first[0], first[1], first[2], last[0], last[1],
            last[2]);
        p++;
    }
    for (int i = 0; i < GEODEC_RECALL_RUNS; i++)
        cli_say(c, "%d consecutive tokens use %.2f experts of a layer (%.2f-%.2f), random ones %.2f", r->run[i],
                r->distinct[i], r->distinct_low[i], r->distinct_high[i], r->distinct_random[i]);
    if (r->calibrated > 0)
        cli_say(c, "calibration error: token table %.4f, flow map %.4f", r->scale_error[0], r->scale_error[1]);
    for (int64_t i = 0; r->mixture.positions > 0 && i < r->layers; i++)
        cli_say(c, "layer %lld: weights of router1, router1.5, router2 %g %g %g", (long long)i + 1,
                (double)r->mixture.weight[i], (double)r->mixture.weight[r->layers + i],
                (double)r->mixture.weight[2 * r->layers + i]);
    if (r->mixture.positions > 0) cli_say(c, "calibration error with router1: %.4f", r->scale_error[2]);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    cli_stage stage = {0};
    input store = {.recorder = NULL}, text = {.recorder = NULL}, fit = {.recorder = NULL};
    geodec_mixture mixture = {0};
    geodec_flowmap map = {0};
    geodec_history *history = NULL;
    geodec_recall recall = {0};
    if (!text_path == !tokens_path) GEODEC_THROW(GEODEC_INVAL, "give either --text or --tokens");
    if (fit_path && !map_path) GEODEC_THROW(GEODEC_INVAL, "--fit needs --flowmap");
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    (void)arithmetic_settle(c, m, &arithmetic);
    recall_options.seed = c->seed;
    GEODEC_TRY(stage_model(&stage, model_path, m, err));
    if (map_path) GEODEC_TRY(open_map(&stage, m, &map, err));
    GEODEC_TRY(open_input(&stage, m, NULL, store_path, &store, err));
    GEODEC_TRY(open_input(&stage, m, text_path, tokens_path, &text, err));
    const geodec_model_config *mc = geodec_model_configuration(m);
    if (fit_path) {
        GEODEC_TRY(open_input(&stage, m, NULL, fit_path, &fit, err));
        GEODEC_TRY(geodec_mixture_fit(fit.recorder, mc, &map, &c->hooks, &mixture, err));
    }
    GEODEC_TRY(geodec_history_read(store.recorder, mc, &history_options, &c->hooks, &history, err));
    GEODEC_TRY(geodec_recall_measure(text.recorder, mc, history, map_path ? &map : NULL, fit_path ? &mixture : NULL,
                                     &recall_options, &c->hooks, &recall, err));
    STAGE_WRITE(&stage, &geodec_foresight_kind, geodec_recall_write(&recall, stage.out, err));
    say_recall(c, &recall);
done:
    geodec_recall_clear(&recall);
    geodec_history_free(history);
    geodec_flowmap_clear(&map);
    close_input(&store);
    close_input(&text);
    close_input(&fit);
    geodec_mixture_clear(&mixture);
    stage_end(&stage);
    geodec_model_close(m);
    return st;
}

static void set_defaults(void)
{
    history_options = geodec_history_defaults();
    recall_options = geodec_recall_defaults();
}

CLI_MAIN(set_defaults())
