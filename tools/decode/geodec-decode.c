/* geodec-decode: text from a model, sped up by a drafter, equal to the model's own. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/decode_report.h"
#include "cli/dialogue.h"
#include "cli/drafters.h"
#include "cli/evaluation.h"
#include "cli/presets.h"
#include "cli/printer.h"
#include "cli/report.h"
#include "cli/tables.h"
#include "decode/loop.h"
#include "drafters/drafting.h"
#include "io/file.h"
#include "lowrank/kv_projection.h"
#include "lowrank/projection.h"
#include "measure/compat_counters.h"
#include "measure/draft_alone.h"

#include <stdio.h>
#include <string.h>

enum { PROMPT_MAX = 16 << 20, COST_REPEATS = 2 };

static const char *model_path, *artifacts, *prompt_text, *prompt_file, *draft, *gamma_text = "auto", *stop_text,
                                                                               *report;
static const char *preset, *draft_model, *draft_projection, *draft_arithmetic, *library;
static int64_t library_bytes;
static const char *isa = "auto", *arithmetic = "auto", *kv = "f32", *attnres, *kv_projection;
static int64_t tree, max_tokens = 128, min_tokens, context, top_k;
static double temperature, top_p = 1, gate;
static bool echo, check_plain, no_verifier, compat_counters, interactive, no_template;
static const char *template_name, *system_text;

static const char *projection;
static char draft_help[DRAFTERS_HELP];
static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    {.name = "projection",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &projection,
     .metavar = "FILE",
     .help = "projection.h5 of the model (geodec-project), put in the place of its weights"},
    CLI_ARTIFACTS_OPTION(artifacts),
    {.name = "prompt",
     .letter = 'p',
     .type = CLI_STR,
     .target = &prompt_text,
     .metavar = "TEXT",
     .help = "text to go on from (default: none, a new text)"},
    {.name = "prompt-file",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &prompt_file,
     .metavar = "FILE",
     .help = "the same from a file, - for standard input"},
    {.name = "max-tokens",
     .letter = 'n',
     .type = CLI_I64,
     .target = &max_tokens,
     .min = 0,
     .max = 1e9,
     .metavar = "N",
     .help = "tokens to write at most"},
    {.name = "min-tokens",
     .type = CLI_I64,
     .target = &min_tokens,
     .min = 0,
     .max = 1e9,
     .metavar = "N",
     .help = "no end of text before this many tokens"},
    {.name = "temperature",
     .type = CLI_F64,
     .target = &temperature,
     .min = 0,
     .max = 100,
     .metavar = "T",
     .help = "0 = always the most probable token"},
    {.name = "top-k",
     .type = CLI_I64,
     .target = &top_k,
     .min = 0,
     .max = 1 << 24,
     .metavar = "K",
     .help = "sample from the K most probable tokens, 0 = all"},
    {.name = "top-p",
     .type = CLI_F64,
     .target = &top_p,
     .min = 1e-9,
     .max = 1,
     .metavar = "P",
     .help = "sample from the most probable tokens of total mass P"},
    {.name = "draft", .letter = 'd', .type = CLI_STR, .target = &draft, .metavar = "NAME", .help = draft_help},
    CLI_PRESET_OPTION(preset),
    CLI_DRAFT_MODEL_OPTIONS(draft_model, draft_projection, draft_arithmetic),
    {.name = "library",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &library,
     .metavar = "FILE",
     .help = "library of the flowmap drafter that grows: what the map did not foresee is added to it (made when "
             "absent), and drafts; only with the same model and map; changes the speed, never the text"},
    {.name = "library-bytes",
     .type = CLI_I64,
     .target = &library_bytes,
     .min = 0,
     .max = 1LL << 32,
     .metavar = "N",
     .help = "bound of a new library's file and memory (0 = 4 MiB); the oldest records make room for new ones"},
    {.name = "gamma",
     .letter = 'g',
     .type = CLI_STR,
     .target = &gamma_text,
     .metavar = "N|auto|papers:N",
     .help = "draft length, 0 to 64; auto adapts it to what is accepted and what it costs; papers:N, for comparison, "
             "by the papers' rule: from N down and up by the share accepted in four rounds"},
    {.name = "tree",
     .type = CLI_I64,
     .target = &tree,
     .min = 0,
     .max = GEODEC_DRAFT_MAX,
     .metavar = "B",
     .help = "draft trees of B tokens, at most as long as --gamma; 0 = chains"},
    {.name = "gate",
     .type = CLI_F64,
     .target = &gate,
     .min = 0,
     .max = 1,
     .metavar = "P",
     .help = "end a draft at the first token of a lower confidence"},
    {.name = "stop", .type = CLI_STR, .target = &stop_text, .metavar = "TEXT", .help = "end before this text"},
    {.name = "ctx",
     .type = CLI_I64,
     .target = &context,
     .min = 0,
     .max = 1 << 20,
     .metavar = "N",
     .help = "context length in tokens, 0 = the model's"},
    CLI_ISA_OPTION(isa),
    CLI_ARITHMETIC_OPTION(arithmetic, "auto|exact|fast"),
    CLI_KV_OPTION(kv),
    CLI_KV_PROJECTION_OPTION(kv_projection),
    CLI_ATTNRES_OPTION(attnres),
    {.name = "interactive",
     .letter = 'i',
     .type = CLI_FLAG,
     .target = &interactive,
     .help = "talk: a line of standard input is a turn; /reset begins anew, /quit ends. On a terminal Ctrl-C ends a "
             "reply. When the context is full a line is not taken, with a note"},
    {.name = "template",
     .type = CLI_STR,
     .target = &template_name,
     .metavar = "NAME",
     .help = "chat format of --interactive (default: the model's own)"},
    {.name = "no-template",
     .type = CLI_FLAG,
     .target = &no_template,
     .help = "with --interactive: lines go on with one text, each on a line of its own"},
    {.name = "system",
     .type = CLI_STR,
     .target = &system_text,
     .metavar = "TEXT",
     .help = "system message of --interactive"},
    {.name = "echo", .type = CLI_FLAG, .target = &echo, .help = "write the prompt before the text"},
    {.name = "check-plain",
     .type = CLI_FLAG,
     .target = &check_plain,
     .help = "decode plainly as well and compare; status 4 on a difference"},
    {.name = "report",
     .type = CLI_STR,
     .flags = CLI_VOLATILE | CLI_PATH,
     .target = &report,
     .metavar = "FILE",
     .help = "write readiness, counters and times as JSON"},
    {.name = "no-verifier",
     .type = CLI_FLAG,
     .target = &no_verifier,
     .help = "for comparison: what the drafter writes alone, up to 64 tokens, with no pass of the model behind "
             "the prompt; not the model's text"},
    {.name = "compat-counters",
     .type = CLI_FLAG,
     .target = &compat_counters,
     .help = "for tests: replay the counting of the papers' runtime, whose acceptance rate follows from "
             "the number of tokens alone, and print it; decodes nothing else"},
};

static const cli_tool tool = {
    .name = "geodec-decode",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "write text with a model; a drafter makes it faster and leaves it unchanged",
    .usage = "--model FILE [OPTIONS]",
    .description =
        "The text goes to standard output as it is made. Verification is exact: for every drafter and draft\n"
        "length the tokens are those of plain decoding, greedy or sampled with the same --seed.",
    .examples =
        "geodec-decode --model model.gguf --prompt 'Once upon a time'\n"
        "geodec-decode --model model.gguf --artifacts results/model --draft flowmap --prompt 'Once upon a time' -v\n"
        "geodec-decode --model model.gguf --draft ngram --interactive --template chatml",
    .options = options,
    .n_options = CLI_COUNT(options),
    .preset = &preset,
    .presets = presets_decode,
    .n_presets = PRESETS_N,
};

/* The prompt as ids, BOS first; a model without BOS needs at least one token of text. */
static geodec_status read_prompt(const geodec_tokenizer *t, int32_t **ids, int64_t *n, geodec_err *err)
{
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
    GEODEC_NEW(id, (int64_t)length + 2);
    GEODEC_TRY_MSG(geodec_tokenizer_encode(t, text, length, true, id, &count, err), "%s", name);
    if (count < 1)
        GEODEC_THROW(GEODEC_FORMAT, "%s: an empty prompt, and the model has no token that begins a text", name);
    *ids = id;
    *n = count;
    id = NULL;
done:
    geodec_mem_free(text);
    geodec_mem_free(id);
    return st;
}

/* The papers' 30/64 and 5/13, on whatever model. */
static geodec_status print_compat(const geodec_target *target, const int32_t *prompt, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_compat_counters k;
    GEODEC_TRY(geodec_compat_replay(target, prompt, n, max_tokens, &k, err));
    printf("geo_accepted %lld/%lld (%.1f %%), xfmr %lld, passes %lld\n", (long long)k.geo_accepted, (long long)k.tokens,
           100 * k.acceptance, (long long)k.xfmr, (long long)k.target_passes);
done:
    return st;
}

/* What the library has become. The drafter is gone, so all its records are made. */
static void say_library(const cli *c, const geodec_drafting *drafting)
{
    const geodec_flowmap_library *grown = geodec_drafting_grown(drafting);
    if (!grown) return;
    const geodec_flowmap_library_report s = geodec_flowmap_library_summary(grown);
    cli_say(c, "library: %lld records, %lld of them new; room for %lld", (long long)s.records, (long long)s.added,
            (long long)s.room);
}

/* Tables, given or found, and the drafter: that of --draft, else what was the fastest when the tables were made. */
static geodec_status choose_drafter(const cli *c, const geodec_model *m, tables *t, geodec_drafting **out,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static char chosen[GEODEC_DRAFTER_NAME_MAX] = "none";
    const bool given = draft != NULL;
    const bool look = !compat_counters && (!given || geodec_drafting_takes_artifacts(draft));
    GEODEC_TRY(tables_open(c, m, artifacts, look, t, err));
    if (!given) {
        if (t->found) (void)snprintf(chosen, sizeof chosen, "%s", t->record.draft);
        draft = chosen;
    }
    if (no_verifier && strcmp(draft, "none") == 0)
        GEODEC_THROW(GEODEC_INVAL, "--no-verifier needs a drafter (--draft)");
    GEODEC_TRY(tables_drafting(c, m, t, &draft, 1, out, err));
    if (t->found) artifacts = t->folder;
    if (t->found || !given) cli_settled(c);
    if (t->found && strcmp(draft, "none") != 0) tables_say(c, t, draft, arithmetic);
    if (t->found && strcmp(draft, "none") == 0 && c->verbose > 0)
        cli_say(c, "%s: no drafter was faster than plain decoding when it was made", t->folder);
done:
    return st;
}

/* Which of the options do not go together. */
static geodec_status check_dialogue(geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!interactive && (template_name || no_template || system_text))
        GEODEC_THROW(GEODEC_INVAL, "--template, --no-template and --system belong to --interactive");
    if (template_name && no_template) GEODEC_THROW(GEODEC_INVAL, "give --template or --no-template, not both");
    if (no_template && system_text) GEODEC_THROW(GEODEC_INVAL, "a system message needs a chat format");
    if (interactive && (prompt_text || prompt_file || report || echo || no_verifier || compat_counters))
        GEODEC_THROW(GEODEC_INVAL, "--interactive has no --prompt, --prompt-file, --report, --echo, --no-verifier and "
                                   "--compat-counters");
done:
    return st;
}

static geodec_status talk(const cli *c, const geodec_model *m, const geodec_target *target, geodec_drafter *drafter,
                          const geodec_decode_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_chat_template *chat = NULL;
    geodec_session *second = NULL;
    geodec_target plain;
    if (template_name)
        GEODEC_TRY(geodec_chat_template_find(template_name, &chat, err));
    else if (!no_template)
        GEODEC_TRY_MSG(geodec_chat_template_of(geodec_model_gguf(m), &chat, err),
                       "--interactive without --template or --no-template");
    if (check_plain) {
        GEODEC_TRY(decode_session(m, target->n_ctx, isa, arithmetic, kv, attnres, c->pool, &second, err));
        plain = geodec_target_session(second, DECODE_BATCH);
    }
    const dialogue d = {.cli = c,
                        .tokenizer = geodec_model_tokenizer(m),
                        .target = target,
                        .plain = check_plain ? &plain : NULL,
                        .drafter = drafter,
                        .options = o,
                        .chat = chat,
                        .system = system_text,
                        .stop_text = stop_text};
    GEODEC_TRY(dialogue_run(&d, err));
done:
    geodec_session_destroy(second);
    return st;
}

static geodec_status compare(const cli *c, const geodec_decoded *got, const geodec_decoded *plain, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int64_t i = 0; i < got->n || i < plain->n; i++)
        if (i >= got->n || i >= plain->n || got->token[i] != plain->token[i])
            GEODEC_THROW(GEODEC_CHECK, "output token %lld differs from plain decoding", (long long)i);
    cli_say(c, "equal to plain decoding: %lld tokens", (long long)got->n);
done:
    return st;
}

/* --verbose: what the drafts were worth. */
static void say_drafts(const cli *c, const geodec_decoded *got)
{
    const geodec_decode_counters *k = &got->counters;
    if (c->verbose > 0) cli_say(c, "arithmetic %s", arithmetic);
    if (c->verbose > 0 && !no_verifier)
        cli_say(c, "%lld tokens in %lld passes of the model, %.2f a pass (plain: 1); %lld of %lld drafts accepted",
                (long long)got->n, (long long)k->target_passes, geodec_decode_tokens_per_pass(k),
                (long long)k->total.accepted, (long long)k->total.proposed);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    geodec_drafting *drafting = NULL;
    geodec_drafter *drafter = NULL;
    int32_t *prompt = NULL, stop[GEODEC_STOP_TOKENS];
    int64_t n = 0;
    geodec_decoded got = {0}, plain = {0};
    tables found = {0};
    printer *p = NULL;
    /* Progress would cross the text: the hooks only pass on signals. */
    const geodec_hooks hooks = report_hooks(tool.name, true, 0);
    geodec_hooks warnings = report_hooks(tool.name, c->quiet, c->verbose);
    warnings.progress = NULL;
    geodec_decode_options o = geodec_decode_options_default();
    GEODEC_TRY(decode_gamma(gamma_text, &o, err));
    GEODEC_TRY(check_dialogue(err));
    if ((draft_model || draft_projection) && !(draft && strstr(draft, "model")))
        GEODEC_THROW(GEODEC_INVAL, "--draft-model and --draft-projection belong to --draft model");
    if (library_bytes && !library) GEODEC_THROW(GEODEC_INVAL, "--library-bytes is the bound of a --library");
    if (no_verifier && temperature > 0) GEODEC_THROW(GEODEC_INVAL, "a drafter alone does not sample");
    o.budget = (int32_t)tree;
    if (report) GEODEC_TRY(cli_may_write(c, report, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    (void)arithmetic_settle(c, m, &arithmetic);
    if (projection) GEODEC_TRY(geodec_projection_load(projection, m, err));
    if (kv_projection) GEODEC_TRY(geodec_kv_projection_load(kv_projection, m, err));
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    if (!interactive) GEODEC_TRY(read_prompt(t, &prompt, &n, err));
    GEODEC_TRY(choose_drafter(c, m, &found, &drafting, err));
    GEODEC_TRY(decode_session(m, (int32_t)context, isa, arithmetic, kv, attnres, c->pool, &s, err));
    geodec_session_options how = decode_session_options(geodec_session_n_ctx(s), isa, arithmetic, kv, c->pool);
    how.attnres = *geodec_session_attnres(s);
    GEODEC_TRY(geodec_drafting_sessions(drafting, &how, draft_model, err));
    if (draft_projection) GEODEC_TRY(geodec_drafting_project(drafting, draft_projection, err));
    decode_second_arithmetic(c, drafting, &draft_arithmetic);
    if (library) GEODEC_TRY(geodec_drafting_library(drafting, library, library_bytes, &warnings, err));
    GEODEC_TRY(geodec_drafting_create(drafting, draft, &drafter, err));
    if (check_plain && drafter && drafter->ops->distribution && temperature > 0)
        GEODEC_THROW(GEODEC_INVAL,
                     "drafter %s keeps the distribution of sampled text, not its tokens: no --check-plain", draft);
    const geodec_target target = geodec_target_session(s, DECODE_BATCH);
    if (compat_counters) {
        GEODEC_TRY(print_compat(&target, prompt, n, err));
        goto done;
    }
    o.sampling = (geodec_sampling){temperature, (int32_t)top_k, top_p, c->seed};
    o.max_tokens = max_tokens;
    o.min_tokens = min_tokens;
    o.stop = stop;
    o.n_stop = geodec_drafting_stop_tokens(t, stop);
    o.gate = gate;
    o.emit = printer_emit;
    o.round_end = printer_flush;
    o.hooks = &hooks;
    if (drafter && o.adaptive)
        GEODEC_TRY(geodec_cost_measure(&target, (int32_t)n, (tree > 0 ? (int32_t)tree : DECODE_GAMMA_AUTO) + 1,
                                       COST_REPEATS, NULL, &o.cost, err));
    if (interactive) {
        GEODEC_TRY(talk(c, m, &target, drafter, &o, err));
        goto done;
    }
    GEODEC_TRY(printer_open(t, prompt, n, echo, stop_text, &p, err));
    o.ctx = p;
    if (no_verifier) {
        GEODEC_TRY(geodec_draft_alone(&target, prompt, n, drafter, &o, &got, err));
        for (int64_t i = 0; i < got.n; i++)
            if (printer_emit(p, got.token[i]) != 0) break;
    } else
        GEODEC_TRY(geodec_decode(&target, prompt, n, drafter, &o, &got, err));
    printer_end(p);
    say_drafts(c, &got);
    if (check_plain) {
        /* A stop text ends the output where it ended: the plain run goes exactly as far. */
        geodec_decode_options q = o;
        q.emit = NULL;
        q.round_end = NULL;
        if (got.end == GEODEC_END_CALLER) q.max_tokens = got.n;
        GEODEC_TRY(geodec_decode(&target, prompt, n, NULL, &q, &plain, err));
    }
    if (report) {
        geodec_provenance made_for = {0};
        GEODEC_TRY(geodec_drafting_provenance(drafting, &made_for, err));
        decode_report r = {.cli = c,
                           .session = s,
                           .drafter = drafter,
                           .folder = found.folder,
                           .artifact_model_sha256 = made_for.inherited_model,
                           .options = &o,
                           .n_prompt = n,
                           .got = &got,
                           .plain = check_plain ? &plain : NULL};
        geodec_drafting_consistency(drafting, &r.flow_consistency, &r.flow_consistency_shuffled);
        GEODEC_TRY(decode_report_write(report, &r, err));
    }
    if (check_plain) GEODEC_TRY(compare(c, &got, &plain, err));
done:
    printer_close(p);
    geodec_decoded_free(&got);
    geodec_decoded_free(&plain);
    geodec_drafter_destroy(drafter);
    if (st == GEODEC_OK) say_library(c, drafting);
    geodec_drafting_close(drafting);
    tables_close(&found);
    geodec_session_destroy(s);
    geodec_model_close(m);
    geodec_mem_free(prompt);
    return st;
}

int main(int argc, char **argv)
{
    drafters_help(
        draft_help,
        "drafter (default: the one geodec-prepare found fastest, where its artifacts are found, else none): ",
        ". It changes the speed, never the text; those with -sampled keep the distribution of sampled text, not "
        "the text of a seed");
    return cli_main(argc, argv, &tool, run);
}
