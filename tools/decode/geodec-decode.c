/* geodec-decode: text from a model, accelerated by a drafter and equal to plain decoding. */
#include "base/mem.h"
#include "cli/chat.h"
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/decode_report.h"
#include "cli/decode_state.h"
#include "cli/drafters.h"
#include "cli/drafting_files.h"
#include "cli/embedded.h"
#include "cli/evaluation.h"
#include "cli/line_editor.h"
#include "cli/live.h"
#include "cli/penalty.h"
#include "cli/report.h"
#include "cli/streaming.h"
#include "decode/dialogue.h"
#include "decode/loop.h"
#include "decode/perspectives.h"
#include "decode/printer.h"
#include "drafters/drafting.h"
#include "io/file.h"
#include "lowrank/kv_projection.h"
#include "lowrank/projection.h"
#include "measure/decode_report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROMPT_MAX = 16 << 20 };

static const char *model_path, *artifacts, *prompt_text, *prompt_file, *draft, *gamma_text = "auto", *report;
static cli_list stops, biases;
static geodec_penalty_options penalty = {.repeat = 1, .window = 64};
static const char *library, *state_path, *perspectives;
static int64_t library_bytes;
static int64_t tree, max_tokens = 128, min_tokens, context, top_k;
static double temperature, top_p = 1, min_p, gate;
static bool parse_special;
static bool echo, check_plain, interactive, no_template;
static const char *template_name, *system_text, *when_full = "drop";

static char draft_help[DRAFTERS_HELP];
static decode_words words = {.isa = "auto", .arithmetic = "auto", .kv = "f32"};

static const cli_option options[] = {
    CLI_MODEL_OR_EMBEDDED_OPTION(model_path),
    OPT_FILE("projection", 0, &words.projection, "FILE",
             "projection.h5 of the model (geodec-project), which replaces weights"),
    CLI_ARTIFACTS_OPTION(artifacts),
    OPT_STR("prompt", 'p', &prompt_text, "TEXT", "text to continue (default: none; begin a new text)",
            .flags = CLI_ONCE),
    OPT_FILE("prompt-file", 0, &prompt_file, "FILE", "file with the text to continue, - for standard input",
             .flags = CLI_ONCE),
    OPT_I64("max-tokens", 'n', &max_tokens, 0, 1e9, "N", "largest number of tokens to generate"),
    OPT_I64("min-tokens", 0, &min_tokens, 0, 1e9, "N", "smallest number of tokens before the text may end"),
    OPT_F64("temperature", 0, &temperature, 0, 100, "T", "sampling temperature; 0 = always the most probable token"),
    OPT_I64("top-k", 0, &top_k, 0, 1 << 24, "K", "sample from the K most probable tokens, 0 = all"),
    OPT_F64("top-p", 0, &top_p, 1e-9, 1, "P", "sample from the most probable tokens of total mass P"),
    OPT_F64("min-p", 0, &min_p, 0, 1, "P", "sample from tokens of at least P times the most probable one's mass"),
    CLI_PENALTY_OPTIONS(penalty, biases),
    OPT_STR("draft", 'd', &draft, "NAME", draft_help),
    CLI_DRAFT_MODEL_OPTIONS(words),
    OPT_FILE("library", 0, &library, "FILE",
             "growing library of the flowmap drafter, made if absent; it stores tokens that the map did not predict, "
             "and drafts from them; valid for one model and map; changes the speed, never the text"),
    OPT_I64("library-bytes", 0, &library_bytes, 0, 1LL << 32, "N",
            "largest size of a new library in the file and in memory (0 = 4 MiB); new records replace the oldest"),
    OPT_STR("gamma", 'g', &gamma_text, "N|auto", "draft length, 0 to 64; auto: adapt it to acceptance and cost"),
    OPT_I64("tree", 0, &tree, 0, GEODEC_DRAFT_MAX, "B",
            "draft trees of B tokens, with a depth of at most --gamma; 0 = chains"),
    OPT_F64("gate", 0, &gate, 0, 1, "P", "end a draft at the first token with a confidence below P"),
    OPT_LIST("stop", 0, &stops, "TEXT", "stop before this text; may be given several times"),
    OPT_FLAG("parse-special", 0, &parse_special,
             "control tokens in the prompt, as they are written (<|im_start|>), are these tokens"),
    OPT_I64("ctx", 0, &context, 0, 1 << 20, "N", "context length in tokens, 0 = the model's"),
    CLI_ISA_OPTION(words.isa),
    CLI_ARITHMETIC_OPTION(words.arithmetic, "auto|exact|fast|integer"),
    CLI_KV_OPTION(words.kv),
    CLI_KV_PROJECTION_OPTION(words.kv_projection),
    CLI_ATTNRES_OPTION(words.attnres),
    OPT_FLAG("interactive", 'i', &interactive,
             "hold a dialogue: each line of standard input is a turn; /reset starts over, /quit ends. On a terminal, "
             "lines are edited, with a history, pasted lines are one turn, and Ctrl-C ends a reply"),
    OPT_CHOICE("ctx-full", 0, &when_full, "drop|stop", "WHAT",
               "with --interactive, when the context is full: drop the oldest turns, with a note (without a chat "
               "format a line is refused); or stop, with status 3"),
    OPT_STR(
        "template", 0, &template_name, "NAME|auto|FILE.jinja",
        "chat format: a built-in one, the model's own, or a template; the prompt is then a user's message (default: "
        "the model's own with --interactive, none without)"),
    OPT_FLAG("no-template", 0, &no_template,
             "with --interactive: use no chat format; each line of input continues the same text"),
    OPT_STR("system", 0, &system_text, "TEXT", "system message of --interactive and --template"),
    OPT_FLAG("echo", 0, &echo, "write the prompt before the text"),
    OPT_FLAG("check-plain", 0, &check_plain, "also decode without a drafter and compare; status 4 if the texts differ"),
    OPT_STR(
        "perspectives", 0, &perspectives, "WHAT",
        "where the model is unsure, run its last layers again with other experts and disturbed streams, and take the "
        "mean distribution: default (second+jitter+dropout), base, or kinds joined by + (second, jitter, dropout, "
        "antipode, random), and settings after commas (m=5: layers, sigma=.01, dropout=.1, tau=.15, top=.6, "
        "entropy=3). Without drafts"),
    OPT_FILE(
        "state", 0, &state_path, "FILE",
        "session of the text: read at the start, if there is one, so that the text goes on where the last run ended; "
        "written at the end and after an interrupt. A file that is damaged, of another model or of a text that does "
        "not begin with the prompt is ignored with a warning"),
    OPT_FILE("report", 0, &report, "FILE", "write readiness, counters and times as JSON", .flags = CLI_VOLATILE),
    CLI_STREAMING_OPTIONS,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-decode",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "write text with a model, accelerated by a drafter that does not change the text",
    .usage = "[OPTIONS]",
    .description =
        "The text goes to standard output as it is generated. Verification is exact: for every drafter and draft\n"
        "length, the tokens are those of plain decoding, greedy or sampled with the same --seed.",
    .examples =
        "geodec-decode --prompt 'Once upon a time'\n"
        "geodec-decode --model model.gguf --prompt 'Once upon a time'\n"
        "geodec-decode --model model.gguf --artifacts results/model --draft flowmap --prompt 'Once upon a time' -v\n"
        "geodec-decode --model model.gguf --prompt 'Once upon a time' --state story.state    # again: goes on\n"
        "geodec-decode --model model.gguf --draft ngram --interactive --template chatml",
    CLI_TAKES(options, 0, 0),
};

/* The prompt as a user's message in a chat format, up to the reply. */
static geodec_status chat_prompt(const geodec_model *m, const char *text, size_t length, int32_t **ids, int64_t *n,
                                 geodec_err *err)
{
    const geodec_chat_template *chat = NULL;
    const geodec_chat_message both[] = {
        {GEODEC_CHAT_SYSTEM, system_text ? system_text : "", system_text ? strlen(system_text) : 0},
        {GEODEC_CHAT_USER, text, length}};
    GEODEC_PASS(chat_format(m, template_name, &chat, err));
    const geodec_status st = geodec_chat_encode(chat, geodec_model_tokenizer(m), system_text ? both : both + 1,
                                                system_text ? 2 : 1, true, ids, n, err);
    geodec_chat_template_free(chat);
    return st;
}

/* Reads the prompt as ids, with BOS first. A model without BOS needs at least one token of text. */
static geodec_status read_prompt(const geodec_model *m, int32_t **ids, int64_t *n, geodec_err *err)
{
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    int32_t *id = NULL;
    size_t length = 0;
    int64_t count = 0;
    const char *name = prompt_file ? prompt_file : "--prompt";
    if (prompt_text && prompt_file) GEODEC_THROW(GEODEC_INVAL, "give --prompt or --prompt-file, not both");
    if (prompt_file) {
        GEODEC_TRY(geodec_file_read(prompt_file, PROMPT_MAX, &text, &length, err));
    } else {
        text = geodec_mem_strdup(prompt_text ? prompt_text : "");
        if (!text) GEODEC_THROW(GEODEC_NOMEM, "no memory for the prompt");
        length = strlen(text);
    }
    const int64_t bad = geodec_file_utf8_check(text, length);
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "%s: not UTF-8 at byte %lld", name, (long long)bad);
    if (template_name) {
        GEODEC_TRY_MSG(chat_prompt(m, text, length, ids, n, err), "%s", name);
        goto done;
    }
    GEODEC_NEW(id, (int64_t)length + 3);
    const geodec_encode_options how = {.bos = true, .parse_special = parse_special};
    GEODEC_TRY_MSG(geodec_tokenizer_encode_with(t, text, length, &how, id, &count, err), "%s", name);
    if (count < 1)
        GEODEC_THROW(GEODEC_FORMAT, "%s: an empty prompt, and the model has no token that begins a text", name);
    *ids = id;
    *n = count;
    id = NULL;
done:
    GEODEC_FREE(text, id);
    return st;
}

/* Reports the growth of the library. The drafter is already destroyed, so all its records are written. */
static void say_library(const cli *c, const geodec_drafting *drafting)
{
    const geodec_flowmap_library *grown = geodec_drafting_grown(drafting);
    if (!grown) return;
    const geodec_flowmap_library_report s = geodec_flowmap_library_summary(grown);
    cli_say(c, "library: %lld records, %lld of them new; room for %lld", (long long)s.records, (long long)s.added,
            (long long)s.room);
}

/* Opens the drafting artifacts, given or found, and the drafter: --draft, else the fastest one in the trial of
 * geodec-prepare. */
static geodec_status choose_drafter(const cli *c, const geodec_model *m, drafting_files *t, geodec_drafting **out,
                                    geodec_err *err)
{
    static char chosen[GEODEC_DRAFTER_NAME_MAX] = "none";
    const bool given = draft != NULL;
    const bool look = !given || geodec_drafting_takes_artifacts(draft);
    GEODEC_PASS(drafting_files_open(c, m, artifacts, look, t, err));
    if (!given) {
        if (t->found) (void)snprintf(chosen, sizeof chosen, "%s", t->record.draft);
        draft = chosen;
    }
    GEODEC_PASS(drafting_files_drafting(c, m, t, &draft, 1, out, err));
    if (t->found) artifacts = t->folder;
    if (t->found || !given) cli_settled(c);
    if (t->found && strcmp(draft, "none") != 0) drafting_files_say(c, t, draft, words.arithmetic);
    if (t->found && strcmp(draft, "none") == 0 && c->verbose > 0)
        cli_say(c, "%s: no drafter was faster than plain decoding in the trial of geodec-prepare", t->folder);
    return GEODEC_OK;
}

/* Refuses options that exclude each other. */
static geodec_status check_dialogue(geodec_err *err)
{
    if (!interactive && no_template) GEODEC_FAIL(GEODEC_INVAL, "--no-template needs --interactive");
    if (!interactive && strcmp(when_full, "drop") != 0) GEODEC_FAIL(GEODEC_INVAL, "--ctx-full needs --interactive");
    if (!interactive && system_text && !template_name)
        GEODEC_FAIL(GEODEC_INVAL, "--system needs --interactive or --template");
    if (template_name && no_template) GEODEC_FAIL(GEODEC_INVAL, "give --template or --no-template, not both");
    if (no_template && system_text) GEODEC_FAIL(GEODEC_INVAL, "--system needs a chat format");
    if (interactive && (prompt_text || prompt_file || report || echo))
        GEODEC_FAIL(GEODEC_INVAL, "--interactive takes none of --prompt, --prompt-file, --report and --echo");
    return GEODEC_OK;
}

static geodec_status talk(const cli *c, const geodec_model *m, const geodec_target *target, geodec_drafter *drafter,
                          const geodec_decode_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_chat_template *chat = NULL;
    geodec_session *second = NULL;
    line_editor *editor = NULL;
    geodec_target plain;
    if (!no_template) GEODEC_TRY(chat_format(m, template_name, &chat, err));
    if (check_plain) {
        GEODEC_TRY(decode_session(m, target->n_ctx, &words, c->pool, &second, err));
        plain = geodec_target_session(second, DECODE_BATCH);
    }
    const bool terminal = isatty(STDIN_FILENO) != 0;
    if (terminal) report_turns();
    if (terminal) GEODEC_TRY(line_editor_open(&editor, err));
    const geodec_dialogue d = {.in = stdin,
                               .out = stdout,
                               .notes = stderr,
                               .terminal = terminal,
                               .read_line = editor ? line_editor_read : NULL,
                               .reader = editor,
                               .turn_stopped = report_turn_stopped,
                               .stop_asked = report_stop_asked,
                               .hooks = &c->hooks,
                               .tokenizer = geodec_model_tokenizer(m),
                               .target = target,
                               .plain = check_plain ? &plain : NULL,
                               .drafter = drafter,
                               .options = o,
                               .chat = chat,
                               .system = system_text,
                               .stop = stops.item,
                               .n_stop = stops.n,
                               .when_full =
                                   strcmp(when_full, "stop") == 0 ? GEODEC_DIALOGUE_STOP : GEODEC_DIALOGUE_DROP};
    GEODEC_TRY(geodec_dialogue_run(&d, err));
done:
    line_editor_close(editor);
    geodec_chat_template_free(chat);
    geodec_session_destroy(second);
    return st;
}

static geodec_status compare(const cli *c, const geodec_decoded *got, const geodec_decoded *plain, geodec_err *err)
{
    for (int64_t i = 0; i < got->n || i < plain->n; i++)
        if (i >= got->n || i >= plain->n || got->token[i] != plain->token[i])
            GEODEC_FAIL(GEODEC_CHECK, "output token %lld differs from plain decoding", (long long)i);
    cli_say(c, "equal to plain decoding: %lld tokens", (long long)got->n);
    return GEODEC_OK;
}

/* With --verbose: reports passes and accepted drafts. */
static void say_drafts(const cli *c, const geodec_decoded *got)
{
    const geodec_decode_counters *k = &got->counters;
    if (c->verbose > 0) cli_say(c, "arithmetic %s", words.arithmetic);
    if (c->verbose > 0)
        cli_say(c, "%lld tokens in %lld passes of the model, %.2f per pass (plain: 1); %lld of %lld drafts accepted",
                (long long)got->n, (long long)k->target_passes, geodec_decode_tokens_per_pass(k),
                (long long)k->total.accepted, (long long)k->total.proposed);
}

/* The state of a run. */
typedef struct work {
    const cli *c;
    geodec_hooks hooks, warnings;
    geodec_model *m;
    geodec_session *s;
    geodec_target target;
    drafting_files found;
    geodec_drafting *drafting;
    geodec_drafter *drafter;
    int32_t *prompt, stop[GEODEC_STOP_TOKENS];
    int64_t n;      /* tokens of the prompt */
    char *embedded; /* path of the embedded model, without --model */
    geodec_decode_options o;
    geodec_printer *printer;
    decode_state state;
    geodec_perspectives *perspectives;
    geodec_decoded got, plain;
} work;

static geodec_status check_options(work *w, geodec_err *err)
{
    GEODEC_PASS(decode_gamma(gamma_text, &w->o, err));
    GEODEC_PASS(check_dialogue(err));
    if ((words.draft_model || words.draft_projection) && !(draft && strstr(draft, "model")))
        GEODEC_FAIL(GEODEC_INVAL, "--draft-model and --draft-projection need --draft model");
    if (library_bytes && !library) GEODEC_FAIL(GEODEC_INVAL, "--library-bytes needs --library");
    if (state_path && interactive) GEODEC_FAIL(GEODEC_INVAL, "--state does not go with --interactive");
    if (perspectives && (draft || interactive || check_plain || library))
        GEODEC_FAIL(GEODEC_INVAL, "--perspectives takes none of --draft, --interactive, --check-plain and --library");
    if (perspectives) draft = "none";
    w->o.budget = (int32_t)tree;
    if (report) GEODEC_PASS(cli_may_write(w->c, report, err));
    return GEODEC_OK;
}

/* Sessions of the model that are open at the same time. */
static int32_t sessions(void) { return 1 + (draft && strstr(draft, "exit")); }

/* Opens the model with its session, the prompt, the artifacts and the drafter. */
static geodec_status open_all(work *w, geodec_err *err)
{
    const cli *c = w->c;
    GEODEC_PASS(embedded_settle(c, &model_path, &w->embedded, err));
    GEODEC_PASS(geodec_model_open(model_path, &w->m, err));
    (void)arithmetic_settle(c, w->m, &words.arithmetic);
    GEODEC_PASS(streaming_begin(c, w->m, arithmetic_of(words.arithmetic), sessions(), err));
    GEODEC_PASS(decode_projections(&words, w->m, err));
    if (!interactive) GEODEC_PASS(read_prompt(w->m, &w->prompt, &w->n, err));
    GEODEC_PASS(choose_drafter(c, w->m, &w->found, &w->drafting, err));
    GEODEC_PASS(decode_session(w->m, (int32_t)context, &words, c->pool, &w->s, err));
    context_check(c, w->m, "texts", context);
    GEODEC_PASS(decode_second(c, w->s, &words, c->pool, w->drafting, err));
    if (library) GEODEC_PASS(geodec_drafting_library(w->drafting, library, library_bytes, &w->warnings, err));
    GEODEC_PASS(geodec_drafting_create(w->drafting, draft, &w->drafter, err));
    if (check_plain && w->drafter && w->drafter->ops->distribution && temperature > 0)
        GEODEC_FAIL(GEODEC_INVAL, "--check-plain: drafter %s keeps the distribution of sampled text, not its tokens",
                    draft);
    w->target = geodec_target_session(w->s, DECODE_BATCH);
    if (!perspectives) return GEODEC_OK;
    geodec_perspectives_options o = {.seed = c->seed};
    GEODEC_PASS(geodec_perspectives_parse(perspectives, &o, err));
    GEODEC_PASS(geodec_perspectives_create(w->s, &o, &w->perspectives, err));
    w->target = geodec_perspectives_target(w->perspectives, DECODE_BATCH);
    return GEODEC_OK;
}

/* With --state: the text of the file in place of the prompt. */
static geodec_status open_state(work *w, geodec_err *err)
{
    w->state = (decode_state){.path = state_path, .session = w->s};
    if (!state_path) return GEODEC_OK;
    GEODEC_PASS(decode_state_begin(&w->state, w->c, w->prompt, w->n, prompt_text || prompt_file, err));
    GEODEC_PASS(decode_state_options(&w->state, w->drafter, &w->o, err));
    geodec_mem_free(w->prompt);
    w->prompt = NULL;
    geodec_status st = GEODEC_OK;
    GEODEC_NEW_COPY(w->prompt, w->state.text.token, w->state.text.n);
    w->n = w->state.text.n;
done:
    return st;
}

static void round_ended(void *ctx)
{
    const work *w = ctx;
    geodec_printer_flush(w->printer);
    streaming_live();
}

static int emit_token(void *ctx, int32_t token)
{
    work *w = ctx;
    return w->state.path ? decode_state_emit(&w->state, token) : geodec_printer_emit(w->printer, token);
}

static geodec_status fill_options(work *w, geodec_err *err)
{
    geodec_decode_options *o = &w->o;
    o->sampling = (geodec_sampling){.temperature = temperature,
                                    .top_k = (int32_t)top_k,
                                    .top_p = top_p,
                                    .min_p = min_p,
                                    .seed = w->c->seed,
                                    .integers = geodec_session_arithmetic(w->s) == GEODEC_INTEGER};
    GEODEC_PASS(penalty_biases(&biases, &penalty, err));
    o->penalty = penalty;
    o->max_tokens = max_tokens;
    o->min_tokens = min_tokens;
    o->stop = w->stop;
    o->n_stop = geodec_drafting_stop_tokens(geodec_model_tokenizer(w->m), w->stop);
    o->gate = gate;
    o->emit = emit_token;
    o->round_end = round_ended;
    o->ctx = w;
    o->hooks = &w->hooks;
    if (w->drafter && o->adaptive) return decode_cost(&w->target, (int32_t)w->n, tree, &o->cost, err);
    return GEODEC_OK;
}

/* With --verbose: what became of the tokens. */
static void say_perspectives(const work *w)
{
    if (!w->perspectives || w->c->verbose < 1) return;
    const geodec_perspectives_counters k = geodec_perspectives_counted(w->perspectives);
    cli_say(w->c,
            "%d perspectives at %lld of %lld tokens: %lld geometric and %lld arithmetic means, %lld other tokens; "
            "processor time %.2f s, and %.2f s for them",
            geodec_perspectives_n(w->perspectives), (long long)k.asked, (long long)k.tokens, (long long)k.geometric,
            (long long)k.arithmetic, (long long)k.changed, k.base_seconds, k.more_seconds);
}

static geodec_status write_text(work *w, geodec_err *err)
{
    GEODEC_PASS(geodec_printer_open(geodec_model_tokenizer(w->m), w->prompt, w->n, echo, stops.item, stops.n, stdout,
                                    &w->printer, err));
    w->state.emit = geodec_printer_emit;
    w->state.ctx = w->printer;
    if (w->c->verbose > 0 && !w->c->quiet && geodec_streamed_is(w->m)) live_begin();
    const geodec_status st = geodec_decode(&w->target, w->prompt, w->n, w->drafter, &w->o, &w->got, err);
    const int64_t before = geodec_printer_before_stop(w->printer);
    if (w->state.path && before >= 0) w->state.text.n = (int32_t)(w->n + before); /* it ends before the stop text */
    GEODEC_PASS(decode_state_end(&w->state, w->c, st, err));
    geodec_printer_end(w->printer);
    if (w->got.end == GEODEC_END_CONTEXT)
        cli_say(w->c, "the text was cut: the context of %d tokens is full (--ctx)", w->target.n_ctx);
    say_drafts(w->c, &w->got);
    say_perspectives(w);
    if (check_plain) {
        /* After a stop text, the plain run generates the same number of tokens. */
        geodec_decode_options q = w->o;
        q.emit = NULL;
        q.round_end = NULL;
        if (w->got.end == GEODEC_END_CALLER) q.max_tokens = w->got.n;
        GEODEC_PASS(geodec_decode(&w->target, w->prompt, w->n, NULL, &q, &w->plain, err));
    }
    return GEODEC_OK;
}

static geodec_status write_report(const work *w, geodec_err *err)
{
    geodec_provenance made_for = {0};
    GEODEC_PASS(geodec_drafting_provenance(w->drafting, &made_for, err));
    geodec_readiness ready;
    geodec_decode_report r = {.tool = w->c->tool->name,
                              .command_line = w->c->command_line,
                              .seed = w->c->seed,
                              .threads = w->c->threads,
                              .session = w->s,
                              .drafter = w->drafter,
                              .artifact_model_sha256 = made_for.inherited_model,
                              .options = &w->o,
                              .n_prompt = w->n,
                              .got = &w->got,
                              .plain = check_plain ? &w->plain : NULL};
    geodec_drafting_consistency(w->drafting, &r.flow_consistency, &r.flow_consistency_shuffled);
    ready = geodec_decode_report_readiness(&r);
    GEODEC_PASS(decode_consistency(w->found.folder, w->m, &ready, err));
    GEODEC_PASS(geodec_decode_report_write(report, &r, &ready, err));
    return GEODEC_OK;
}

static void close_all(work *w, bool succeeded)
{
    geodec_printer_close(w->printer);
    geodec_decode_free(&w->got);
    geodec_decode_free(&w->plain);
    geodec_drafter_destroy(w->drafter);
    if (succeeded) say_library(w->c, w->drafting);
    geodec_drafting_close(w->drafting);
    drafting_files_close(&w->found);
    geodec_perspectives_destroy(w->perspectives);
    geodec_session_destroy(w->s);
    geodec_model_close(w->m);
    decode_state_clear(&w->state);
    GEODEC_FREE(w->prompt, w->embedded);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    work w = {.c = c, .o = geodec_decode_options_default()};
    w.hooks = report_hooks(tool.name, true, 0); /* no progress lines inside the text; these hooks only report signals */
    w.warnings = report_hooks(tool.name, c->quiet, c->verbose);
    w.warnings.progress = NULL;
    GEODEC_TRY(check_options(&w, err));
    GEODEC_TRY(open_all(&w, err));
    GEODEC_TRY(fill_options(&w, err)); /* its measurement of passes leaves other rows in the session */
    GEODEC_TRY(open_state(&w, err));
    if (interactive) {
        GEODEC_TRY(talk(c, w.m, &w.target, w.drafter, &w.o, err));
        goto done;
    }
    GEODEC_TRY(write_text(&w, err));
    if (report) GEODEC_TRY(write_report(&w, err));
    if (check_plain) GEODEC_TRY(compare(c, &w.got, &w.plain, err));
done:
    st = streaming_end(c, w.m, st, err);
    close_all(&w, st == GEODEC_OK);
    return st;
}

int main(int argc, char **argv)
{
    drafters_help(draft_help,
                  "drafter (default: with artifacts of geodec-prepare, the fastest one in its trial, else none): ",
                  ". A drafter changes the speed, never the text, except that drafters with -sampled keep only the "
                  "distribution of sampled text, not the text of a seed");
    return cli_main(argc, argv, &tool, run);
}
