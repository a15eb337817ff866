/* geodec-integer-scores: the cost of scores of attention by every method, and stores of transformed keys. */
#include "base/mem.h"
#include "base/numbers.h"
#include "cli/cli.h"
#include "cli/evaluation.h"
#include "cli/text.h"
#include "evaluate/perplexity.h"
#include "io/tsv.h"
#include "lab/integer/scores/score_cache.h"
#include "lab/integer/scores/score_cost.h"
#include "lab/integer/scores/stored.h"
#include "session/integer_session.h"

#include <math.h>
#include <string.h>

enum { MOST_LIST = 32, MOST_TOKENS = 1 << 18, MOST_WINDOW = 512 };

static const char *output, *dims = "64,128,256", *contexts = "16,64,256,1024,4096", *isa = "auto";
static const char *model_path, *save_path, *load_path, *scores = "ntt-p60", *separator = "auto";
static int64_t rounds = 15, stream = 128, tokens = 256;
static bool perplexity;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "standard output"),
    OPT_STR("dims", 0, &dims, "LIST", "head dimensions, separated by commas"),
    OPT_STR("contexts", 0, &contexts, "LIST", "numbers of keys, separated by commas"),
    OPT_I64("rounds", 0, &rounds, 1, 1001, "N", "rounds of measurement, of which the table has the medians"),
    OPT_I64("stream", 0, &stream, 0, 1 << 14, "MIB", "size of the area of each layout of streamed keys"),
    OPT_FILE("model", 'm', &model_path, "FILE", "model as GGUF, for --save, --load and --perplexity"),
    OPT_FILE("save", 0, &save_path, "STORE", "write the transformed keys of the text to STORE", .flags = CLI_VOLATILE),
    OPT_FILE("load", 0, &load_path, "STORE",
             "score the token of the text that follows the keys in STORE, and compare with direct sums"),
    OPT_FLAG("perplexity", 0, &perplexity,
             "read the text in integers with --scores and with direct sums, and compare the logits"),
    OPT_CHOICE("scores", 0, &scores, GEODEC_SCORES_CHOICES, "HOW",
               "of --save and --perplexity: transformed keys modulo one prime of 60 bits, or two of 30; direct sums "
               "are the control of --perplexity"),
    OPT_I64("tokens", 0, &tokens, 1, MOST_TOKENS, "N", "tokens of the text to store"),
    CLI_RUN_SEPARATOR_OPTION(separator),
    CLI_ISA_OPTION(isa),
};

static const cli_tool tool = {
    .name = "geodec-integer-scores",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the cost of attention scores by sums and by transforms, or keep transformed keys in a file",
    .usage = "[OPTIONS] | --model FILE --save STORE TEXT | --model FILE --load STORE TEXT | --model FILE --perplexity "
             "TEXT",
    .description =
        "Without a text, the output is a TSV table with the time of one score by each method: direct sums of 16 and\n"
        "32 bits, keys transformed once (modulo p60, or modulo two primes of 30 bits), and the whole product of\n"
        "polynomials. Keys are hot, or streamed from memory. Times are processor time, medians of rounds in which\n"
        "the methods take turns; the control is the direct sum of 16 bits. The transform of a key and of a query\n"
        "have rows of their own. With --save, the model reads the first tokens of the text in integers, and the\n"
        "store has the transformed keys of all layers and heads. With --load, it reads one token more. Its queries\n"
        "are scored against the keys in the store and, as the control, by direct sums against fresh keys. The table\n"
        "has the best key of each head, and the number of scores that differ, which is 0, or the exit code is 4.\n"
        "With --perplexity, the model reads the text twice, in windows of its context and at most 512 tokens. The\n"
        "table has the perplexities and how far the second one's probabilities are from the first one's: kl and\n"
        "max_delta as in geodec-perplexity. Both are 0, or the exit code is 4.",
    .examples = "geodec-integer-scores --dims 64 --contexts 256,1024\n"
                "geodec-integer-scores -m model.gguf --save keys.store book.txt\n"
                "geodec-integer-scores -m model.gguf --load keys.store book.txt\n"
                "geodec-integer-scores -m model.gguf --scores ntt-crt --perplexity book.txt",
    CLI_TAKES(options, 0, 1),
};

static geodec_status open_table(geodec_tsv **t, geodec_err *err)
{
    return output ? geodec_tsv_create(output, t, err) : geodec_tsv_on(stdout, t, err);
}

/* ---- cost -------------------------------------------------------------------------------------------------------- */

/* Three digits after the point. */
static double rounded(double x) { return floor(x * 1000 + 0.5) / 1000; }

static geodec_status cost_rows(geodec_tsv *t, const geodec_score_cost_options *o, geodec_err *err)
{
    geodec_score_cost_row row[GEODEC_SCORE_COST_ROWS];
    GEODEC_PASS(geodec_score_cost_measure(o, row, err));
    for (int i = 0; i < GEODEC_SCORE_COST_ROWS; i++) {
        geodec_tsv_i64(t, o->dim);
        geodec_tsv_i64(t, o->context);
        geodec_tsv_str(t, row[i].method);
        geodec_tsv_str(t, row[i].state);
        geodec_tsv_i64(t, row[i].multiplications);
        geodec_tsv_i64(t, row[i].bytes);
        geodec_tsv_f64(t, rounded(row[i].ns));
        geodec_tsv_f64(t, rounded(row[i].ratio));
        geodec_tsv_str(t, row[i].exact ? "yes" : "no");
        GEODEC_PASS(geodec_tsv_end_row(t, err));
    }
    return GEODEC_OK;
}

static geodec_status cost(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double dim[MOST_LIST], context[MOST_LIST];
    int64_t n_dim, n_context;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_numbers_parse(dims, "--dims", 1, GEODEC_SCORES_MOST, MOST_LIST, dim, &n_dim, err));
    GEODEC_TRY(geodec_numbers_parse(contexts, "--contexts", 1, 1 << 20, MOST_LIST, context, &n_context, err));
    GEODEC_TRY(open_table(&t, err));
    GEODEC_TRY(geodec_tsv_names(
        t, "dim context method state multiplications bytes ns_per_score ratio_to_direct_int16 exact", err));
    for (int64_t d = 0; d < n_dim; d++)
        for (int64_t k = 0; k < n_context; k++) {
            const geodec_score_cost_options o = {.dim = (int32_t)dim[d],
                                                 .context = (int64_t)context[k],
                                                 .rounds = (int32_t)rounds,
                                                 .stream_bytes = stream << 20,
                                                 .isa = isa_of(isa),
                                                 .seed = c->seed};
            GEODEC_TRY(cost_rows(t, &o, err));
        }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

static geodec_scores_by scores_of(const char *word)
{
    geodec_scores_by by = GEODEC_SCORES_DIRECT;
    while (by < GEODEC_SCORES_NTT_CRT && strcmp(word, geodec_scores_name(by)) != 0) by++;
    return by;
}

static geodec_status save(const cli *c, geodec_stored_text *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_keys *keys = NULL;
    if (t->n > tokens) t->n = (int32_t)tokens;
    GEODEC_TRY(geodec_stored_make(t, scores_of(scores), &keys, err));
    GEODEC_TRY(geodec_keys_save(keys, save_path, err));
    cli_say(c, "keys of %d tokens, %d layers and %d heads, %lld bytes each -> %s", t->n, keys->layers, keys->heads,
            (long long)geodec_scores_block(keys->dim), save_path);
done:
    geodec_keys_destroy(keys);
    return st;
}

static geodec_status compare(const cli *c, geodec_stored_text *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_keys *keys = NULL;
    geodec_stored_row *row = NULL;
    geodec_tsv *table = NULL;
    int64_t n = 0, differing = 0;
    GEODEC_TRY(geodec_keys_load(load_path, &keys, err));
    if (t->n > keys->positions + 1) t->n = (int32_t)keys->positions + 1;
    GEODEC_TRY_MSG(geodec_stored_compare(t, keys, &row, err), "%s", load_path);
    GEODEC_TRY(open_table(&table, err));
    GEODEC_TRY(geodec_tsv_names(table, "layer head scores best_position best_score differing", err));
    for (int64_t i = 0; i < (int64_t)keys->layers * t->net->config.n_head; i++) {
        geodec_tsv_i64(table, row[i].layer);
        geodec_tsv_i64(table, row[i].head);
        geodec_tsv_i64(table, row[i].scores);
        geodec_tsv_i64(table, row[i].position);
        geodec_tsv_i64(table, row[i].sum);
        geodec_tsv_i64(table, row[i].differing);
        GEODEC_TRY(geodec_tsv_end_row(table, err));
        n += row[i].scores;
        differing += row[i].differing;
    }
    GEODEC_TRY(geodec_tsv_finish(&table, err));
    cli_say(c, "%lld scores of token %d by %s from %s; %lld differ from direct sums over fresh keys", (long long)n,
            t->n, geodec_scores_name(keys->by), cli_base_name(load_path), (long long)differing);
    if (differing > 0) GEODEC_THROW(GEODEC_CHECK, "%s: %lld scores differ", load_path, (long long)differing);
done:
    geodec_tsv_abandon(table);
    geodec_mem_free(row);
    geodec_keys_destroy(keys);
    return st;
}

/* ---- logits ------------------------------------------------------------------------------------------------------ */

static geodec_status evaluate(const cli *c, const geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file file = {.run = NULL};
    geodec_perplexity_result r = {0};
    geodec_tsv *table = NULL;
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    const geodec_perplexity_options o = {.window = n_ctx < MOST_WINDOW ? n_ctx : MOST_WINDOW};
    geodec_scorer_evaluation p = evaluation_of(m, "integer", "f32", isa), q = p;
    p.scores = geodec_score_cache_source(scores_of(scores));
    GEODEC_TRY(text_open(c->args[0], separator, geodec_model_tokenizer(m), true, &file, err));
    GEODEC_TRY_MSG(geodec_perplexity_text(&p, &q, &o, file.run, file.n_run, &r, c->pool, &c->hooks, err), "%s",
                   c->args[0]);
    GEODEC_TRY(open_table(&table, err));
    GEODEC_TRY(geodec_tsv_names(table, "scores windows tokens perplexity direct_perplexity kl max_delta", err));
    geodec_tsv_str(table, scores);
    geodec_tsv_i64(table, r.windows);
    geodec_tsv_i64(table, r.tokens);
    geodec_tsv_f64(table, r.perplexity);
    geodec_tsv_f64(table, r.against_perplexity);
    geodec_tsv_f64(table, r.kl.mean);
    geodec_tsv_f64(table, r.max_delta);
    GEODEC_TRY(geodec_tsv_end_row(table, err));
    GEODEC_TRY(geodec_tsv_finish(&table, err));
    cli_say(c, "passes took %.3f s of processor time by %s, %.3f s by direct sums", r.seconds, scores,
            r.against_seconds);
    if (!(r.kl.mean == 0 && r.max_delta == 0))
        GEODEC_THROW(GEODEC_CHECK, "%s: the logits by %s differ from those of direct sums", c->args[0], scores);
done:
    geodec_tsv_abandon(table);
    geodec_perplexity_free(&r);
    text_close(&file);
    return st;
}

static geodec_status with_text(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    int32_t *ids = NULL;
    int64_t n;
    if (!model_path)
        GEODEC_THROW(GEODEC_INVAL, "--%s needs --model", save_path ? "save" : load_path ? "load" : "perplexity");
    if (save_path) GEODEC_TRY(cli_may_write(c, save_path, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    if (perplexity) {
        GEODEC_TRY(evaluate(c, m, err));
        goto done;
    }
    geodec_stored_text t = {.model = geodec_model_fingerprint(m), .isa = isa_of(isa), .pool = c->pool};
    GEODEC_TRY(text_ids(c->args[0], separator, geodec_model_tokenizer(m), &ids, &n, err));
    if (n < 1) GEODEC_THROW(GEODEC_SCARCE, "%s: no tokens", c->args[0]);
    t.token = ids;
    t.n = n > MOST_TOKENS ? MOST_TOKENS : (int32_t)n;
    GEODEC_TRY_MSG(geodec_integer_session_network(m, c->pool, &t.net, err), "%s", model_path);
    GEODEC_TRY(save_path ? save(c, &t, err) : compare(c, &t, err));
done:
    geodec_mem_free(ids);
    geodec_model_close(m);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    const int modes = (save_path != NULL) + (load_path != NULL) + perplexity;
    if (modes > 1) GEODEC_FAIL(GEODEC_INVAL, "--save, --load and --perplexity exclude each other");
    if (modes != c->n_args)
        GEODEC_FAIL(GEODEC_INVAL, "expected --save, --load or --perplexity with a text, or none of them");
    if (modes == 0 && model_path)
        GEODEC_FAIL(GEODEC_INVAL, "a model goes with --save, --load or --perplexity; the cost of a score needs none");
    if (output && !save_path) GEODEC_PASS(cli_may_write(c, output, err));
    return modes ? with_text(c, err) : cost(c, err);
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
