/* geodec-drafts: drafting taken apart: what is rejected, what a gate does, verifier and drafter alone. */
#include "base/mem.h"
#include "cli/bench_plan.h"
#include "cli/cli.h"
#include "cli/decode_report.h"
#include "cli/evaluation.h"
#include "drafters/drafting.h"
#include "measure/drafts.h"

#include <stdio.h>

enum { RESAMPLES = 1000 };

static const char *output = "drafts.h5", *times, *model_path, *artifacts, *prompts_path;
static const char *drafters = "bigram,ngram,flowmap", *gammas = "2,4,8,16", *isa = "auto", *separator = "auto",
                  *arithmetic = "auto", *kv = "f32";
static const char *draft_model, *draft_projection, *draft_arithmetic, *template_name, *attnres;
static bool margin_rule;
static int64_t n_prompts = 30, prompt_tokens = 16, max_tokens = GEODEC_DRAFT_MAX, timed = 12, repeats = 3;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "drafts.h5"),
    {.name = "times",
     .type = CLI_STR,
     .flags = CLI_VOLATILE | CLI_PATH,
     .target = &times,
     .metavar = "FILE",
     .help = "time verifier alone, drafter alone and both as well, to FILE"},
    CLI_MODEL_OPTION(model_path),
    CLI_ARTIFACTS_OPTION(artifacts),
    CLI_PROMPTS_OPTION(prompts_path),
    CLI_SEPARATOR_OPTION(separator),
    CLI_PROMPT_CUT_OPTIONS(prompt_tokens, n_prompts),
    {.name = "max-tokens",
     .letter = 'n',
     .type = CLI_I64,
     .target = &max_tokens,
     .min = 1,
     .max = GEODEC_DRAFT_MAX,
     .metavar = "N",
     .help = "tokens to write for each prompt"},
    {.name = "drafters", .type = CLI_STR, .target = &drafters, .metavar = "LIST", .help = "as of geodec-bench-decode"},
    CLI_DRAFT_MODEL_OPTIONS(draft_model, draft_projection, draft_arithmetic),
    CLI_GAMMAS_OPTION(gammas),
    {.name = "margin-rule-experiment",
     .type = CLI_FLAG,
     .target = &margin_rule,
     .help = "EXPERIMENT: the papers' lossy acceptance rule at margins of 0 to 2.8 nat: perplexity of what it writes, "
             "tokens that are not greedy's"},
    {.name = "template",
     .type = CLI_STR,
     .target = &template_name,
     .metavar = "NAME",
     .help = "chat format in which first tokens are looked at as well (default: the model's own, else chatml)"},
    {.name = "timed",
     .type = CLI_I64,
     .flags = CLI_VOLATILE,
     .target = &timed,
     .min = 1,
     .max = 100000,
     .metavar = "N",
     .help = "prompts that are timed"},
    {.name = "repeats",
     .type = CLI_I64,
     .flags = CLI_VOLATILE,
     .target = &repeats,
     .min = 1,
     .max = 1000,
     .metavar = "N",
     .help = "times each"},
    CLI_ISA_OPTION(isa),
    CLI_ARITHMETIC_OPTION(arithmetic, "auto|exact|fast"),
    CLI_KV_OPTION(kv),
    CLI_ATTNRES_OPTION(attnres),
};

static const cli_tool tool = {
    .name = "geodec-drafts",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "take drafting apart: rejected drafts by kind, confidence gates, verifier and drafter alone",
    .usage = "--model FILE --prompts FILE [OPTIONS]",
    .description = "Greedy. Counts are reproducible and go to the output, timings to a file of their own.",
    .examples = "geodec-drafts --model model.gguf --artifacts results/model --prompts text.txt",
    .options = options,
    .n_options = CLI_COUNT(options),
};

/* The format, and whether it is the model's own. */
static geodec_status find_format(const geodec_model *m, const geodec_chat_template **chat, bool *own, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_chat_template *its = NULL;
    if (geodec_chat_template_of(geodec_model_gguf(m), &its, NULL) != GEODEC_OK) its = NULL;
    *chat = its;
    if (template_name || !its)
        GEODEC_TRY(geodec_chat_template_find(template_name ? template_name : "chatml", chat, err));
    *own = *chat == its;
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    geodec_drafting *drafting = NULL;
    geodec_prompts prompts = {0}, in_chat = {0};
    const geodec_chat_template *chat;
    bool chat_own;
    geodec_drafts *d = NULL;
    geodec_margin_row margins[GEODEC_BENCH_DRAFTERS * GEODEC_MARGINS];
    uint8_t *class = NULL;
    bench_request requests[GEODEC_BENCH_DRAFTERS];
    const char *names[GEODEC_BENCH_DRAFTERS];
    int32_t stop[GEODEC_STOP_TOKENS];
    geodec_bench_plan plan = {.prompts = &prompts,
                              .max_tokens = max_tokens,
                              .stop = stop,
                              .seed = c->seed,
                              .resamples = RESAMPLES,
                              .hooks = &c->hooks};
    GEODEC_TRY(bench_plan_lists(&plan, requests, drafters, gammas, NULL, "greedy", err));
    GEODEC_TRY(cli_may_write(c, output, err));
    if (times) GEODEC_TRY(cli_may_write(c, times, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    if (arithmetic_settle(c, m, &arithmetic)) arithmetic_say(c, m, arithmetic);
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    plan.n_stop = geodec_drafting_stop_tokens(t, stop);
    for (int32_t i = 0; i < plan.n_drafters; i++) names[i] = plan.drafter[i].name;
    GEODEC_TRY(geodec_drafting_open(m, artifacts, names, plan.n_drafters, &drafting, err));
    for (int i = 0; i < GEODEC_BENCH_DRAFTERS; i++) requests[i].drafting = drafting;
    GEODEC_TRY(
        bench_prompts(c, m, prompts_path, separator, false, n_prompts, prompt_tokens, max_tokens, &prompts, err));
    GEODEC_TRY(find_format(m, &chat, &chat_own, err));
    GEODEC_TRY(geodec_prompts_chat(t, chat, &prompts, &in_chat, err));
    int64_t room = geodec_prompts_longest(&prompts) + max_tokens;
    if (room < geodec_prompts_longest(&in_chat)) room = geodec_prompts_longest(&in_chat);
    GEODEC_TRY(decode_session(m, (int32_t)room, isa, arithmetic, kv, attnres, NULL, &s, err));
    geodec_session_options how = decode_session_options(geodec_session_n_ctx(s), isa, arithmetic, kv, NULL);
    how.attnres = *geodec_session_attnres(s);
    GEODEC_TRY(geodec_drafting_sessions(drafting, &how, draft_model, err));
    if (draft_projection) GEODEC_TRY(geodec_drafting_project(drafting, draft_projection, err));
    decode_second_arithmetic(c, drafting, &draft_arithmetic);
    const geodec_target target = geodec_target_session(s, DECODE_BATCH);
    GEODEC_NEW(class, target.n_vocab > geodec_tokenizer_size(t) ? target.n_vocab : geodec_tokenizer_size(t));
    geodec_rejections_token_classes(t, class);
    GEODEC_NEW(d, 1);
    GEODEC_TRY(geodec_drafts_count(&plan, &target, class, d, err));
    if (margin_rule) GEODEC_TRY(geodec_margin_count(&plan, &target, margins, err));
    GEODEC_TRY(geodec_drafts_first_stops(&target, &in_chat, plan.stop, plan.n_stop, &d->first_stop_chat, err));
    (void)snprintf(d->chat, sizeof d->chat, "%s", geodec_chat_template_name(chat));
    d->chat_own = chat_own;
    geodec_attnres_text(geodec_session_attnres(s), d->attnres);
    geodec_provenance p = cli_provenance(c);
    p.model_fingerprint = geodec_model_fingerprint(m);
    p.tokenizer_fingerprint = geodec_tokenizer_fingerprint(t);
    GEODEC_TRY(geodec_provenance_add_file(&p, model_path, err));
    GEODEC_TRY(geodec_provenance_add_file(&p, prompts_path, err));
    GEODEC_TRY(geodec_drafting_provenance(drafting, &p, err));
    GEODEC_TRY(geodec_drafts_write(output, &p, &plan, d, margin_rule ? margins : NULL, target.n_vocab, err));
    if (times) {
        geodec_three_way w;
        GEODEC_TRY(geodec_drafts_time(&plan, timed, (int32_t)repeats, &target, &w, err));
        GEODEC_TRY(geodec_drafts_write_times(times, &p, &plan, &w, err));
    }
    for (int32_t i = 0; i < plan.n_drafters; i++)
        cli_say(c, "%s: %lld of %lld drafts rejected; alone it wrote %lld tokens with %lld passes, %lld as the model's",
                plan.drafter[i].name, (long long)d->rejections[i].rejected, (long long)d->rejections[i].reached,
                (long long)d->alone[i].tokens, (long long)d->alone[i].passes, (long long)d->alone[i].agree);
    for (int32_t i = 0; margin_rule && i < plan.n_drafters; i++) {
        const geodec_margin_row *row = &margins[i * GEODEC_MARGINS], *last = row + GEODEC_MARGINS - 1;
        cli_say(c,
                "experiment, %s: perplexity %.3f greedily, %.3f [%.3f, %.3f] with the papers' margin of %g; %.1f %% of "
                "the tokens differ",
                plan.drafter[i].name, row->perplexity.value, last->perplexity.value, last->perplexity.low,
                last->perplexity.high, geodec_margin_all[GEODEC_MARGINS - 1],
                100.0 * (double)last->different / (double)(last->written > 0 ? last->written : 1));
    }
    cli_say(c, "first plain token a stop token: %lld of %lld prompts; as messages in the format %s%s: %lld",
            (long long)d->first_stop, (long long)prompts.n, d->chat, chat_own ? "" : ", which is not the model's",
            (long long)d->first_stop_chat);
done:
    geodec_mem_free(class);
    geodec_mem_free(d);
    geodec_prompts_free(&prompts);
    geodec_prompts_free(&in_chat);
    geodec_drafting_close(drafting);
    geodec_session_destroy(s);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
