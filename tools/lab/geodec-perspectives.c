/* geodec-perspectives: what multi-perspective decoding does to a held-out text. */
#include "lab/perspective/memory/recalled.h"
#include "measure/perspectives_text.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/evaluation.h"
#include "cli/text.h"
#include "lab/perspective/memory/hdm.h"

#include <stdio.h>

static const char *model_path, *what = "default", *separator = "auto", *isa = "auto", *remember;
static int64_t window = 512, most = 6000, pairs = 20000;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    OPT_STR("perspectives", 0, &what, "WHAT", "as of geodec-decode"),
    OPT_I64("window", 'w', &window, 2, 1 << 20, "N", "tokens after which the model begins anew"),
    OPT_I64("max-tokens", 'n', &most, 100, 1 << 20, "N", "tokens of the text that are read"),
    OPT_FILE("remember", 0, &remember, "FILE",
             "text of which a hyperdimensional memory keeps the states and next tokens, which then votes where the "
             "perspectives disagree"),
    OPT_I64("pairs", 0, &pairs, 1, GEODEC_HDM_ENTRIES_MAX, "N", "largest number of pairs of the memory"),
    CLI_RUN_SEPARATOR_OPTION(separator),
    CLI_ISA_OPTION(isa),
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-perspectives",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure multi-perspective decoding on a text: how often it is asked, bits per byte, calibration, cost",
    .usage = "--model FILE [OPTIONS] TEXT",
    .description =
        "Perspectives are computed for every token, so that their agreement can be judged as a confidence. Standard\n"
        "output has a name and a value on each line. asked_*: shares of tokens for which geodec-decode asks\n"
        "perspectives, by each of its two tests. Bits per byte and expected calibration errors (15 bins) are of the\n"
        "second half of the tokens; a temperature is fitted on the first half. Controls: the model alone (base, "
        "ece_top)\n"
        "and its probabilities at that temperature (scaled, ece_top_scaled). *_chance is the error of a perfectly\n"
        "calibrated confidence on as many tokens. cost is the processor time with perspectives where they are asked,\n"
        "over that of the model alone. With --remember, of the tokens for which the memory accepts what it finds:\n"
        "the share that is right, the weight of the memory that is best on the first half of the tokens, and bits per\n"
        "byte of the second half with it. Controls: the model alone (recall_model), the token of the nearest of the\n"
        "same states kept in a table (recall_nearest), and of a random one (recall_random).",
    .examples =
        "geodec-perspectives --model model.gguf held-out.txt\n"
        "geodec-perspectives --model model.gguf --remember train.txt --perspectives second+jitter,m=3 held-out.txt",
    CLI_TAKES(options, 1, 1),
};

static void print_ece(const char *name, const geodec_calibration *k)
{
    printf("%s\t%.4f\n%s_low\t%.4f\n%s_high\t%.4f\n%s_chance\t%.4f\n", name, k->ece.value, name, k->ece.low, name,
           k->ece.high, name, k->chance);
}

static void print(const geodec_perspectives_measure *k)
{
    const double n = (double)k->tokens, asked = (double)k->asked / n;
    printf("tokens\t%lld\nbytes\t%lld\nasked\t%.4f\nasked_top\t%.4f\nasked_entropy\t%.4f\nasked_both\t%.4f\n",
           (long long)k->tokens, (long long)k->bytes, asked, (double)k->by_top / n, (double)k->by_entropy / n,
           (double)(k->by_top + k->by_entropy - k->asked) / n);
    printf("js\t%.5f\njs_pairs\t%.5f\njs_asked\t%.5f\njs_pairs_asked\t%.5f\narithmetic_share\t%.4f\n", k->js, k->pairs,
           k->js_asked, k->pairs_asked, k->asked > 0 ? (double)k->arithmetic / (double)k->asked : 0);
    printf("half_tokens\t%lld\nhalf_bytes\t%lld\nbits_base\t%.4f\nbits_mixed\t%.4f\nbits_mixed_everywhere\t%.4f\n",
           (long long)k->half, (long long)k->half_bytes, k->base, k->rule, k->always);
    printf("bits_scaled\t%.4f\ntemperature\t%.4f\nright\t%.4f\nright_mixed\t%.4f\n", k->scaled,
           k->temperature.temperature, k->top.right, k->agreement.right);
    print_ece("ece_agreement", &k->agreement);
    print_ece("ece_top", &k->top);
    print_ece("ece_top_scaled", &k->top_scaled);
    print_ece("ece_agreement_asked", &k->agreement_asked);
    print_ece("ece_top_asked", &k->top_asked);
    printf("base_ms\t%.4f\nasked_ms\t%.4f\ncost\t%.3f\n", 1e3 * k->base_seconds, 1e3 * k->more_seconds,
           1 + asked * k->more_seconds / k->base_seconds);
}

static void print_way(const char *name, const geodec_recalled_way *w, int64_t accepted)
{
    printf("%s_right\t%.4f\n%s_weight\t%.3f\n%s_bits\t%.4f\n", name,
           accepted > 0 ? (double)w->right / (double)accepted : 0, name, w->weight, name, w->bits);
}

static void print_recalled(const geodec_recalled_measure *k)
{
    printf("recall_tokens\t%lld\nrecall_accepted\t%.4f\nrecall_model_right\t%.4f\nrecall_model_bits\t%.4f\n",
           (long long)k->tokens, (double)k->accepted / (double)k->tokens,
           k->accepted > 0 ? (double)k->model_right / (double)k->accepted : 0, k->model_bits);
    print_way("recall_memory", &k->memory, k->accepted);
    print_way("recall_nearest", &k->nearest, k->accepted);
    print_way("recall_random", &k->random, k->accepted);
}

/* Text bytes of each token. */
static geodec_status lengths(const geodec_tokenizer *t, const int32_t *id, int64_t n, int32_t *bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_detok d;
    char *room = NULL;
    GEODEC_NEW(room, (int64_t)geodec_decode_room(t));
    geodec_decode_init(&d, t);
    for (int64_t i = 0; i < n; i++) bytes[i] = (int32_t)geodec_decode_feed(&d, id[i], room);
done:
    geodec_mem_free(room);
    return st;
}

static geodec_status recall(const cli *c, const geodec_model *m, geodec_session *s, geodec_recalled_memory **out,
                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *id = NULL;
    int64_t n = 0;
    GEODEC_TRY(text_ids(remember, separator, geodec_model_tokenizer(m), &id, &n, err));
    GEODEC_TRY(geodec_recalled_make(s, id, n, pairs, c->seed, out, err));
    printf("memory_pairs\t%lld\nmemory_bytes\t%lld\ntable_bytes\t%lld\n", (long long)geodec_recalled_pairs(*out),
           (long long)geodec_recalled_bytes(*out), (long long)geodec_recalled_table_bytes(*out));
done:
    geodec_mem_free(id);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    geodec_recalled_memory *memory = NULL;
    geodec_perspectives_measure k;
    geodec_recalled_measure recalled;
    geodec_perspectives_options o = {.seed = c->seed};
    int32_t *id = NULL, *bytes = NULL;
    int64_t n = 0;
    GEODEC_TRY(geodec_perspectives_parse(what, &o, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    context_check(c, m, "windows", window);
    const geodec_session_options so = {.n_ctx = (int32_t)window + GEODEC_MIX_MAX, .isa = isa_of(isa), .pool = c->pool};
    GEODEC_TRY(geodec_session_create(m, &so, &s, err));
    GEODEC_TRY(text_ids(c->args[0], separator, geodec_model_tokenizer(m), &id, &n, err));
    n = n < most ? n : most;
    GEODEC_NEW(bytes, n + 1);
    GEODEC_TRY(lengths(geodec_model_tokenizer(m), id, n, bytes, err));
    if (remember) {
        GEODEC_TRY(recall(c, m, s, &memory, err));
        o.recall = geodec_recalled_ask;
        o.recall_ctx = memory;
        GEODEC_TRY(
            geodec_recalled_measure_text(s, memory, id, bytes, n, (int32_t)window, c->pool, &c->hooks, &recalled, err));
        print_recalled(&recalled);
    }
    GEODEC_TRY(geodec_perspectives_measure_text(s, &o, id, bytes, n, (int32_t)window, c->pool, &c->hooks, &k, err));
    print(&k);
done:
    geodec_recalled_destroy(memory);
    geodec_session_destroy(s);
    geodec_model_close(m);
    GEODEC_FREE(id, bytes);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
