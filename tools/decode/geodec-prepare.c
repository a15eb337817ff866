/* geodec-prepare: drafting artifacts of a model: texts, states, a flow map, and the choice of a drafter. */
#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/decode_report.h"
#include "cli/drafting_files.h"
#include "cli/evaluation.h"
#include "cli/streaming.h"
#include "cli/text.h"
#include "io/folder_lock.h"
#include "linalg/lapack.h"
#include "prepare/record.h"
#include "session/arithmetic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REQUEST = 512 };

static double minutes = 2;
static const char *text_path, *separator = "auto", *arithmetic = "auto";
static int64_t texts, length, text_tokens;
static bool cache_only;

static const cli_option options[] = {
    OPT_F64("minutes", 0, &minutes, 0.01, 10000, "T", "approximate time to use; a faster model processes more text",
            .flags = CLI_VOLATILE),
    OPT_FILE("text", 0, &text_path, "FILE",
             "UTF-8 text or JSON Lines to read first; the model writes texts in the remaining time"),
    OPT_FLAG("cache", 0, &cache_only,
             "write to the user's cache folder (default: MODEL.gguf.geodec next to the model, if that folder can be "
             "written)",
             .flags = CLI_VOLATILE),
    OPT_I64("texts", 0, &texts, 0, 1 << 20, "N",
            "sample N texts, regardless of the time (0: as many as the time allows)"),
    OPT_I64("length", 0, &length, 0, 1 << 20, "N",
            "largest number of tokens of a text, with --texts or --text-tokens (0: 256, or the model's context)"),
    OPT_I64("text-tokens", 0, &text_tokens, 0, GEODEC_PREPARE_TOKENS_MAX, "N",
            "read N tokens of --text, regardless of the time (0: as many as the time allows)"),
    CLI_SEPARATOR_OPTION(separator),
    CLI_ARITHMETIC_OPTION(arithmetic, "auto|exact|fast|integer"),
    CLI_STREAMING_OPTIONS,
};

static const cli_tool tool = {
    .name = "geodec-prepare",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "make the drafting artifacts of a model in a given time",
    .usage = "[OPTIONS] MODEL.gguf",
    .description =
        "The model writes texts, or reads those of --text. Their states become a flow map, whose texts also give the\n"
        "n-gram counts. Then the drafters are tried on texts that are not in the map, and the fastest is recorded,\n"
        "or none if none is faster than plain decoding. geodec-decode and geodec-bench-decode find the result by\n"
        "themselves. Up to 70 % of the time is for texts (at most 196608 tokens), the rest for the map and the\n"
        "trial. The result is in MODEL.gguf.geodec next to the model. If that folder cannot be written, or with\n"
        "--cache, it is in $XDG_CACHE_HOME/geodec/<fingerprint> (~/.cache/geodec/<fingerprint>). Ctrl-C keeps the\n"
        "texts sampled so far, and the same command continues after them.",
    .examples = "geodec-prepare model.gguf\n"
                "geodec-prepare --minutes 10 --text notes.txt model.gguf\n"
                "geodec-decode --model model.gguf --prompt 'Once upon a time' -v",
    CLI_TAKES(options, 1, 1),
    .takes_model = true,
};

/* ---- where ------------------------------------------------------------------------------------------------------ */

/* Chooses a folder that can be written: next to the model, or in the cache. */
static geodec_status choose_folder(const cli *c, const geodec_model *m, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *own_folder = NULL, *cache = NULL, *cached = NULL;
    GEODEC_TRY(geodec_record_folder(c->args[0], &own_folder, err));
    if (!cache_only) {
        const bool made = mkdir(own_folder, 0777) == 0 || errno == EEXIST;
        if (made && access(own_folder, W_OK | X_OK) == 0) {
            GEODEC_MOVE(*out, own_folder);
            goto done;
        }
        if (errno != EACCES && errno != EROFS && errno != EPERM)
            GEODEC_THROW(GEODEC_IO, "%s: %s", own_folder, strerror(errno));
    }
    GEODEC_TRY(drafting_files_cache(&cache, err));
    if (!cache) GEODEC_THROW(GEODEC_IO, "no cache folder: neither XDG_CACHE_HOME nor HOME is set");
    GEODEC_TRY(geodec_record_cached(cache, m, &cached, err));
    GEODEC_TRY(drafting_files_make_folder(cached, err));
    GEODEC_MOVE(*out, cached);
done:
    GEODEC_FREE(own_folder, cache, cached);
    return st;
}

/* Compares an existing folder with the request. *done_: it was made by the same request. */
static geodec_status check_there(const cli *c, const geodec_prepare *p, const char *request, bool *done_,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_record there = {0};
    geodec_err ignored = {0};
    *done_ = false;
    if (c->force || geodec_record_read(p->folder, &there, &ignored) != GEODEC_OK) goto done;
    if (strcmp(there.model_sha256, geodec_model_fingerprint(p->model)) != 0) {
        cli_say(c, "%s is of another model and will be replaced", p->folder);
        goto done;
    }
    if (strcmp(there.request, request) != 0)
        GEODEC_THROW(GEODEC_EXISTS, "%s exists, made with other settings; --force replaces it", p->folder);
    cli_say(c, "%s already exists: %lld tokens, drafter %s; --force makes it again", p->folder, (long long)there.tokens,
            there.draft);
    *done_ = true;
done:
    geodec_record_clear(&there);
    return st;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static void say(const cli *c, const geodec_prepare *p, const geodec_prepare_store *s, const geodec_trial *t,
                double seconds)
{
    char rows[160] = "";
    cli_say(c, "%lld tokens of %lld texts of the model and %lld tokens of the given text, in %.1f s, arithmetic %s",
            (long long)s->sampled, (long long)s->texts, (long long)s->plan.text_tokens, seconds,
            geodec_arithmetic_name(p->arithmetic));
    cli_say(c,
            "flow map of %lld nodes: first draft correct %.1f %% without its own text; with shuffled labels: %.1f %%",
            (long long)s->map.nodes, 100 * s->map.first, 100 * s->map.shuffled);
    for (int i = 0; i < GEODEC_TRIAL_DRAFTERS; i++) {
        const size_t at = strlen(rows);
        (void)snprintf(rows + at, sizeof rows - at, "%s%s %.2f", i ? ", " : "", t->row[i].drafter, t->row[i].speedup);
    }
    if (t->prompts > 0)
        cli_say(c,
                "speed relative to plain decoding (%.0f tokens per second) on %lld new texts: %s; default drafter: %s",
                t->tok_per_s, (long long)t->prompts, rows, t->choice);
    else
        cli_say(c, "drafters were not tried: the model has no token that begins a text; default drafter: none");
    cli_say(c, "-> %s", p->folder);
}

static geodec_status try_drafters(const cli *c, const geodec_prepare *p, geodec_trial *trial, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_prompts prompts = {0};
    const int32_t n_ctx = geodec_model_configuration(p->model)->n_ctx;
    const int32_t room = GEODEC_TRIAL_PROMPT + GEODEC_TRIAL_TOKENS + GEODEC_TRIAL_GAMMA + 1;
    const geodec_session_options how = {
        .n_ctx = n_ctx < room ? n_ctx : room, .pool = c->pool, .arithmetic = p->arithmetic};
    *trial = (geodec_trial){.choice = "none"};
    GEODEC_TRY(geodec_trial_prompts(p->model, p->seed, p->arithmetic, c->pool, &prompts, err));
    if (prompts.n > 0)
        GEODEC_TRY(geodec_trial_run(p->model, p->folder, &how, &prompts, GEODEC_PREPARE_TRIAL_SHARE * p->seconds,
                                    &c->hooks, trial, err));
done:
    geodec_prompts_free(&prompts);
    return st;
}

/* The canonical command line contains the sizes that resulted from the time, so that it reproduces the same bytes. */
static geodec_status provenance(const cli *c, const geodec_prepare *p, const geodec_prepare_store *s,
                                geodec_provenance *out, geodec_err *err)
{
    texts = s->texts;
    length = s->plan.length;
    text_tokens = s->plan.text_tokens;
    cli_settled(c);
    *out = cli_provenance(c);
    out->model_fingerprint = geodec_model_fingerprint(p->model);
    out->tokenizer_fingerprint = geodec_tokenizer_fingerprint(geodec_model_tokenizer(p->model));
    GEODEC_PASS(geodec_provenance_add_file(out, c->args[0], err));
    if (text_path) GEODEC_PASS(geodec_provenance_add_file(out, text_path, err));
    return GEODEC_OK;
}

/* True if a later run can continue: after an interruption, a full disk or too little memory. */
static bool worth_keeping(geodec_status st)
{
    return st == GEODEC_OK || st == GEODEC_INTERRUPTED || st == GEODEC_IO || st == GEODEC_NOMEM;
}

static void forget(const cli *c, const char *folder)
{
    geodec_err err = {0};
    char text[GEODEC_ERR_TEXT];
    const geodec_prepare p = {.folder = folder};
    if (geodec_prepare_end(&p, &err) != GEODEC_OK) cli_say(c, "warning: %s", geodec_err_line(&err, text, sizeof text));
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    text_file text = {.run = NULL};
    char *folder = NULL, request[REQUEST], sha256[GEODEC_SHA256_HEX] = "";
    geodec_prepare_store store = {0};
    geodec_provenance made_by;
    geodec_trial trial;
    bool there = false, begun_here = false;
    int lock = -1;
    const double begun = geodec_clock_seconds();
    if (text_tokens && !text_path) GEODEC_THROW(GEODEC_INVAL, "--text-tokens needs --text");
    if (length && !texts && !text_tokens) GEODEC_THROW(GEODEC_INVAL, "--length needs --texts or --text-tokens");
    GEODEC_TRY(geodec_model_open(c->args[0], &m, err));
    (void)arithmetic_settle(c, m, &arithmetic);
    GEODEC_TRY(streaming_begin(c, m, arithmetic_of(arithmetic), 1, err));
    if (text_path) {
        GEODEC_TRY(text_open(text_path, separator, geodec_model_tokenizer(m), false, &text, err));
        geodec_sha256_of(text.map.data, text.map.size, sha256);
    }
    GEODEC_TRY(choose_folder(c, m, &folder, err));
    st = geodec_folder_lock(folder, &lock, err);
    if (st != GEODEC_OK) {
        GEODEC_FREE(folder); /* it is another process's */
        folder = NULL;
        goto done;
    }
    const geodec_prepare p = {.model = m,
                              .folder = folder,
                              .documents = text_path ? &text.documents : NULL,
                              .seed = c->seed,
                              .arithmetic = arithmetic_of(arithmetic),
                              .seconds = 60 * minutes,
                              .texts = texts,
                              .text_tokens = text_tokens,
                              .length = (int32_t)length,
                              .pool = c->pool,
                              .hooks = &c->hooks};
    (void)snprintf(request, sizeof request, "minutes=%.17g text=%s %s", minutes, sha256, c->command_line);
    GEODEC_TRY(check_there(c, &p, request, &there, err));
    if (there) goto done;
    begun_here = true;
    GEODEC_TRY(geodec_prepare_begin(&p, &store, err));
    GEODEC_TRY(geodec_prepare_sample(&p, &store, err));
    if (store.resumed) cli_say(c, "%lld texts were there", (long long)store.resumed);
    GEODEC_TRY(provenance(c, &p, &store, &made_by, err));
    GEODEC_TRY(geodec_prepare_bake(&p, &made_by, &store, err));
    GEODEC_TRY(try_drafters(c, &p, &trial, err));
    const geodec_record_made made = {&p, &store, &trial, c->command_line, request};
    GEODEC_TRY(geodec_record_write(&made, err));
    GEODEC_TRY(geodec_prepare_end(&p, err));
    say(c, &p, &store, &trial, geodec_clock_seconds() - begun);
done:
    if (begun_here && !worth_keeping(st)) forget(c, folder);
    if (st != GEODEC_OK && folder) (void)rmdir(folder); /* fails unless the folder is empty */
    geodec_folder_unlock(lock);
    geodec_mem_free(folder);
    text_close(&text);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
