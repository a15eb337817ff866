/* geodec-export: hidden states, argmax and best logits of a model on a text, as activations.h5. */
#include "base/mem.h"
#include "decode/export.h"
#include "geometry/activations.h"
#include "io/file.h"
#include "support/cli.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 1024 };

static const char *model_path, *text_path, *tokens_path, *layers = "last", *output = "activations.h5";
static int64_t window, max_tokens, top_m = 8;
static bool logits, half;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "activations.h5"),
    CLI_MODEL_OPTION(model_path),
    {.name = "text",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &text_path,
     .metavar = "FILE",
     .help = "UTF-8 text; lines <|endoftext|> separate documents"},
    {.name = "tokens",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &tokens_path,
     .metavar = "FILE",
     .help = "token ids in place of text: one sequence a line"},
    {.name = "layers",
     .letter = 'l',
     .type = CLI_STR,
     .target = &layers,
     .metavar = "LIST",
     .help = "layers to keep: all, last, sink (2/3 of the depth) or numbers (0 = embedding) joined by commas"},
    {.name = "window",
     .letter = 'w',
     .type = CLI_I64,
     .target = &window,
     .min = 0,
     .max = 1 << 20,
     .metavar = "N",
     .help = "longest sequence; longer documents are cut (0: the model's context)"},
    {.name = "max-tokens",
     .letter = 'n',
     .type = CLI_I64,
     .target = &max_tokens,
     .min = 0,
     .max = 1e12,
     .metavar = "N",
     .help = "stop after N rows (0: all)"},
    {.name = "top-m",
     .type = CLI_I64,
     .target = &top_m,
     .min = 1,
     .max = GEODEC_EXPORT_TOP_MAX,
     .metavar = "M",
     .help = "best logits kept for each row"},
    {.name = "logits", .type = CLI_FLAG, .target = &logits, .help = "keep all logits of each row"},
    {.name = "f16", .type = CLI_FLAG, .target = &half, .help = "keep states as float16"},
};

static const cli_tool tool = {
    .name = "geodec-export",
    .purpose = "hidden states, argmax and best logits of a model on a text",
    .usage = "--model FILE (--text FILE | --tokens FILE) [OPTIONS]",
    .description =
        "One row a token. A document longer than the window is cut into windows, each of which begins with the\n"
        "model's BOS token. Rows are streamed: memory does not grow with the text.",
    .examples =
        "geodec-export --model model.gguf --text book.txt --layers sink,last --max-tokens 100000 -o activations.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
};

/* One word of --layers. */
static geodec_status one_layer(const char *word, int32_t n_layer, int32_t *layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *end = NULL;
    const long v = strtol(word, &end, 10);
    if (strcmp(word, "last") == 0)
        *layer = n_layer;
    else if (strcmp(word, "sink") == 0)
        *layer = (2 * n_layer + 1) / 3;
    else if (end == word || *end || v < 0 || v > n_layer)
        GEODEC_THROW(GEODEC_INVAL, "--layers: '%s' is none of all, last, sink, 0 to %d", word, n_layer);
    else
        *layer = (int32_t)v;
done:
    return st;
}

static int rising(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static geodec_status parse_layers(int32_t n_layer, int32_t list[MAX_LAYERS], int32_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *copy = geodec_mem_strdup(layers), *rest = NULL;
    int32_t count = 0, kept = 0;
    if (!copy) GEODEC_THROW(GEODEC_NOMEM, "no memory for the list of layers");
    if (strcmp(copy, "all") == 0) {
        for (; count <= n_layer && count < MAX_LAYERS; count++) list[count] = count;
    } else {
        for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
            if (count == MAX_LAYERS) GEODEC_THROW(GEODEC_INVAL, "--layers: more than %d layers", MAX_LAYERS);
            GEODEC_TRY(one_layer(word, n_layer, &list[count++], err));
        }
    }
    if (count == 0) GEODEC_THROW(GEODEC_INVAL, "--layers: no layer in '%s'", layers);
    qsort(list, (size_t)count, sizeof *list, rising);
    for (int32_t i = 0; i < count; i++)
        if (i == 0 || list[i] != list[kept - 1]) list[kept++] = list[i];
    *n = kept;
done:
    geodec_mem_free(copy);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_map map = {0};
    geodec_text_source *text = NULL;
    geodec_token_source *tokens = NULL;
    geodec_artifact *out = NULL;
    geodec_export_summary s;
    int32_t list[MAX_LAYERS];
    geodec_provenance p = cli_provenance(c);
    if (!text_path == !tokens_path) GEODEC_THROW(GEODEC_INVAL, "give one of --text and --tokens");
    const char *input = text_path ? text_path : tokens_path;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    const geodec_model_config *mc = geodec_model_configuration(m);
    geodec_export_options o = {.layer = list,
                               .window = (int32_t)(window ? window : mc->n_ctx),
                               .max_rows = max_tokens,
                               .top_m = (int32_t)(top_m < mc->n_vocab ? top_m : mc->n_vocab),
                               .logits = logits,
                               .half = half};
    GEODEC_TRY(parse_layers(mc->n_layer, list, &o.n_layers, err));
    GEODEC_TRY(geodec_map_open(input, &map, err));
    geodec_export_source source;
    if (text_path) {
        GEODEC_TRY(
            geodec_text_source_create(input, (const char *)map.data, map.size, geodec_model_tokenizer(m), &text, err));
        source = geodec_text_source_get(text);
    } else {
        GEODEC_TRY(geodec_token_source_create(input, (const char *)map.data, map.size, mc->n_vocab, &tokens, err));
        source = geodec_token_source_get(tokens);
    }
    p.model_fingerprint = geodec_model_fingerprint(m);
    p.tokenizer_fingerprint = geodec_tokenizer_fingerprint(geodec_model_tokenizer(m));
    GEODEC_TRY(geodec_provenance_add_file(&p, model_path, err));
    GEODEC_TRY(geodec_provenance_add_file(&p, input, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_activations, output, &p, &out, err));
    GEODEC_TRY_MSG(geodec_export_run(m, &o, &source, out, &s, c->pool, &c->hooks, err), "%s", input);
    st = geodec_artifact_commit(out, err);
    out = NULL;
    if (st != GEODEC_OK) goto done;
    cli_say(c, "%lld rows of %lld sequences, %d layers of width %d -> %s", (long long)s.rows, (long long)s.sequences,
            o.n_layers, mc->d_model, output);
done:
    geodec_artifact_close(out);
    geodec_text_source_destroy(text);
    geodec_token_source_destroy(tokens);
    geodec_map_close(&map);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
