/* geodec-integer-keycodes: codes of the key and value cache on the keys and values of a model. */
#include "base/mem.h"
#include "cli/context.h"
#include "cli/stage.h"
#include "cli/streaming.h"
#include "cli/text.h"
#include "lab/integer/keycodes/key_codes.h"

#include <stdio.h>
#include <string.h>

static const char *model_path, *output = "keycodes.h5", *separator = "auto", *codes = GEODEC_KEY_CODES_DEFAULT;
static int64_t window = 256, calibration = 16384, tokens = 16384, every = 4, replicates = 1000, windows;
static bool perplexity;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_OUTPUT_OPTION(output, "keycodes.h5"),
    CLI_SEPARATOR_OPTION(separator),
    OPT_STR("codes", 0, &codes, "LIST",
            "codes to measure, NAME[/pre][/query], separated by commas; pre: keys before the rotary embedding; query: "
            "errors of keys weighted by the queries"),
    OPT_I64("window", 'w', &window, 32, 1 << 16, "N", "tokens of a document to read, and of a window of perplexity"),
    OPT_I64("calibration", 0, &calibration, 256, 1 << 24, "N", "tokens of the calibration documents to read"),
    OPT_I64("tokens", 0, &tokens, 32, 1 << 24, "N", "tokens of the other documents to measure errors on"),
    OPT_I64("every", 0, &every, 2, 1 << 20, "N", "use every Nth document for calibration, the others for the figures"),
    OPT_I64("replicates", 0, &replicates, 1, 1 << 20, "N", "replicates of the bootstrap over documents"),
    OPT_FLAG("perplexity", 0, &perplexity, "also measure the perplexity with the cache in each code"),
    OPT_I64("windows", 'n', &windows, 0, 1e12, "N", "windows of the perplexities (0: all)"),
    CLI_STREAMING_OPTIONS,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-integer-keycodes",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure codes of the key and value cache: bytes, errors, divergence of attention, perplexity",
    .usage = "--model FILE [OPTIONS] TEXT...",
    .description =
        "Every Nth document calibrates the codes, the others are measured. A vector is the row of a token in the\n"
        "cache of a layer, with as many key heads joined as give at most 128 values. Standard output has one TSV row\n"
        "per code: bytes per value with the vectors' metadata, bytes of shared tables, relative errors of keys and\n"
        "values, and the divergence of attention probabilities in nats, each with its 95 % interval over documents.\n"
        "With --perplexity it also gives the perplexity on the text of the measured documents, and its ratio to that\n"
        "of a float32 cache, with the 95 % interval of the paired difference over windows.",
    .examples = "geodec-integer-keycodes --model model.gguf book.txt\n"
                "geodec-integer-keycodes --model model.gguf --codes q4_0,klt,klt/pre --perplexity book.txt",
    CLI_TAKES(options, 1, -1),
};

/* Documents of several texts as tokens. All zero but `every` is empty. */
typedef struct corpus {
    int64_t every; /* every n-th document calibrates; the others are in held_out, separated by empty lines */
    int64_t n, capacity, n_token, token_capacity;
    int64_t *begin; /* [n + 1] */
    int32_t *token;
    char *held_out;
    size_t n_held_out, held_out_capacity;
} corpus;

/* Makes room for `more` further elements. */
#define ROOM(p, n, capacity, more)                                                                                     \
    do {                                                                                                               \
        if ((n) + (more) > (capacity)) {                                                                               \
            void *larger_ = geodec_mem_grow((p), (int64_t)(n), 2 * (int64_t)(n) + (int64_t)(more), sizeof *(p));       \
            if (!larger_) GEODEC_THROW(GEODEC_NOMEM, "no memory for documents");                                       \
            (p) = larger_;                                                                                             \
            (capacity) = 2 * (n) + (more);                                                                             \
        }                                                                                                              \
    } while (0)

static geodec_status add_document(corpus *x, const geodec_tokenizer *t, const char *text, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t count;
    ROOM(x->begin, x->n + 1, x->capacity, 1);
    ROOM(x->token, x->n_token, x->token_capacity, (int64_t)n + 2);
    GEODEC_TRY(geodec_tokenizer_encode(t, text, n, true, x->token + x->n_token, &count, err));
    if (x->n % x->every != 0) {
        ROOM(x->held_out, x->n_held_out, x->held_out_capacity, n + 2);
        memcpy(x->held_out + x->n_held_out, text, n);
        memcpy(x->held_out + x->n_held_out + n, "\n\n", 2);
        x->n_held_out += n + 2;
    }
    x->n_token += count;
    x->begin[++x->n] = x->n_token;
done:
    return st;
}

static geodec_status add_texts(corpus *x, const char *path, const geodec_tokenizer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file f = {.run = NULL};
    GEODEC_TRY(text_open(path, separator, t, false, &f, err));
    for (int64_t i = 0; i < f.documents.n; i++) {
        const geodec_document *d = &f.documents.item[i];
        GEODEC_TRY_MSG(add_document(x, t, f.documents.text + d->begin, (size_t)(d->end - d->begin), err), "%s", path);
    }
done:
    text_close(&f);
    return st;
}

static void clear(corpus *x) { GEODEC_FREE(x->begin, x->token, x->held_out); }

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_model *m = NULL;
    corpus x = {.every = every};
    geodec_key_codes_report r = {0};
    geodec_key_codes_case cases[GEODEC_KEY_CODES_CASES];
    int64_t n;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_key_codes_parse(codes, cases, &n, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    context_check(c, m, "windows", window);
    GEODEC_TRY(streaming_begin(c, m, GEODEC_EXACT, 1, err));
    GEODEC_TRY(stage_model(&stage, model_path, m, err));
    for (int i = 0; i < c->n_args; i++) {
        GEODEC_TRY(add_texts(&x, c->args[i], geodec_model_tokenizer(m), err));
        GEODEC_TRY(stage_file(&stage, c->args[i], err));
    }
    const geodec_key_codes_texts texts = {x.n, x.begin, x.token};
    const geodec_key_codes_options o = {.window = (int32_t)window,
                                        .calibration = calibration,
                                        .tokens = tokens,
                                        .every = every,
                                        .replicates = replicates,
                                        .seed = c->seed,
                                        .pool = c->pool,
                                        .hooks = &c->hooks};
    GEODEC_TRY(geodec_key_codes_measure(m, &texts, cases, n, perplexity ? x.held_out : NULL, x.n_held_out, windows, &o,
                                        &r, err));
    STAGE_WRITE(&stage, &geodec_key_codes_kind, geodec_key_codes_write(&r, stage.out, err));
    GEODEC_TRY(geodec_key_codes_table(stdout, &r, err));
    cli_say(c, "vectors of %lld values; calibrated on %lld rows, measured on %lld rows of %lld documents",
            (long long)r.dim, (long long)r.calibration, (long long)r.rows, (long long)r.documents);
    if (r.scored > 0)
        cli_say(c, "perplexity %.4f of %lld tokens with a float32 cache", r.perplexity, (long long)r.scored);
done:
    stage_end(&stage);
    geodec_key_codes_clear(&r);
    clear(&x);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
