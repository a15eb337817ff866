/* geodec-bench-decode: comparison of drafters with plain decoding: exactness, acceptance, tokens per pass, and measured
 * and predicted speed. */
#include "base/mem.h"
#include "cli/bench_plan.h"
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/decode_report.h"
#include "cli/drafters.h"
#include "cli/drafting_files.h"
#include "cli/evaluation.h"
#include "cli/stage.h"
#include "cli/streaming.h"
#include "drafters/drafting.h"
#include "lowrank/kv_projection.h"
#include "lowrank/projection.h"
#include "measure/bench.h"
#include "measure/bench_file.h"
#include "measure/readiness.h"

#include <string.h>

enum { RESAMPLES = 1000 };

static const char *output = "benchdecode.h5", *speed_path, *model_path, *artifacts, *prompts_path, *readiness_path,
                  *judged;
static const char *fault = "none";
static const char *drafters, *gammas = "1,2,4,8", *trees, *modes = "greedy,sampled", *separator = "auto";
static int64_t n_prompts = 100, prompt_tokens = 16, max_tokens = 128, seeds = 3, timed = 16, top_k;
static double temperature = 0.8, top_p = 1;
static bool lines, no_stop, loop_only, together;

static char drafters_text[DRAFTERS_HELP];
static decode_words words = {.isa = "auto", .arithmetic = "auto", .kv = "f32"};

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "benchdecode.h5"),
    OPT_FILE("speed", 0, &speed_path, "FILE", "write timings to FILE (default: speed.h5 in the folder of the output)",
             .flags = CLI_VOLATILE),
    CLI_MODEL_OPTION(model_path),
    OPT_FILE("projection", 0, &words.projection, "FILE",
             "projection.h5 of the model (geodec-project), which replaces weights"),
    CLI_ARTIFACTS_OPTION(artifacts),
    CLI_PROMPTS_OPTION(prompts_path),
    CLI_SEPARATOR_OPTION(separator),
    OPT_FLAG("lines", 0, &lines, "each line of the text is a prompt"),
    CLI_PROMPT_CUT_OPTIONS(prompt_tokens, n_prompts),
    OPT_I64("max-tokens", 'n', &max_tokens, 1, 65536, "N", "tokens to generate for each prompt"),
    OPT_FLAG("no-stop", 0, &no_stop, "continue after an end-of-text token"),
    OPT_STR("drafters", 0, &drafters, "LIST", drafters_text),
    CLI_DRAFT_MODEL_OPTIONS(words),
    CLI_GAMMAS_OPTION(gammas),
    OPT_STR("trees", 0, &trees, "LIST", "sizes of draft trees in tokens, ascending, 1 to 64 (default: none)"),
    OPT_STR("modes", 0, &modes, "LIST", "modes to measure: greedy, sampled or both"),
    OPT_FLAG("loop-only", 0, &loop_only,
             "leave out the rows of every position, which a test of exactness does not need"),
    OPT_FLAG("together", 0, &together,
             "use all threads for each pass, and decode the prompts one by one (default: one prompt per thread)",
             .flags = CLI_VOLATILE),
    OPT_I64("seeds", 0, &seeds, 1, 1000, "N", "seeds of each prompt in sampled mode"),
    OPT_F64("temperature", 0, &temperature, 1e-3, 100, "T", "temperature of sampled mode"),
    OPT_I64("top-k", 0, &top_k, 0, 1 << 24, "K", "top-k of sampled mode, 0 = all"),
    OPT_F64("top-p", 0, &top_p, 1e-9, 1, "P", "top-p of sampled mode"),
    OPT_I64("timed", 0, &timed, 0, 100000, "N", "number of prompts to time, 0 = no timing", .flags = CLI_VOLATILE),
    OPT_STR("fault", 0, &fault, "NAME",
            "CONTROL: verify drafts with a planted fault, one of " GEODEC_FAULT_NAMES
            "; the texts must differ from plain decoding (status 4). Nothing is timed"),
    OPT_FILE("readiness", 0, &readiness_path, "FILE", "write the readiness report of a drafter to FILE (JSON)",
             .flags = CLI_VOLATILE),
    OPT_STR("judge", 0, &judged, "NAME",
            "drafter of the readiness report (default: the last one except oracle); bigram is its control",
            .flags = CLI_VOLATILE),
    CLI_ISA_OPTION(words.isa),
    CLI_ARITHMETIC_OPTION(words.arithmetic, "auto|exact|fast|integer"),
    CLI_KV_OPTION(words.kv),
    CLI_KV_PROJECTION_OPTION(words.kv_projection),
    CLI_ATTNRES_OPTION(words.attnres),
    CLI_STREAMING_OPTIONS,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-bench-decode",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "measure drafters: exactness, acceptance by position, tokens per pass and speed",
    .usage = "--model FILE --prompts FILE [OPTIONS]",
    .description =
        "Counts are reproducible and go to the output; timings vary from run to run and go to a separate file. Both\n"
        "are printed as one table. Times are CPU time of the single thread that decodes. The status is 4 if an\n"
        "output differs from plain decoding.\n"
        "\n"
        "Columns: setting: loop (drafts during decoding) or every-position (one draft at each position of the plain\n"
        "text, not timed), with the prefix tree- for trees; gamma: draft length, or the number of drafts of a tree;\n"
        "compared, mismatches: output tokens compared with plain decoding, and those that differ; first_acceptance:\n"
        "share of first drafts accepted; mean_accepted: drafts accepted per round; tokens_per_pass: plain decoding\n"
        "has 1; tokens_closed_form, tokens_by_position: prediction from one acceptance rate, or from one rate per\n"
        "position; speedup: over plain decoding of the same prompts, interleaved; predicted: forecast from the costs\n"
        "and pass lengths of other prompts (two folds); forecast_error: its error; predicted_textbook: forecast\n"
        "without the costs of drafts and rows; _low, _high: 95 % bootstrap interval over prompts; nan: not measured\n"
        "in this row.",
    .examples = "geodec-bench-decode --model model.gguf --artifacts results/model --prompts text.txt --gammas 4",
    CLI_TAKES(options, 0, 0),
};

static geodec_status open_sessions(const geodec_model *m, const geodec_prompts *p, int n, geodec_pool *pool,
                                   geodec_session **s, geodec_target *target, geodec_err *err)
{
    const int64_t longest = geodec_prompts_longest(p);
    for (int i = 0; i < n; i++) { /* room for the longest prompt, also beyond the context of the file */
        GEODEC_PASS(decode_session(m, (int32_t)(longest + max_tokens), &words, pool, &s[i], err));
        target[i] = geodec_target_session(s[i], DECODE_BATCH);
    }
    return GEODEC_OK;
}

/* True if a drafter of the list, or of the default list, reads drafting artifacts. */
static bool look_for_artifacts(const geodec_bench_plan *plan)
{
    bool look = drafters == NULL;
    for (int32_t i = 0; i < plan->n_drafters; i++) look |= geodec_drafting_takes_artifacts(plan->drafter[i].name);
    return look;
}

/* Chooses the drafter of the readiness report. */
static geodec_status choose_judged(const geodec_bench_plan *plan, int32_t *out, geodec_err *err)
{
    int32_t d = -1;
    for (int32_t i = 0; i < plan->n_drafters; i++)
        if (judged ? strcmp(plan->drafter[i].name, judged) == 0 : !geodec_bench_knows(&plan->drafter[i])) d = i;
    if (d < 0) GEODEC_FAIL(GEODEC_INVAL, "drafter '%s' is not measured", judged ? judged : "");
    if (!plan->greedy) GEODEC_FAIL(GEODEC_INVAL, "a readiness report needs greedy rows (--modes)");
    *out = d;
    return GEODEC_OK;
}

/* The state of a run. */
typedef struct work {
    const cli *c;
    geodec_model *m;
    drafting_files found;
    geodec_drafting *drafting;
    geodec_prompts prompts;
    int workers;         /* sessions */
    geodec_pool *inside; /* used inside a pass */
    geodec_session **sessions;
    geodec_target *targets;
    geodec_bench_plan plan;
    geodec_bench_request requests[GEODEC_BENCH_DRAFTERS];
    int32_t stop[GEODEC_STOP_TOKENS];
    int32_t about; /* drafter of the readiness report */
    geodec_bench_counts counts;
    geodec_bench_timing speed;
} work;

/* Checks the options before the model is opened: outputs, fault and the given lists. */
static geodec_status check_options(work *w, geodec_err *err)
{
    GEODEC_PASS(cli_may_write(w->c, output, err));
    if (timed > 0) GEODEC_PASS(cli_may_write(w->c, speed_path, err));
    if (readiness_path) GEODEC_PASS(cli_may_write(w->c, readiness_path, err));
    w->plan.fault = geodec_faults_named(fault);
    if (w->plan.fault == GEODEC_FAULTS) GEODEC_FAIL(GEODEC_INVAL, "--fault %s: not one of " GEODEC_FAULT_NAMES, fault);
    if (w->plan.fault != GEODEC_FAULT_NONE) timed = 0;
    if (drafters) GEODEC_PASS(geodec_bench_lists(&w->plan, w->requests, drafters, gammas, trees, modes, err));
    return GEODEC_OK;
}

/* Opens the model and the artifacts of its drafters. */
static geodec_status open_model(work *w, geodec_err *err)
{
    const cli *c = w->c;
    const char *names[GEODEC_BENCH_DRAFTERS];
    int n_names = 0;
    GEODEC_PASS(geodec_model_open(model_path, &w->m, err));
    if (arithmetic_settle(c, w->m, &words.arithmetic)) arithmetic_say(c, w->m, words.arithmetic);
    GEODEC_PASS(streaming_begin(c, w->m, arithmetic_of(words.arithmetic), 1, err));
    GEODEC_PASS(drafting_files_open(c, w->m, artifacts, look_for_artifacts(&w->plan), &w->found, err));
    if (w->found.found) artifacts = w->found.folder;
    if (!drafters) {
        drafters = w->found.folder ? "bigram,ngram,flowmap" : "bigram,ngram";
        GEODEC_PASS(geodec_bench_lists(&w->plan, w->requests, drafters, gammas, trees, modes, err));
    }
    cli_settled(c);
    if (w->found.found) drafting_files_say(c, &w->found, drafters, words.arithmetic);
    if (readiness_path) GEODEC_PASS(choose_judged(&w->plan, &w->about, err));
    GEODEC_PASS(decode_projections(&words, w->m, err));
    w->plan.n_stop = no_stop ? 0 : geodec_drafting_stop_tokens(geodec_model_tokenizer(w->m), w->stop);
    for (int32_t i = 0; i < w->plan.n_drafters; i++)
        if (w->plan.drafter[i].create) names[n_names++] = w->requests[i].drafter;
    GEODEC_PASS(geodec_drafting_open(w->m, w->found.folder, names, n_names, &w->drafting, err));
    for (int i = 0; i < GEODEC_BENCH_DRAFTERS; i++) w->requests[i].drafting = w->drafting;
    return GEODEC_OK;
}

static geodec_status measure(work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *c = w->c;
    GEODEC_TRY(
        bench_prompts(c, w->m, prompts_path, separator, lines, n_prompts, prompt_tokens, max_tokens, &w->prompts, err));
    context_check(c, w->m, "texts", geodec_prompts_longest(&w->prompts) + max_tokens);
    GEODEC_NEW_EACH(w->workers, w->sessions, w->targets);
    GEODEC_TRY(open_sessions(w->m, &w->prompts, w->workers, w->inside, w->sessions, w->targets, err));
    GEODEC_TRY(decode_second(c, w->sessions[0], &words, w->inside, w->drafting, err));
    GEODEC_TRY(geodec_bench_count(&w->plan, w->targets, w->workers, together ? NULL : c->pool, &w->counts, err));
    if (timed > 0 && w->plan.n_drafters > 0)
        GEODEC_TRY(geodec_bench_speed(&w->plan, timed, &w->targets[0], &w->speed, err));
done:
    return st;
}

static geodec_status write_readiness(const work *w, geodec_err *err)
{
    const geodec_attnres *attnres = geodec_session_attnres(w->sessions[0]);
    geodec_readiness r;
    geodec_provenance made_for = {0};
    GEODEC_PASS(geodec_readiness_of_bench(&w->plan, &w->counts, &w->speed, w->about, &r, err));
    GEODEC_PASS(geodec_drafting_provenance(w->drafting, &made_for, err));
    r.model = geodec_model_name(w->m);
    r.model_sha256 = geodec_model_fingerprint(w->m);
    r.tokenizer_sha256 = geodec_tokenizer_fingerprint(geodec_model_tokenizer(w->m));
    r.artifact_model_sha256 = made_for.inherited_model;
    r.attnres = *attnres;
    r.configuration = w->c->command_line;
    geodec_drafting_consistency(w->drafting, &r.flow_consistency, &r.flow_consistency_control);
    GEODEC_PASS(decode_consistency(w->found.folder, w->m, &r, err));
    GEODEC_PASS(geodec_readiness_write(readiness_path, &r, err));
    return GEODEC_OK;
}

static geodec_status write_results(const work *w, geodec_err *err)
{
    cli_stage stage = stage_of(w->c, output);
    GEODEC_PASS(stage_model(&stage, model_path, w->m, err));
    GEODEC_PASS(stage_file(&stage, prompts_path, err));
    GEODEC_PASS(geodec_drafting_provenance(w->drafting, &stage.p, err));
    GEODEC_PASS(geodec_bench_write_counts(output, &stage.p, &w->plan, &w->counts, err));
    if (w->speed.n > 0)
        GEODEC_PASS(geodec_bench_write_speed(speed_path, &stage.p, &w->plan, &w->speed,
                                             geodec_kernels_isa_name(geodec_session_isa(w->sessions[0])), err));
    if (readiness_path) GEODEC_PASS(write_readiness(w, err));
    GEODEC_PASS(geodec_bench_table(stdout, &w->plan, &w->counts, &w->speed, err));
    GEODEC_PASS(bench_verdict(w->c, &w->plan, &w->counts, err));
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *default_path = NULL;
    together = together || streaming.ram != NULL; /* sessions would take turns */
    work w = {.c = c, .about = -1, .workers = together ? 1 : (int)c->threads, .inside = together ? c->pool : NULL};
    w.plan = (geodec_bench_plan){.prompts = &w.prompts,
                                 .max_tokens = max_tokens,
                                 .stop = w.stop,
                                 .loop_only = loop_only,
                                 .sampling = {.temperature = temperature, .top_k = (int32_t)top_k, .top_p = top_p},
                                 .n_seeds = (int32_t)seeds,
                                 .seed = c->seed,
                                 .resamples = RESAMPLES,
                                 .hooks = &c->hooks};
    GEODEC_TRY(bench_next_to(output, "speed.h5", &default_path, err));
    if (!speed_path) speed_path = default_path;
    GEODEC_TRY(check_options(&w, err));
    GEODEC_TRY(open_model(&w, err));
    GEODEC_TRY(measure(&w, err));
    GEODEC_TRY(write_results(&w, err));
done:
    geodec_bench_counts_free(&w.counts);
    geodec_bench_timing_free(&w.speed);
    for (int i = 0; w.sessions && i < w.workers; i++) geodec_session_destroy(w.sessions[i]);
    GEODEC_FREE(w.sessions, w.targets);
    geodec_prompts_free(&w.prompts);
    geodec_drafting_close(w.drafting);
    drafting_files_close(&w.found);
    st = streaming_end(c, w.m, st, err);
    geodec_model_close(w.m);
    geodec_mem_free(default_path);
    return st;
}

int main(int argc, char **argv)
{
    drafters_help(
        drafters_text, "drafters to measure (default bigram,ngram and, with artifacts, flowmap): ",
        "; oracle (drafts from the plain text, the upper limit; oracle:A: each draft is correct with probability A; "
        "oracle+NAME: of the drafts of NAME, those that will be accepted)");
    return cli_main(argc, argv, &tool, run);
}
