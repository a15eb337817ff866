/* geodec-drafts: analysis of drafting: rejected drafts, confidence gates, verifier and drafter alone. */
#include "base/mem.h"
#include "cli/bench_plan.h"
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/decode_report.h"
#include "cli/evaluation.h"
#include "cli/stage.h"
#include "cli/streaming.h"
#include "drafters/drafting.h"
#include "measure/drafts.h"

#include <stdio.h>

enum { RESAMPLES = 1000 };

static const char *output = "drafts.h5", *times, *model_path, *artifacts, *prompts_path;
static const char *drafters = "bigram,ngram,flowmap", *gammas = "2,4,8,16", *separator = "auto";
static const char *template_name;
static bool margin_rule;
static int64_t n_prompts = 30, prompt_tokens = 16, max_tokens = GEODEC_DRAFT_MAX, timed = 12, repeats = 3;
static decode_words words = {.isa = "auto", .arithmetic = "auto", .kv = "f32"};

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "drafts.h5"),
    OPT_FILE("times", 0, &times, "FILE",
             "also time the verifier alone, the drafter alone and both, and write the times to FILE",
             .flags = CLI_VOLATILE),
    CLI_MODEL_OPTION(model_path),
    CLI_ARTIFACTS_OPTION(artifacts),
    CLI_PROMPTS_OPTION(prompts_path),
    CLI_SEPARATOR_OPTION(separator),
    CLI_PROMPT_CUT_OPTIONS(prompt_tokens, n_prompts),
    OPT_I64("max-tokens", 'n', &max_tokens, 1, GEODEC_DRAFT_MAX, "N", "tokens to generate for each prompt"),
    OPT_STR("drafters", 0, &drafters, "LIST", "drafters, as in geodec-bench-decode"),
    CLI_DRAFT_MODEL_OPTIONS(words),
    CLI_GAMMAS_OPTION(gammas),
    OPT_FLAG("margin-rule-experiment", 0, &margin_rule,
             "EXPERIMENT: apply the papers' lossy acceptance rule at margins from 0 to 2.8 nat; report the perplexity "
             "of its text and the tokens that differ from greedy decoding"),
    OPT_STR("template", 0, &template_name, "NAME",
            "chat format in which first tokens are also examined (default: the model's own, else chatml)"),
    OPT_I64("timed", 0, &timed, 1, 100000, "N", "number of prompts to time", .flags = CLI_VOLATILE),
    OPT_I64("repeats", 0, &repeats, 1, 1000, "N", "measurements of each prompt", .flags = CLI_VOLATILE),
    CLI_ISA_OPTION(words.isa),
    CLI_ARITHMETIC_OPTION(words.arithmetic, "auto|exact|fast|integer"),
    CLI_KV_OPTION(words.kv),
    CLI_ATTNRES_OPTION(words.attnres),
    CLI_STREAMING_OPTIONS,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-drafts",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "analyse drafting: rejected drafts by kind, confidence gates, and the verifier and drafter alone",
    .usage = "--model FILE --prompts FILE [OPTIONS]",
    .description = "Decoding is greedy. Counts are reproducible and go to the output; timings go to a separate file.",
    .examples = "geodec-drafts --model model.gguf --artifacts results/model --prompts text.txt",
    CLI_TAKES(options, 0, 0),
};

/* Finds the chat format. *own: it is the model's own. */
static geodec_status find_format(const geodec_model *m, const geodec_chat_template **chat, bool *own, geodec_err *err)
{
    const geodec_chat_template *its = NULL;
    if (geodec_chat_template_of(geodec_model_gguf(m), &its, NULL) != GEODEC_OK) its = NULL;
    *chat = its;
    if (template_name || !its)
        GEODEC_PASS(geodec_chat_template_find(template_name ? template_name : "chatml", chat, err));
    *own = *chat == its;
    if (!*own) geodec_chat_template_free(its);
    return GEODEC_OK;
}

/* The state of a run. */
typedef struct work {
    const cli *c;
    geodec_model *m;
    geodec_session *s;
    geodec_target target;
    geodec_drafting *drafting;
    geodec_prompts prompts, in_chat;
    const geodec_chat_template *chat;
    bool chat_own;
    geodec_bench_request requests[GEODEC_BENCH_DRAFTERS];
    int32_t stop[GEODEC_STOP_TOKENS];
    geodec_bench_plan plan;
    geodec_drafts *d;
    geodec_margin_row margins[GEODEC_BENCH_DRAFTERS * GEODEC_MARGINS];
} work;

static geodec_status open_all(work *w, geodec_err *err)
{
    const cli *c = w->c;
    const char *names[GEODEC_BENCH_DRAFTERS];
    GEODEC_PASS(geodec_model_open(model_path, &w->m, err));
    if (arithmetic_settle(c, w->m, &words.arithmetic)) arithmetic_say(c, w->m, words.arithmetic);
    GEODEC_PASS(streaming_begin(c, w->m, arithmetic_of(words.arithmetic), 1, err));
    const geodec_tokenizer *t = geodec_model_tokenizer(w->m);
    w->plan.n_stop = geodec_drafting_stop_tokens(t, w->stop);
    for (int32_t i = 0; i < w->plan.n_drafters; i++) names[i] = w->plan.drafter[i].name;
    GEODEC_PASS(geodec_drafting_open(w->m, artifacts, names, w->plan.n_drafters, &w->drafting, err));
    for (int i = 0; i < GEODEC_BENCH_DRAFTERS; i++) w->requests[i].drafting = w->drafting;
    GEODEC_PASS(
        bench_prompts(c, w->m, prompts_path, separator, false, n_prompts, prompt_tokens, max_tokens, &w->prompts, err));
    GEODEC_PASS(find_format(w->m, &w->chat, &w->chat_own, err));
    GEODEC_PASS(geodec_prompts_chat(t, w->chat, &w->prompts, &w->in_chat, err));
    int64_t room = geodec_prompts_longest(&w->prompts) + max_tokens;
    if (room < geodec_prompts_longest(&w->in_chat)) room = geodec_prompts_longest(&w->in_chat);
    context_check(c, w->m, "texts", room);
    GEODEC_PASS(decode_session(w->m, (int32_t)room, &words, NULL, &w->s, err));
    GEODEC_PASS(decode_second(c, w->s, &words, NULL, w->drafting, err));
    w->target = geodec_target_session(w->s, DECODE_BATCH);
    return GEODEC_OK;
}

static geodec_status count(work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_tokenizer *t = geodec_model_tokenizer(w->m);
    uint8_t *class = NULL;
    GEODEC_NEW(class, w->target.n_vocab > geodec_tokenizer_size(t) ? w->target.n_vocab : geodec_tokenizer_size(t));
    geodec_rejections_token_classes(t, class);
    GEODEC_NEW(w->d, 1);
    GEODEC_TRY(geodec_drafts_count(&w->plan, &w->target, class, w->d, err));
    if (margin_rule) GEODEC_TRY(geodec_margin_count(&w->plan, &w->target, w->margins, err));
    GEODEC_TRY(
        geodec_drafts_first_stops(&w->target, &w->in_chat, w->plan.stop, w->plan.n_stop, &w->d->first_stop_chat, err));
    (void)snprintf(w->d->chat, sizeof w->d->chat, "%s", geodec_chat_template_name(w->chat));
    w->d->chat_own = w->chat_own;
    geodec_attnres_text(geodec_session_attnres(w->s), w->d->attnres);
done:
    geodec_mem_free(class);
    return st;
}

static geodec_status write_results(const work *w, geodec_err *err)
{
    cli_stage stage = stage_of(w->c, output);
    GEODEC_PASS(stage_model(&stage, model_path, w->m, err));
    GEODEC_PASS(stage_file(&stage, prompts_path, err));
    GEODEC_PASS(geodec_drafting_provenance(w->drafting, &stage.p, err));
    GEODEC_PASS(
        geodec_drafts_write(output, &stage.p, &w->plan, w->d, margin_rule ? w->margins : NULL, w->target.n_vocab, err));
    if (times) {
        geodec_three_way measured;
        GEODEC_PASS(geodec_drafts_time(&w->plan, timed, (int32_t)repeats, &w->target, &measured, err));
        GEODEC_PASS(geodec_drafts_write_times(times, &stage.p, &w->plan, &measured, err));
    }
    return GEODEC_OK;
}

static void summarise(const work *w)
{
    const cli *c = w->c;
    const geodec_drafts *d = w->d;
    for (int32_t i = 0; i < w->plan.n_drafters; i++)
        cli_say(c,
                "%s: %lld of %lld drafts rejected; the drafter alone wrote %lld tokens with %lld passes, %lld equal to "
                "the model's",
                w->plan.drafter[i].name, (long long)d->rejections[i].rejected, (long long)d->rejections[i].reached,
                (long long)d->alone[i].tokens, (long long)d->alone[i].passes, (long long)d->alone[i].agree);
    for (int32_t i = 0; margin_rule && i < w->plan.n_drafters; i++) {
        const geodec_margin_row *row = &w->margins[i * GEODEC_MARGINS], *last = row + GEODEC_MARGINS - 1;
        cli_say(c,
                "experiment, %s: perplexity %.3f in greedy decoding, %.3f [%.3f, %.3f] with the papers' margin of %g; "
                "%.1f %% of the tokens differ",
                w->plan.drafter[i].name, row->perplexity.value, last->perplexity.value, last->perplexity.low,
                last->perplexity.high, geodec_margin_all[GEODEC_MARGINS - 1],
                100.0 * (double)last->different / (double)(last->written > 0 ? last->written : 1));
    }
    cli_say(c, "first plain token is a stop token: %lld of %lld prompts; as messages in the format %s%s: %lld",
            (long long)d->first_stop, (long long)w->prompts.n, d->chat, w->chat_own ? "" : ", which is not the model's",
            (long long)d->first_stop_chat);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    work w = {.c = c};
    w.plan = (geodec_bench_plan){.prompts = &w.prompts,
                                 .max_tokens = max_tokens,
                                 .stop = w.stop,
                                 .seed = c->seed,
                                 .resamples = RESAMPLES,
                                 .hooks = &c->hooks};
    GEODEC_TRY(geodec_bench_lists(&w.plan, w.requests, drafters, gammas, NULL, "greedy", err));
    GEODEC_TRY(cli_may_write(c, output, err));
    if (times) GEODEC_TRY(cli_may_write(c, times, err));
    GEODEC_TRY(open_all(&w, err));
    GEODEC_TRY(count(&w, err));
    GEODEC_TRY(write_results(&w, err));
    summarise(&w);
done:
    geodec_mem_free(w.d);
    geodec_prompts_free(&w.prompts);
    geodec_prompts_free(&w.in_chat);
    geodec_drafting_close(w.drafting);
    geodec_session_destroy(w.s);
    st = streaming_end(c, w.m, st, err);
    geodec_model_close(w.m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
