#include "measure/bench_file.h"

#include "artifact/binding.h"
#include "io/tsv.h"
#include "measure/bench_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAMES_ARE "names, joined by commas; oracle = replay of the plain output, a ceiling and no drafter"

/* ---- counts ------------------------------------------------------------------------------------------------------ */

typedef struct counts_file {
    geodec_bench_counts counts;
    geodec__about about;
    int32_t gammas; /* G */
    int64_t seeds;
    geodec_sampling sampling;
} counts_file;
#define AT(m) GEODEC_AT(counts_file, m)
#define IN(m) GEODEC_IN(counts_file, m)
#define OF(m) GEODEC_OF_ROW(geodec_bench_row, m)
#define TALLY(m) GEODEC_OF_ROW_APART(geodec_bench_row, m, sizeof(geodec_tally))
#define RANGE(m) GEODEC_OF_ROW_APART(geodec_bench_row, m, sizeof(geodec_estimate))

/* C rows, G = largest draft length of the plan, B confidence bins. The counts show where a ratio has no denominator. */
static const geodec_field count_fields[] = {
    {"/drafter", GEODEC_I32, "C", 0, "1", "index into the attribute drafters", 0, OF(drafter)},
    {"/gamma", GEODEC_I32, "C", 0, "1", "draft length; of a tree the longest path", 0, OF(gamma)},
    {"/budget", GEODEC_I32, "C", GEODEC_FIELD_OPTIONAL, "1", "drafts of a tree; 0 = chains", 0, OF(budget)},
    {"/sampled", GEODEC_U8, "C", 0, "1", "0 greedy, 1 sampled (all seeds pooled)", 0, OF(sampled)},
    {"/every_position", GEODEC_U8, "C", 0, "1",
     "0: drafts as they occur in the decoding loop; 1: one draft asked for at each position of plain decoding", 0,
     OF(every_position)},
    {"/compared", GEODEC_I64, "C", 0, "1",
     "output tokens compared with plain decoding; 0 of every position, where no draft is sent", 0, OF(compared)},
    {"/mismatches", GEODEC_I64, "C", 0, "1", "different ones (exact decoding: 0)", 0, OF(mismatches)},
    {"/decided", GEODEC_I64, "C", 0, "1", "tokens decided, the stop token included", 0, OF(decided)},
    {"/target_passes", GEODEC_I64, "C", 0, "1", "forward passes of the model, counted by the model, without the prompt",
     0, OF(passes)},
    {"/prompt_passes", GEODEC_I64, "C", 0, "1", "forward passes over the prompts", 0, OF(prompt_passes)},
    {"/rounds", GEODEC_I64, "C", 0, "1", "rounds of the loop; positions asked where every_position = 1", 0, OF(rounds)},
    {"/proposed", GEODEC_I64, "C,G", 0, "1", "drafts proposed at each position of a draft", 0,
     TALLY(position[0].proposed)},
    {"/reached", GEODEC_I64, "C,G", 0, "1", "of these, drafts whose predecessors were all accepted", 0,
     TALLY(position[0].reached)},
    {"/accepted", GEODEC_I64, "C,G", 0, "1", "of these, drafts equal to the model's own choice", 0,
     TALLY(position[0].accepted)},
    {"/rejected", GEODEC_I64, "C,G", 0, "1", "first rejections by position", 0, TALLY(position[0].rejected)},
    {"/acceptance", GEODEC_F64, "C,G", GEODEC_FIELD_ZERO, "1", "accepted / reached by position; 0 where reached = 0", 0,
     RANGE(acceptance[0].value)},
    {"/acceptance_low", GEODEC_F64, "C,G", GEODEC_FIELD_ZERO, "1", "2.5 % percentile of a bootstrap over prompts", 0,
     RANGE(acceptance[0].low)},
    {"/acceptance_high", GEODEC_F64, "C,G", GEODEC_FIELD_ZERO, "1", "97.5 % percentile of a bootstrap over prompts", 0,
     RANGE(acceptance[0].high)},
    {"/accepted_share", GEODEC_F64, "C,3", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_ZERO, "1",
     "accepted / proposed over all positions: value, 2.5 %, 97.5 %; 0 where nothing was proposed", 2,
     OF(accepted_share.value)},
    {"/mean_accepted", GEODEC_F64, "C,3", GEODEC_FIELD_ZERO, "1",
     "drafts accepted per round (or position): value, 2.5 %, 97.5 %", 0, OF(mean_accepted.value)},
    {"/tokens_per_pass", GEODEC_F64, "C,3", GEODEC_FIELD_ZERO, "1",
     "decided / target passes: value, 2.5 %, 97.5 %; 0 where every_position = 1", 0, OF(tokens_per_pass.value)},
    {"/tokens_closed_form", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "1",
     "(1 - alpha^(gamma+1)) / (1 - alpha), alpha = all accepted / all reached (Leviathan et al. 2023)", 0,
     OF(tokens_closed_form)},
    {"/tokens_by_position", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "1", "1 + sum_i prod_{j<=i} acceptance_j", 0,
     OF(tokens_by_position)},
    {"/confidence_reached", GEODEC_I64, "C,B", 0, "1", "reliability: drafts reached with a confidence in the tenth b",
     0, TALLY(confidence[0].reached)},
    {"/confidence_accepted", GEODEC_I64, "C,B", 0, "1", "of these, accepted", 0, TALLY(confidence[0].accepted)},
    {"/confidence_claimed", GEODEC_F64, "C,B", GEODEC_FIELD_ZERO, "1", "mean confidence of those reached; 0 for none",
     0, OF(claimed[0])},
    {"/texts/accepted", GEODEC_I64, "C,P", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_COMPRESS, "1",
     "drafts accepted on each prompt, all seeds together", 3, AT(counts.accepted)},
    {"/texts/rounds", GEODEC_I64, "C,P", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_COMPRESS, "1",
     "rounds (or positions) of each prompt", 3, AT(counts.rounds)},
    {"/texts/decided", GEODEC_I64, "C,P", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_COMPRESS, "1",
     "tokens decided on each prompt", 3, AT(counts.decided)},
    {"/texts/passes", GEODEC_I64, "C,P", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_COMPRESS, "1",
     "target passes of each prompt, without the prompt's own", 3, AT(counts.passes)},
};

static const geodec_attr count_attrs[] = {
    GEODEC__ABOUT(counts_file, NAMES_ARE, "prompts used"),
    {"seeds", GEODEC_ATTR_I64, 0, "request seeds of each prompt in sampled rows; 0 = no sampled rows", IN(seeds)},
    {"temperature", GEODEC_ATTR_F64, 0, "of sampled rows", IN(sampling.temperature)},
    {"top_k", GEODEC_ATTR_I64, 0, "of sampled rows, 0 = all", IN(sampling.top_k)},
    {"top_p", GEODEC_ATTR_F64, 0, "of sampled rows, 1 = all", IN(sampling.top_p)},
};
static const geodec_extent count_extents[] = {
    {"C", IN(counts.n)}, {"G", IN(gammas)}, {"B", .plus = GEODEC_CONFIDENCE_BINS}, {"P", IN(counts.prompts)}};

const geodec_kind geodec_bench_decode_kind = {
    .name = "benchdecode",
    .major = 1,
    .minor = 4,
    .tool = "geodec-bench-decode",
    .purpose = "exactness, acceptance and tokens per pass of drafters",
    GEODEC_TABLES(count_fields, count_attrs, count_extents),
    .rows = {"C", sizeof(geodec_bench_row), offsetof(counts_file, counts.row), false}};

geodec_status geodec__bench_about_plan(const geodec_bench_plan *plan, int64_t prompts, geodec__about *out,
                                       geodec_err *err)
{
    const bool divided = plan->prompts->rule != GEODEC_SEPARATOR_AUTO;
    *out = (geodec__about){.separator = divided ? geodec_documents_separator_name(plan->prompts->rule) : NULL,
                           .documents = divided ? &plan->prompts->documents : NULL,
                           .prompts = prompts,
                           .max_tokens = plan->max_tokens,
                           .drafters = out->names};
    for (int32_t i = 0; i < plan->n_drafters; i++) {
        const size_t at = strlen(out->names), room = sizeof out->names - at;
        const int n = snprintf(out->names + at, room, "%s%s", i > 0 ? "," : "", plan->drafter[i].name);
        if (n < 0 || (size_t)n >= room) GEODEC_FAIL(GEODEC_LIMIT, "the names of the drafters are too long");
    }
    return GEODEC_OK;
}

geodec_status geodec_bench_write_counts(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                        const geodec_bench_counts *c, geodec_err *err)
{
    counts_file f = {.counts = *c,
                     .gammas = plan->n_budgets > 0 ? GEODEC_BENCH_GAMMA : plan->gamma[plan->n_gammas - 1],
                     .seeds = plan->sampled ? plan->n_seeds : 0,
                     .sampling = plan->sampling};
    GEODEC_PASS(geodec__bench_about_plan(plan, plan->prompts->n, &f.about, err));
    GEODEC_PASS(geodec_artifact_save_as(&geodec_bench_decode_kind, path, p, &f, err));
    return GEODEC_OK;
}

geodec_status geodec__bench_read_counts(const geodec_artifact *a, geodec_bench_counts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    counts_file f = {0};
    GEODEC_TRY(geodec_artifact_load(a, &f, err));
    if (f.gammas > GEODEC_BENCH_GAMMA)
        GEODEC_THROW(GEODEC_FORMAT, "%s: drafts of %d tokens", geodec_artifact_path(a), f.gammas);
    *out = f.counts;
    f.counts = (geodec_bench_counts){0};
done:
    geodec_bench_counts_free(&f.counts);
    return st;
}

/* ---- speed ------------------------------------------------------------------------------------------------------- */

typedef struct speed_file {
    const geodec_bench_timing_row *row;
    int64_t n;
    int32_t widths;                   /* W */
    const double *v, *chains, *trees; /* [widths] from one row on */
    geodec__about about;
    const char *isa;
    double seconds, o_plain;
} speed_file;
#undef AT
#undef IN
#undef OF
#define AT(m) GEODEC_AT(speed_file, m)
#define IN(m) GEODEC_IN(speed_file, m)
#define OF(m) GEODEC_OF_ROW(geodec_bench_timing_row, m)

static const geodec_field speed_fields[] = {
    {"/drafter", GEODEC_I32, "C", 0, "1", "index into the attribute drafters", 0, OF(drafter)},
    {"/gamma", GEODEC_I32, "C", 0, "1", "draft length; the upper limit of an adaptive row", 0, OF(gamma)},
    {"/budget", GEODEC_I32, "C", GEODEC_FIELD_OPTIONAL, "1", "drafts of a tree; 0 = chains", 1, OF(budget)},
    {"/adaptive", GEODEC_U8, "C", 0, "1", "1: length chosen round by round from the cost model", 0, OF(adaptive)},
    {"/speedup", GEODEC_F64, "C,3", GEODEC_FIELD_ZERO, "1",
     "timing: median over prompts of tok/s against the plain runs just before and after: value, 2.5 %, 97.5 %", 0,
     OF(speedup.value)},
    {"/tok_per_s", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "s-1",
     "timing: decided tokens per second of one thread's CPU time, prompt not counted", 0, OF(tok_per_s)},
    {"/plain_tok_per_s", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "s-1", "timing: the same of the interleaved plain runs", 0,
     OF(plain_tok_per_s)},
    {"/tokens_per_pass", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "1", "decided / target passes in the timed runs", 0,
     OF(tokens_per_pass)},
    {"/draft_cost", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "1", "timing: c, drafter time per draft over T(1)", 0, OF(c)},
    {"/overhead", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "1", "timing: o, the rest of a round over T(1)", 0, OF(o)},
    {"/predicted", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "1",
     "median over prompts of E (1 + o_plain) / (mean over rounds of g c + v(g+1), plus o), E from the acceptance of "
     "each position; a forecast: times, pass lengths and acceptance are of other prompts than those measured (two "
     "folds); "
     "0: one prompt, not measured",
     0, OF(predicted)},
    {"/forecast_error", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_ZERO, "1",
     "timing: predicted / measured - 1, mean of the two folds; 0 with one prompt", 3, OF(forecast_error)},
    {"/predicted_textbook", GEODEC_F64, "C", GEODEC_FIELD_ZERO, "1",
     "(1 - alpha^(gamma+1)) / (1 - alpha): v = 1, c = o = 0; 0 when adaptive and for trees", 0, OF(predicted_textbook)},
    {"/pass_cost", GEODEC_F64, "W", 0, "1", "timing: v(b) = T(b) / T(1) of a pass over b = 1 .. W rows, quiet", 0,
     AT(v)},
    {"/pass_cost_chains", GEODEC_F64, "W", GEODEC_FIELD_OPTIONAL, "1", "timing: v(b) as the loop met it: chains", 2,
     AT(chains)},
    {"/pass_cost_trees", GEODEC_F64, "W", GEODEC_FIELD_OPTIONAL, "1", "timing: v(b) as the loop met it: trees", 2,
     AT(trees)},
};

static const geodec_attr speed_attrs[] = {
    GEODEC__ABOUT(speed_file, NAMES_ARE, "prompts timed"),
    {"isa", GEODEC_ATTR_STR, 0, "instruction set of the model's passes", IN(isa)},
    {"pass_seconds", GEODEC_ATTR_F64, 0, "timing: T(1), mean one-row pass of plain decoding", IN(seconds)},
    {"plain_overhead", GEODEC_ATTR_F64, 0, "timing: o_plain, the rest of a round of plain decoding over T(1)",
     IN(o_plain)},
};
static const geodec_extent speed_extents[] = {{"C", IN(n)}, {"W", IN(widths)}};

const geodec_kind geodec_bench_speed_kind = {
    .name = "speed",
    .major = 1,
    .minor = 4,
    .tool = "geodec-bench-decode",
    .purpose = "decoding speed compared with the closed form (timings: not reproducible)",
    GEODEC_TABLES(speed_fields, speed_attrs, speed_extents),
    .rows = {"C", sizeof(geodec_bench_timing_row), offsetof(speed_file, row), false}};

geodec_status geodec_bench_write_speed(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                       const geodec_bench_timing *s, const char *isa, geodec_err *err)
{
    speed_file f = {.row = s->row,
                    .n = s->n,
                    .widths = s->cost.n,
                    .v = s->cost.v + 1,
                    .chains = s->loop[0].v + 1,
                    .trees = s->loop[1].v + 1,
                    .isa = isa,
                    .seconds = s->cost.seconds,
                    .o_plain = s->cost.o_plain};
    GEODEC_PASS(geodec__bench_about_plan(plan, s->prompts, &f.about, err));
    GEODEC_PASS(geodec_artifact_save_as(&geodec_bench_speed_kind, path, p, &f, err));
    return GEODEC_OK;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void timings(geodec_tsv *t, const geodec_bench_timing_row *s)
{
    static const geodec_bench_timing_row none = {.speedup = {NAN, NAN, NAN},
                                                 .predicted = NAN,
                                                 .forecast_error = NAN,
                                                 .predicted_textbook = NAN,
                                                 .tok_per_s = NAN,
                                                 .plain_tok_per_s = NAN};
    if (!s) s = &none;
    geodec_tsv_f64s(t, 3, &s->speedup.value);
    geodec_tsv_f64(t, s->predicted);
    geodec_tsv_f64(t, s->forecast_error);
    geodec_tsv_f64(t, s->predicted_textbook);
    geodec_tsv_f64(t, s->tok_per_s);
    geodec_tsv_f64(t, s->plain_tok_per_s);
}

static const geodec_bench_timing_row *timing_of(const geodec_bench_timing *s, const geodec_bench_row *r)
{
    if (r->sampled || r->every_position) return NULL;
    for (int64_t i = 0; i < s->n; i++)
        if (!s->row[i].adaptive && s->row[i].drafter == r->drafter && s->row[i].gamma == r->gamma &&
            s->row[i].budget == r->budget)
            return &s->row[i];
    return NULL;
}

geodec_status geodec_bench_table(FILE *out, const geodec_bench_plan *plan, const geodec_bench_counts *c,
                                 const geodec_bench_timing *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(geodec_tsv_names(
        t,
        "drafter gamma mode setting compared mismatches first_acceptance first_low first_high mean_accepted mean_low "
        "mean_high tokens_per_pass tpp_low tpp_high tokens_closed_form tokens_by_position speedup speedup_low "
        "speedup_high predicted forecast_error predicted_textbook tok_per_s plain_tok_per_s",
        err));
    for (int64_t i = 0; i < c->n; i++) {
        const geodec_bench_row *r = &c->row[i];
        geodec_tsv_str(t, plan->drafter[r->drafter].name);
        geodec_tsv_i64(t, r->budget > 0 ? r->budget : r->gamma);
        geodec_tsv_str(t, r->sampled ? "sampled" : "greedy");
        geodec_tsv_str(t, r->every_position ? r->budget > 0 ? "tree-every-position" : "every-position"
                          : r->budget > 0   ? "tree"
                                            : "loop");
        geodec_tsv_i64(t, r->compared);
        geodec_tsv_i64(t, r->mismatches);
        geodec_tsv_f64s(t, 3, &r->acceptance[0].value);
        geodec_tsv_f64s(t, 3, &r->mean_accepted.value);
        geodec_tsv_f64s(t, 3, &r->tokens_per_pass.value);
        geodec_tsv_f64(t, r->tokens_closed_form);
        geodec_tsv_f64(t, r->tokens_by_position);
        timings(t, timing_of(s, r));
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    for (int64_t i = 0; i < s->n; i++) {
        const geodec_bench_timing_row *r = &s->row[i];
        if (!r->adaptive) continue;
        geodec_tsv_str(t, plan->drafter[r->drafter].name);
        geodec_tsv_str(t, "auto");
        geodec_tsv_str(t, "greedy");
        geodec_tsv_str(t, r->budget > 0 ? "tree" : "loop");
        geodec_tsv_i64(t, 0);
        geodec_tsv_i64(t, 0);
        for (int k = 0; k < 6; k++) geodec_tsv_f64(t, (double)NAN);
        geodec_tsv_f64(t, r->tokens_per_pass);
        for (int k = 0; k < 4; k++) geodec_tsv_f64(t, (double)NAN);
        timings(t, r);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}
