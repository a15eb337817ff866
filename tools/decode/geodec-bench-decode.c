/* geodec-bench-decode: drafters against plain decoding: exactness, acceptance, tokens per pass, speed beside the closed
 * form. */
#include "base/mem.h"
#include "cli/bench_plan.h"
#include "cli/bench_table.h"
#include "cli/cli.h"
#include "cli/decode_report.h"
#include "cli/drafters.h"
#include "cli/evaluation.h"
#include "cli/presets.h"
#include "cli/tables.h"
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
static const char *preset, *draft_model, *draft_projection, *draft_arithmetic;
static const char *drafters, *gammas = "1,2,4,8", *trees, *modes = "greedy,sampled", *isa = "auto", *separator = "auto",
                             *arithmetic = "auto", *kv = "f32", *attnres, *kv_projection;
static int64_t n_prompts = 100, prompt_tokens = 16, max_tokens = 128, seeds = 3, timed = 16, top_k;
static double temperature = 0.8, top_p = 1;
static bool lines, no_stop, loop_only, together;

static const char *projection;
static char drafters_text[DRAFTERS_HELP];
static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "benchdecode.h5"),
    {.name = "speed",
     .type = CLI_STR,
     .flags = CLI_VOLATILE | CLI_PATH,
     .target = &speed_path,
     .metavar = "FILE",
     .help = "write timings to FILE (default: speed.h5 beside the output)"},
    CLI_MODEL_OPTION(model_path),
    {.name = "projection",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &projection,
     .metavar = "FILE",
     .help = "projection.h5 of the model (geodec-project), put in the place of its weights"},
    CLI_ARTIFACTS_OPTION(artifacts),
    CLI_PROMPTS_OPTION(prompts_path),
    CLI_SEPARATOR_OPTION(separator),
    {.name = "lines", .type = CLI_FLAG, .target = &lines, .help = "every line of the text is a prompt"},
    CLI_PROMPT_CUT_OPTIONS(prompt_tokens, n_prompts),
    {.name = "max-tokens",
     .letter = 'n',
     .type = CLI_I64,
     .target = &max_tokens,
     .min = 1,
     .max = 65536,
     .metavar = "N",
     .help = "tokens to write for each prompt"},
    {.name = "no-stop", .type = CLI_FLAG, .target = &no_stop, .help = "go on behind the end of a text"},
    {.name = "drafters", .type = CLI_STR, .target = &drafters, .metavar = "LIST", .help = drafters_text},
    CLI_PRESET_OPTION(preset),
    CLI_DRAFT_MODEL_OPTIONS(draft_model, draft_projection, draft_arithmetic),
    CLI_GAMMAS_OPTION(gammas),
    {.name = "trees",
     .type = CLI_STR,
     .target = &trees,
     .metavar = "LIST",
     .help = "trees of so many drafts, rising, 1 to 64 (default: none)"},
    {.name = "modes", .type = CLI_STR, .target = &modes, .metavar = "LIST", .help = "of greedy, sampled"},
    {.name = "loop-only",
     .type = CLI_FLAG,
     .target = &loop_only,
     .help = "no rows of every position: what exactness alone needs"},
    {.name = "together",
     .type = CLI_FLAG,
     .flags = CLI_VOLATILE,
     .target = &together,
     .help = "all threads work on one pass together, one prompt after the other (default: a prompt each)"},
    {.name = "seeds",
     .type = CLI_I64,
     .target = &seeds,
     .min = 1,
     .max = 1000,
     .metavar = "N",
     .help = "seeds of each prompt in sampled mode"},
    {.name = "temperature",
     .type = CLI_F64,
     .target = &temperature,
     .min = 1e-3,
     .max = 100,
     .metavar = "T",
     .help = "of sampled mode"},
    {.name = "top-k",
     .type = CLI_I64,
     .target = &top_k,
     .min = 0,
     .max = 1 << 24,
     .metavar = "K",
     .help = "of sampled mode, 0 = all"},
    {.name = "top-p",
     .type = CLI_F64,
     .target = &top_p,
     .min = 1e-9,
     .max = 1,
     .metavar = "P",
     .help = "of sampled mode"},
    {.name = "timed",
     .type = CLI_I64,
     .flags = CLI_VOLATILE,
     .target = &timed,
     .min = 0,
     .max = 100000,
     .metavar = "N",
     .help = "prompts that are timed, 0 = no timing"},
    {.name = "fault",
     .type = CLI_STR,
     .target = &fault,
     .metavar = "NAME",
     .help = "CONTROL: drafts are verified with a planted fault, of " GEODEC_FAULT_NAMES
             ": their texts must differ from plain decoding's (status 4). Nothing is timed"},
    {.name = "readiness",
     .type = CLI_STR,
     .flags = CLI_VOLATILE | CLI_PATH,
     .target = &readiness_path,
     .metavar = "FILE",
     .help = "write the readiness report of a drafter to FILE (JSON)"},
    {.name = "judge",
     .type = CLI_STR,
     .flags = CLI_VOLATILE,
     .target = &judged,
     .metavar = "NAME",
     .help = "the drafter it is about (default: the last one that is not oracle); bigram is its control"},
    CLI_ISA_OPTION(isa),
    CLI_ARITHMETIC_OPTION(arithmetic, "auto|exact|fast"),
    CLI_KV_OPTION(kv),
    CLI_KV_PROJECTION_OPTION(kv_projection),
    CLI_ATTNRES_OPTION(attnres),
};

static const cli_tool tool = {
    .name = "geodec-bench-decode",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "measure drafters: exactness, acceptance by position, tokens per pass, speed",
    .usage = "--model FILE --prompts FILE [OPTIONS]",
    .description =
        "Counts are reproducible and go to the output; timings change from run to run and go to a file of their\n"
        "own. Both are printed as one table. Times are CPU time of the one thread that decodes.\n"
        "Status 4 when an output differs from plain decoding.\n"
        "\n"
        "Columns: setting loop (drafts as decoding meets them) or every-position (one draft at each position of the\n"
        "plain text, not timed), tree- for trees, gamma then the number of drafts; compared, mismatches: output "
        "tokens\n"
        "held against plain decoding; first_acceptance: share of first drafts accepted; mean_accepted: drafts "
        "accepted\n"
        "a round; tokens_per_pass: plain decoding has 1; tokens_closed_form, tokens_by_position: what acceptance "
        "alone\n"
        "predicts of it, from one rate or one a position; speedup: over plain decoding of the same prompts,\n"
        "interleaved; predicted: a forecast from costs and pass lengths of other\n"
        "prompts (two folds), forecast_error: how far it was off; predicted_textbook: were drafts and rows free;\n"
        "_low, _high: 95 % bootstrap over prompts; nan: not measured in this row.",
    .examples = "geodec-bench-decode --model model.gguf --artifacts results/model --prompts text.txt --gammas 4",
    .options = options,
    .n_options = CLI_COUNT(options),
    .preset = &preset,
    .presets = presets_bench,
    .n_presets = PRESETS_N,
};

static geodec_status open_sessions(const geodec_model *m, const geodec_prompts *p, int n, geodec_pool *pool,
                                   geodec_session **s, geodec_target *target, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t longest = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (p->offset[i + 1] - p->offset[i] > longest) longest = p->offset[i + 1] - p->offset[i];
    for (int i = 0; i < n; i++) {
        GEODEC_TRY(decode_session(m, (int32_t)(longest + max_tokens), /* whatever context the file names */
                                  isa, arithmetic, kv, attnres, pool, &s[i], err));
        target[i] = geodec_target_session(s[i], DECODE_BATCH);
    }
done:
    return st;
}

/* Whether any drafter asked for takes tables; none is named: the default ones do. */
static bool look_for_tables(const geodec_bench_plan *plan)
{
    bool look = drafters == NULL;
    for (int32_t i = 0; i < plan->n_drafters; i++) look |= geodec_drafting_takes_artifacts(plan->drafter[i].name);
    return look;
}

/* The drafter the readiness report is about. */
static geodec_status choose_judged(const geodec_bench_plan *plan, int32_t *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t d = -1;
    for (int32_t i = 0; i < plan->n_drafters; i++)
        if (judged ? strcmp(plan->drafter[i].name, judged) == 0 : plan->drafter[i].create != NULL) d = i;
    if (d < 0) GEODEC_THROW(GEODEC_INVAL, "no drafter '%s' among those measured", judged ? judged : "");
    if (!plan->greedy) GEODEC_THROW(GEODEC_INVAL, "a readiness report needs greedy rows (--modes)");
    *out = d;
done:
    return st;
}

static geodec_status write_readiness(const cli *c, const geodec_session *s, const geodec_drafting *drafting,
                                     const char *folder, const geodec_bench_plan *plan,
                                     const geodec_bench_counts *counts, const geodec_bench_timing *speed, int32_t d,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = geodec_session_model(s);
    geodec_readiness r;
    geodec_provenance made_for = {0};
    GEODEC_TRY(geodec_readiness_of_bench(plan, counts, speed, d, &r, err));
    GEODEC_TRY(geodec_drafting_provenance(drafting, &made_for, err));
    r.model = geodec_model_name(m);
    r.model_sha256 = geodec_model_fingerprint(m);
    r.tokenizer_sha256 = geodec_tokenizer_fingerprint(geodec_model_tokenizer(m));
    r.artifact_model_sha256 = made_for.inherited_model;
    r.attnres = *geodec_session_attnres(s);
    r.configuration = c->command_line;
    geodec_drafting_consistency(drafting, &r.flow_consistency, &r.flow_consistency_control);
    GEODEC_TRY(decode_consistency(folder, m, &r, err));
    GEODEC_TRY(geodec_readiness_write(readiness_path, &r, err));
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_drafting *drafting = NULL;
    geodec_prompts prompts = {0};
    geodec_session **sessions = NULL;
    geodec_target *targets = NULL;
    geodec_bench_counts counts = {0};
    geodec_bench_timing speed = {0};
    bench_request requests[GEODEC_BENCH_DRAFTERS];
    int32_t stop[GEODEC_STOP_TOKENS];
    char *beside = NULL;
    tables found = {0};
    int32_t about = -1;
    const int workers = together ? 1 : (int)c->threads;
    geodec_pool *const inside = together ? c->pool : NULL; /* of a pass */
    geodec_bench_plan plan = {.prompts = &prompts,
                              .max_tokens = max_tokens,
                              .stop = stop,
                              .loop_only = loop_only,
                              .sampling = {temperature, (int32_t)top_k, top_p, 0},
                              .n_seeds = (int32_t)seeds,
                              .seed = c->seed,
                              .resamples = RESAMPLES,
                              .hooks = &c->hooks};
    GEODEC_TRY(bench_beside(output, "speed.h5", &beside, err));
    if (!speed_path) speed_path = beside;
    GEODEC_TRY(cli_may_write(c, output, err));
    if (timed > 0) GEODEC_TRY(cli_may_write(c, speed_path, err));
    if (readiness_path) GEODEC_TRY(cli_may_write(c, readiness_path, err));
    plan.fault = geodec_faults_named(fault);
    if (plan.fault == GEODEC_FAULTS) GEODEC_THROW(GEODEC_INVAL, "--fault %s: not of " GEODEC_FAULT_NAMES, fault);
    if (plan.fault != GEODEC_FAULT_NONE) timed = 0;
    if (drafters) GEODEC_TRY(bench_plan_lists(&plan, requests, drafters, gammas, trees, modes, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    if (arithmetic_settle(c, m, &arithmetic)) arithmetic_say(c, m, arithmetic);
    GEODEC_TRY(tables_open(c, m, artifacts, look_for_tables(&plan), &found, err));
    if (found.found) artifacts = found.folder;
    if (!drafters) {
        drafters = found.folder ? "bigram,ngram,flowmap" : "bigram,ngram";
        GEODEC_TRY(bench_plan_lists(&plan, requests, drafters, gammas, trees, modes, err));
    }
    cli_settled(c);
    if (found.found) tables_say(c, &found, drafters, arithmetic);
    if (readiness_path) GEODEC_TRY(choose_judged(&plan, &about, err));
    if (projection) GEODEC_TRY(geodec_projection_load(projection, m, err));
    if (kv_projection) GEODEC_TRY(geodec_kv_projection_load(kv_projection, m, err));
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    plan.n_stop = no_stop ? 0 : geodec_drafting_stop_tokens(t, stop);
    const char *names[GEODEC_BENCH_DRAFTERS];
    int n_names = 0;
    for (int32_t i = 0; i < plan.n_drafters; i++)
        if (plan.drafter[i].create) names[n_names++] = plan.drafter[i].name;
    GEODEC_TRY(geodec_drafting_open(m, found.folder, names, n_names, &drafting, err));
    for (int i = 0; i < GEODEC_BENCH_DRAFTERS; i++) requests[i].drafting = drafting;
    GEODEC_TRY(
        bench_prompts(c, m, prompts_path, separator, lines, n_prompts, prompt_tokens, max_tokens, &prompts, err));
    GEODEC_NEW(sessions, workers);
    GEODEC_NEW(targets, workers);
    GEODEC_TRY(open_sessions(m, &prompts, workers, inside, sessions, targets, err));
    geodec_session_options how = decode_session_options(geodec_session_n_ctx(sessions[0]), isa, arithmetic, kv, inside);
    how.attnres = *geodec_session_attnres(sessions[0]);
    GEODEC_TRY(geodec_drafting_sessions(drafting, &how, draft_model, err));
    if (draft_projection) GEODEC_TRY(geodec_drafting_project(drafting, draft_projection, err));
    decode_second_arithmetic(c, drafting, &draft_arithmetic);
    GEODEC_TRY(geodec_bench_count(&plan, targets, workers, together ? NULL : c->pool, &counts, err));
    if (timed > 0 && plan.n_drafters > 0) GEODEC_TRY(geodec_bench_speed(&plan, timed, &targets[0], &speed, err));

    geodec_provenance p = cli_provenance(c);
    p.model_fingerprint = geodec_model_fingerprint(m);
    p.tokenizer_fingerprint = geodec_tokenizer_fingerprint(t);
    GEODEC_TRY(geodec_provenance_add_file(&p, model_path, err));
    GEODEC_TRY(geodec_provenance_add_file(&p, prompts_path, err));
    GEODEC_TRY(geodec_drafting_provenance(drafting, &p, err));
    GEODEC_TRY(geodec_bench_write_counts(output, &p, &plan, &counts, err));
    if (speed.n > 0)
        GEODEC_TRY(geodec_bench_write_speed(speed_path, &p, &plan, &speed,
                                            geodec_kernels_isa_name(geodec_session_isa(sessions[0])), err));
    if (readiness_path)
        GEODEC_TRY(write_readiness(c, sessions[0], drafting, found.folder, &plan, &counts, &speed, about, err));
    GEODEC_TRY(bench_table(&plan, &counts, &speed, err));
    GEODEC_TRY(bench_verdict(c, &plan, &counts, err));
done:
    geodec_bench_counts_free(&counts);
    geodec_bench_timing_free(&speed);
    for (int i = 0; sessions && i < workers; i++) geodec_session_destroy(sessions[i]);
    geodec_mem_free(sessions);
    geodec_mem_free(targets);
    geodec_prompts_free(&prompts);
    geodec_drafting_close(drafting);
    tables_close(&found);
    geodec_model_close(m);
    geodec_mem_free(beside);
    return st;
}

int main(int argc, char **argv)
{
    drafters_help(drafters_text, "(default bigram,ngram and, with artifacts, flowmap) of ",
                  "; oracle (replay of the plain text: the ceiling; oracle:A: each draft right with probability A)");
    return cli_main(argc, argv, &tool, run);
}
