/* geodec-attest: a run that others can check, and the check. */
#include "attest/attest.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "io/file.h"
#include "session/integer_session.h"
#include "session/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const char *model_path, *prompt, *prompt_file, *output = "run.attest.json", *verify, *transcript;
static int64_t max_tokens = 256, top_k, sample, rows = 64;
static uint64_t secret;
static bool hash;
static double temperature, top_p = 1;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    OPT_STR("prompt", 'p', &prompt, "TEXT", "prompt", .flags = CLI_ONCE),
    OPT_FILE("prompt-file", 'f', &prompt_file, "FILE", "read the prompt from FILE", .flags = CLI_ONCE),
    OPT_I64("max-tokens", 'n', &max_tokens, 1, GEODEC_ATTEST_TOKENS, "N", "largest number of tokens"),
    OPT_F64("temperature", 0, &temperature, 0, 100, "T", "sampling temperature, 0 = greedy"),
    OPT_I64("top-k", 0, &top_k, 0, 1e9, "K", "sample from the K most probable tokens, 0 = all"),
    OPT_F64("top-p", 0, &top_p, 1e-6, 1, "P", "sample from the most probable tokens of total mass P"),
    CLI_OUTPUT_OPTION(output, "run.attest.json"),
    OPT_FILE("verify", 0, &verify, "FILE", "check this record instead of making one"),
    OPT_I64("sample", 0, &sample, 0, GEODEC_ATTEST_TOKENS, "N", "check N outputs that --seed draws, 0 = all"),
    OPT_I64("rows", 0, &rows, 1, 64, "N", "tokens of a pass of the check"),
    OPT_FILE("transcript", 0, &transcript, "FILE",
             "write the sums of all products to FILE; with --verify, check them by random projections"),
    OPT_U64("secret", 0, &secret, "N", "seed of the projections, 0 = from the operating system"),
    OPT_FLAG("hash", 0, &hash, "with --verify, compare the SHA-256 of the transcript with that of the record"),
};

static const cli_tool tool = {
    .name = "geodec-attest",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "generate text with a record that proves which model wrote it, or check such a record",
    .usage = "--model FILE {-p TEXT | -f FILE | --verify FILE} [OPTIONS]",
    .description =
        "The model runs in integers, so its logits have the same bits on every processor, in every batch and with any\n"
        "number of threads. The record has the SHA-256 of the model's file, the prompt, the settings, the tokens\n"
        "and, for each token, a link of a chain of SHA-256 hashes over the logits. The text goes to standard output.\n"
        "--verify computes the logits again in wide passes and compares tokens and links: all of them, or --sample\n"
        "drawn ones. A change of one output is found by a sample of K out of N outputs with probability K / N. Use a\n"
        "seed that the author of the record does not know. Exit status 4: the record does not hold.\n"
        "With --transcript the sums of all matrix products are written too. --verify --transcript takes the products\n"
        "from the file and checks them with random vectors modulo a prime of 60 bits, in about a seventh of the time;\n"
        "the rest is computed again. A wrong product passes with probability 2^-59. The author of the record must not\n"
        "know --secret.",
    .examples =
        "  geodec-attest --model model.int.gguf -p \"Once upon a time\" -o run.attest.json\n"
        "  geodec-attest --model model.int.gguf --verify run.attest.json\n"
        "  geodec-attest --model model.int.gguf --verify run.attest.json --sample 16 --seed 4711\n"
        "  geodec-attest --model model.int.gguf -p \"Once upon a time\" --transcript run.sums -o run.attest.json\n"
        "  geodec-attest --model model.int.gguf --verify run.attest.json --transcript run.sums",
    CLI_TAKES(options, 0, 0),
};

static geodec_status session_of(const cli *c, const geodec_model *m, int32_t tokens, geodec_session **out,
                                geodec_err *err)
{
    const geodec_session_options o = {
        .n_ctx = tokens + 1, .max_batch = 64, .pool = c->pool, .arithmetic = GEODEC_INTEGER};
    return geodec_session_create(m, &o, out, err);
}

static geodec_status read_prompt(const geodec_model *m, geodec_attest *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    const char *words = prompt;
    size_t size = prompt ? strlen(prompt) : 0;
    int64_t n;
    if (prompt_file) {
        GEODEC_TRY(geodec_file_read(prompt_file, GEODEC_ATTEST_TOKENS, &text, &size, err));
        words = text;
    }
    GEODEC_NEW(a->prompt, (int64_t)size + 2);
    GEODEC_TRY(geodec_tokenizer_encode(geodec_model_tokenizer(m), words, size, true, a->prompt, &n, err));
    if (n < 1) GEODEC_THROW(GEODEC_INVAL, "the prompt has no tokens");
    a->n_prompt = (int32_t)n;
done:
    geodec_mem_free(text);
    return st;
}

static geodec_status make(const cli *c, const geodec_model *m, const char *digest, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_attest a = {.temperature = temperature, .top_p = top_p, .top_k = (int32_t)top_k, .seed = c->seed};
    geodec_session *s = NULL;
    char *text = NULL;
    size_t size;
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    GEODEC_TRY(cli_may_write(c, output, err));
    if (transcript) GEODEC_TRY(cli_may_write(c, transcript, err));
    GEODEC_TRY(read_prompt(m, &a, err));
    memcpy(a.model, digest, sizeof a.model);
    GEODEC_TRY(session_of(c, m, a.n_prompt + (int32_t)max_tokens, &s, err));
    GEODEC_TRY(geodec_attest_run(geodec_integer_session_engine(s), geodec_model_configuration(m)->n_vocab,
                                 (int32_t)max_tokens, geodec_tokenizer_eos(t), transcript, &a, &c->hooks, err));
    GEODEC_TRY(geodec_attest_write(output, &a, c->command_line, err));
    GEODEC_TRY(geodec_tokenizer_decode(t, a.token, a.n, &text, &size, err));
    (void)fwrite(text, 1, size, stdout);
    (void)putchar('\n');
    cli_say(c, "%d tokens after a prompt of %d -> %s", a.n, a.n_prompt, output);
    if (transcript) cli_say(c, "%lld bytes of sums -> %s", (long long)a.transcript_size, transcript);
done:
    geodec_mem_free(text);
    geodec_session_destroy(s);
    geodec_attest_clear(&a);
    return st;
}

static geodec_status secret_of(uint64_t *out, geodec_err *err)
{
    *out = secret;
    if (secret == 0 && getrandom(out, sizeof *out, 0) != (ssize_t)sizeof *out)
        GEODEC_FAIL(GEODEC_IO, "no random numbers of the operating system: %s", strerror(errno));
    return GEODEC_OK;
}

static geodec_status check(const cli *c, const geodec_model *m, const char *digest, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_attest a = {0};
    geodec_attest_result r = {0};
    geodec_session *s = NULL;
    GEODEC_TRY(geodec_attest_read(verify, &a, err));
    geodec_attest_check how = {.model = digest,
                               .sample = (int32_t)sample,
                               .seed = c->seed,
                               .rows = (int32_t)rows,
                               .pool = c->pool,
                               .transcript = transcript,
                               .hash = hash};
    GEODEC_TRY(secret_of(&how.secret, err));
    GEODEC_TRY(session_of(c, m, a.n_prompt + a.n, &s, err));
    GEODEC_TRY(geodec_attest_verify(geodec_integer_session_engine(s), geodec_model_configuration(m)->n_vocab, &a, &how,
                                    &r, &c->hooks, err));
    (void)printf("verdict\t%s\noutputs\t%d\nchecked\t%d\n", geodec_attest_verdict_text(r.verdict), a.n, r.checked);
    if (r.at >= 0) (void)printf("output\t%d\n", r.at);
    if (transcript)
        (void)printf("matrices\t%lld\nproducts\t%lld\nrecomputed\t%lld\n", (long long)r.matrices, (long long)r.products,
                     (long long)r.recomputed);
    if (r.verdict == GEODEC_ATTEST_NOT_CHECKED) GEODEC_THROW(GEODEC_SCARCE, "%s: has no output to check", verify);
    if (r.verdict != GEODEC_ATTEST_HOLDS)
        GEODEC_THROW(GEODEC_CHECK, "%s: %s", verify, geodec_attest_verdict_text(r.verdict));
done:
    geodec_session_destroy(s);
    geodec_attest_clear(&a);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_model *m = NULL;
    if ((prompt != NULL) + (prompt_file != NULL) + (verify != NULL) != 1)
        GEODEC_FAIL(GEODEC_INVAL, "one of --prompt, --prompt-file and --verify is needed");
    if (hash && !(verify && transcript)) GEODEC_FAIL(GEODEC_INVAL, "--hash needs --verify and --transcript");
    char digest[GEODEC_SHA256_HEX];
    const geodec_model_open_options o = {.pool = c->pool, .digest = digest};
    GEODEC_PASS(geodec_model_open_with(model_path, &o, &m, err));
    const geodec_status st = verify ? check(c, m, digest, err) : make(c, m, digest, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
