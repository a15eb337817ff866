/* geodec-sample: texts sampled from a model, as token ids (for geodec-export --tokens) or as text. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/evaluation.h"
#include "cli/penalty.h"
#include "cli/streaming.h"
#include "decode/sample.h"
#include "io/atomic.h"
#include "io/file.h"

#include <stdio.h>
#include <string.h>

static const char *model_path, *output = "sample.tokens";
static int64_t texts = 768, first, length = 256, top_k;
static double temperature = 1, top_p = 1, min_p;
static cli_list biases;
static geodec_penalty_options penalty = {.repeat = 1, .window = 64};
static const char *arithmetic = "auto", *kv = "f32";
static bool as_text;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "sample.tokens"),
    CLI_MODEL_OPTION(model_path),
    OPT_I64("texts", 'n', &texts, 1, 1e9, "N", "texts to sample"),
    OPT_I64("first", 0, &first, 0, 1e12, "I", "number of the first text"),
    OPT_I64("length", 'l', &length, 2, 1 << 20, "N",
            "largest number of tokens of a text; the model may end it earlier"),
    OPT_F64("temperature", 0, &temperature, 0, 100, "T",
            "sampling temperature: 1 = the model's own distribution, 0 = greedy"),
    OPT_I64("top-k", 0, &top_k, 0, 1e9, "K", "sample from the K most probable tokens, 0 = all"),
    OPT_F64("top-p", 0, &top_p, 1e-6, 1, "P", "sample from the most probable tokens of total mass P"),
    OPT_F64("min-p", 0, &min_p, 0, 1, "P", "sample from tokens of at least P times the most probable one's mass"),
    CLI_PENALTY_OPTIONS(penalty, biases),
    CLI_ARITHMETIC_OPTION(arithmetic, "auto|exact|fast|integer"),
    CLI_KV_OPTION(kv),
    OPT_FLAG("text", 0, &as_text, "write text instead of token ids"),
    CLI_STREAMING_OPTIONS,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-sample",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "sample texts from a model",
    .usage = "--model FILE [OPTIONS]",
    .description =
        "Writes one text per line as token ids, with BOS first. With --text, writes the texts themselves, separated\n"
        "by lines <|endoftext|>; NUL and bytes that are not UTF-8 become U+FFFD. Text i depends only on the\n"
        "model, the seed and i.",
    .examples = "geodec-sample --model model.gguf --texts 768 --length 256 -o store.tokens\n"
                "geodec-export --model model.gguf --tokens store.tokens -o store.h5",
    CLI_TAKES(options, 0, 0),
};

/* NUL, or a byte that is not part of UTF-8 text, becomes U+FFFD: tokens may be single bytes, and tools read only UTF-8.
 */
static geodec_status write_text(geodec_atomic *f, const char *text, size_t n, geodec_err *err)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    for (size_t at = 0; at < n;) {
        const int64_t bad = geodec_file_utf8_check(text + at, n - at);
        const char *zero = memchr(text + at, 0, n - at);
        size_t good = bad < 0 ? n - at : (size_t)bad;
        if (zero && (size_t)(zero - text) - at < good) good = (size_t)(zero - text) - at;
        GEODEC_PASS(geodec_atomic_write(f, text + at, good, err));
        at += good;
        if (at == n) break;
        GEODEC_PASS(geodec_atomic_write(f, replacement, sizeof replacement - 1, err));
        at++;
    }
    return GEODEC_OK;
}

typedef struct writer {
    geodec_atomic *file;
    const geodec_tokenizer *t;
    int64_t tokens;
} writer;

static geodec_status take(void *ctx, int64_t number, const int32_t *token, int32_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    writer *w = ctx;
    char *text = NULL;
    size_t size;
    char id[16];
    if (as_text) {
        if (number > first) GEODEC_TRY(geodec_atomic_write(w->file, "\n<|endoftext|>\n", 15, err));
        GEODEC_TRY(geodec_tokenizer_decode(w->t, token, n, &text, &size, err));
        GEODEC_TRY(write_text(w->file, text, size, err));
    } else {
        for (int32_t i = 0; i < n; i++) {
            const int digits = snprintf(id, sizeof id, "%d%c", token[i], i + 1 < n ? ' ' : '\n');
            GEODEC_TRY(geodec_atomic_write(w->file, id, (size_t)digits, err));
        }
    }
    w->tokens += n;
done:
    geodec_mem_free(text);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    writer w = {0};
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    if (arithmetic_settle(c, m, &arithmetic)) arithmetic_say(c, m, arithmetic);
    GEODEC_TRY(streaming_begin(c, m, arithmetic_of(arithmetic), 1, err));
    w.t = geodec_model_tokenizer(m);
    context_check(c, m, "texts", length);
    GEODEC_TRY(penalty_biases(&biases, &penalty, err));
    const geodec_sample_options o = {.texts = texts,
                                     .first = first,
                                     .length = (int32_t)length,
                                     .temperature = temperature,
                                     .top_k = (int32_t)top_k,
                                     .top_p = top_p,
                                     .min_p = min_p,
                                     .penalty = penalty,
                                     .seed = c->seed,
                                     .arithmetic = arithmetic_of(arithmetic),
                                     .kv = kv_of(kv)};
    GEODEC_TRY(geodec_atomic_open(output, &w.file, err));
    GEODEC_TRY(geodec_sample_run(m, &o, take, &w, c->pool, &c->hooks, err));
    st = geodec_atomic_commit(w.file, err);
    w.file = NULL;
    if (st != GEODEC_OK) goto done;
    cli_say(c, "%lld texts, %lld tokens -> %s", (long long)texts, (long long)w.tokens, output);
done:
    geodec_atomic_abandon(w.file);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
