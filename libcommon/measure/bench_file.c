#include "measure/bench_file.h"
#include "measure/bench_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

/* C rows, G = largest draft length of the plan, B confidence bins. */
static const geodec_field count_fields[] = {
    {"/drafter", GEODEC_I32, "C", 0, "1", "index into the attribute drafters", 0},
    {"/gamma", GEODEC_I32, "C", 0, "1", "draft length; of a tree the longest path", 0},
    {"/budget", GEODEC_I32, "C", GEODEC_FIELD_OPTIONAL, "1", "drafts of a tree; 0 = chains", 0},
    {"/sampled", GEODEC_U8, "C", 0, "1", "0 greedy, 1 sampled (all seeds pooled)", 0},
    {"/every_position", GEODEC_U8, "C", 0, "1",
     "0: drafts as they occur in the decoding loop; 1: one draft asked for at each position of plain decoding", 0},
    {"/compared", GEODEC_I64, "C", 0, "1",
     "output tokens held against plain decoding; 0 of every position, where no draft is sent", 0},
    {"/mismatches", GEODEC_I64, "C", 0, "1", "different ones (exact decoding: 0)", 0},
    {"/decided", GEODEC_I64, "C", 0, "1", "tokens decided, the stop token included", 0},
    {"/target_passes", GEODEC_I64, "C", 0, "1", "forward passes of the model, counted by the model, without the prompt",
     0},
    {"/prompt_passes", GEODEC_I64, "C", 0, "1", "forward passes over the prompts", 0},
    {"/rounds", GEODEC_I64, "C", 0, "1", "rounds of the loop; positions asked where every_position = 1", 0},
    {"/proposed", GEODEC_I64, "C,G", 0, "1", "drafts proposed at each position of a draft", 0},
    {"/reached", GEODEC_I64, "C,G", 0, "1", "of these, drafts whose predecessors were all accepted", 0},
    {"/accepted", GEODEC_I64, "C,G", 0, "1", "of these, drafts equal to the model's own choice", 0},
    {"/rejected", GEODEC_I64, "C,G", 0, "1", "first rejections by position", 0},
    {"/acceptance", GEODEC_F64, "C,G", 0, "1", "accepted / reached by position; 0 where reached = 0", 0},
    {"/acceptance_low", GEODEC_F64, "C,G", 0, "1", "2.5 % percentile of a bootstrap over prompts", 0},
    {"/acceptance_high", GEODEC_F64, "C,G", 0, "1", "97.5 % percentile of a bootstrap over prompts", 0},
    {"/accepted_share", GEODEC_F64, "C,3", GEODEC_FIELD_OPTIONAL, "1",
     "accepted / proposed over all positions: value, 2.5 %, 97.5 %; 0 where nothing was proposed", 2},
    {"/mean_accepted", GEODEC_F64, "C,3", 0, "1", "drafts accepted per round (or position): value, 2.5 %, 97.5 %", 0},
    {"/tokens_per_pass", GEODEC_F64, "C,3", 0, "1",
     "decided / target passes: value, 2.5 %, 97.5 %; 0 where every_position = 1", 0},
    {"/tokens_closed_form", GEODEC_F64, "C", 0, "1",
     "(1 - alpha^(gamma+1)) / (1 - alpha), alpha = all accepted / all reached (Leviathan et al. 2023)", 0},
    {"/tokens_by_position", GEODEC_F64, "C", 0, "1", "1 + sum_i prod_{j<=i} acceptance_j", 0},
    {"/confidence_reached", GEODEC_I64, "C,B", 0, "1", "reliability: drafts reached with a confidence in the tenth b",
     0},
    {"/confidence_accepted", GEODEC_I64, "C,B", 0, "1", "of these, accepted", 0},
    {"/confidence_claimed", GEODEC_F64, "C,B", 0, "1", "mean confidence of those reached; 0 for none", 0},
    {"/texts/accepted", GEODEC_I64, "C,P", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_COMPRESS, "1",
     "drafts accepted on each prompt, all seeds together", 3},
    {"/texts/rounds", GEODEC_I64, "C,P", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_COMPRESS, "1",
     "rounds (or positions) of each prompt", 3},
    {"/texts/decided", GEODEC_I64, "C,P", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_COMPRESS, "1",
     "tokens decided on each prompt", 3},
    {"/texts/passes", GEODEC_I64, "C,P", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_COMPRESS, "1",
     "target passes of each prompt, without the prompt's own", 3},
};

static const geodec_attr count_attrs[] = {
    {"drafters", GEODEC_ATTR_STR, 0,
     "names, joined by commas; oracle = replay of the plain output, a ceiling and no drafter"},
    {"prompts", GEODEC_ATTR_I64, 0, "prompts used"},
    {"separator", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "rule that divided the text of the prompts into documents"},
    {"documents", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "documents of that text"},
    {"max_tokens", GEODEC_ATTR_I64, 0, "output tokens of a prompt"},
    {"seeds", GEODEC_ATTR_I64, 0, "request seeds of each prompt in sampled rows; 0 = no sampled rows"},
    {"temperature", GEODEC_ATTR_F64, 0, "of sampled rows"},
    {"top_k", GEODEC_ATTR_I64, 0, "of sampled rows, 0 = all"},
    {"top_p", GEODEC_ATTR_F64, 0, "of sampled rows, 1 = all"},
};

const geodec_kind geodec_kind_benchdecode = {.name = "benchdecode",
                                             .major = 1,
                                             .minor = 4,
                                             .tool = "geodec-bench-decode",
                                             .purpose = "exactness, acceptance and tokens per pass of drafters",
                                             .fields = count_fields,
                                             .n_fields = COUNT(count_fields),
                                             .attrs = count_attrs,
                                             .n_attrs = COUNT(count_attrs)};

static const geodec_field speed_fields[] = {
    {"/drafter", GEODEC_I32, "C", 0, "1", "index into the attribute drafters", 0},
    {"/gamma", GEODEC_I32, "C", 0, "1", "draft length; the upper limit of an adaptive row", 0},
    {"/budget", GEODEC_I32, "C", GEODEC_FIELD_OPTIONAL, "1", "drafts of a tree; 0 = chains", 1},
    {"/adaptive", GEODEC_U8, "C", 0, "1", "1: length chosen round by round from the cost model", 0},
    {"/speedup", GEODEC_F64, "C,3", 0, "1",
     "timing: median over prompts of tok/s against the plain runs just before and after: value, 2.5 %, 97.5 %", 0},
    {"/tok_per_s", GEODEC_F64, "C", 0, "s-1",
     "timing: decided tokens per second of one thread's CPU time, prompt not counted", 0},
    {"/plain_tok_per_s", GEODEC_F64, "C", 0, "s-1", "timing: the same of the interleaved plain runs", 0},
    {"/tokens_per_pass", GEODEC_F64, "C", 0, "1", "decided / target passes in the timed runs", 0},
    {"/draft_cost", GEODEC_F64, "C", 0, "1", "timing: c, drafter time per draft over T(1)", 0},
    {"/overhead", GEODEC_F64, "C", 0, "1", "timing: o, the rest of a round over T(1)", 0},
    {"/predicted", GEODEC_F64, "C", 0, "1",
     "median over prompts of E (1 + o_plain) / (mean over rounds of g c + v(g+1), plus o), E from the acceptance of "
     "each position; a forecast: times, pass lengths and acceptance are of other prompts than those measured (two "
     "folds); "
     "0: one prompt, not measured",
     0},
    {"/forecast_error", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "1",
     "timing: predicted / measured - 1, mean of the two folds; 0 with one prompt", 3},
    {"/predicted_textbook", GEODEC_F64, "C", 0, "1",
     "(1 - alpha^(gamma+1)) / (1 - alpha): v = 1, c = o = 0; 0 when adaptive and for trees", 0},
    {"/pass_cost", GEODEC_F64, "W", 0, "1", "timing: v(b) = T(b) / T(1) of a pass over b = 1 .. W rows, quiet", 0},
    {"/pass_cost_chains", GEODEC_F64, "W", GEODEC_FIELD_OPTIONAL, "1", "timing: v(b) as the loop met it: chains", 2},
    {"/pass_cost_trees", GEODEC_F64, "W", GEODEC_FIELD_OPTIONAL, "1", "timing: v(b) as the loop met it: trees", 2},
};

static const geodec_attr speed_attrs[] = {
    {"drafters", GEODEC_ATTR_STR, 0,
     "names, joined by commas; oracle = replay of the plain output, a ceiling and no drafter"},
    {"prompts", GEODEC_ATTR_I64, 0, "prompts timed"},
    {"separator", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "rule that divided the text of the prompts into documents"},
    {"documents", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "documents of that text"},
    {"max_tokens", GEODEC_ATTR_I64, 0, "output tokens of a prompt"},
    {"isa", GEODEC_ATTR_STR, 0, "instruction set of the model's passes"},
    {"pass_seconds", GEODEC_ATTR_F64, 0, "timing: T(1), mean one-row pass of plain decoding"},
    {"plain_overhead", GEODEC_ATTR_F64, 0, "timing: o_plain, the rest of a round of plain decoding over T(1)"},
};

const geodec_kind geodec_kind_speed = {.name = "speed",
                                       .major = 1,
                                       .minor = 4,
                                       .tool = "geodec-bench-decode",
                                       .purpose = "decoding speed beside the closed form (timings: not reproducible)",
                                       .fields = speed_fields,
                                       .n_fields = COUNT(speed_fields),
                                       .attrs = speed_attrs,
                                       .n_attrs = COUNT(speed_attrs)};

geodec_status geodec__bench_put_common(geodec_artifact *a, const geodec_bench_plan *plan, int64_t prompts,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char names[GEODEC_BENCH_DRAFTERS * 64] = "";
    for (int32_t i = 0; i < plan->n_drafters; i++) {
        const size_t at = strlen(names);
        const int n = snprintf(names + at, sizeof names - at, "%s%s", i > 0 ? "," : "", plan->drafter[i].name);
        if (n < 0 || (size_t)n >= sizeof names - at)
            GEODEC_THROW(GEODEC_LIMIT, "the names of the drafters are too long");
    }
    GEODEC_TRY(geodec_artifact_put_str(a, "drafters", names, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "prompts", prompts, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "max_tokens", plan->max_tokens, err));
    if (plan->prompts->rule == GEODEC_SEPARATOR_AUTO) goto done;
    GEODEC_TRY(geodec_artifact_put_str(a, "separator", geodec_separator_name(plan->prompts->rule), err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "documents", plan->prompts->documents, err));
done:
    return st;
}

/* One column of every row, gathered by a callback into `columns` values a row. */
typedef void (*gather)(const void *row, int32_t column, void *to);

static geodec_status write_column(geodec_artifact *a, const char *path, size_t size, const void *rows, size_t row_size,
                                  int64_t n, int32_t columns, gather get, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *data = geodec_mem_new(n * columns, size);
    if (!data) GEODEC_THROW(GEODEC_NOMEM, "no memory for %s", path);
    for (int64_t i = 0; i < n; i++)
        for (int32_t k = 0; k < columns; k++)
            get((const char *)rows + (size_t)i * row_size, k, data + (size_t)(i * columns + k) * size);
    GEODEC_TRY(geodec_artifact_write(a, path, data, err));
done:
    geodec_mem_free(data);
    return st;
}

/* Artifacts hold finite numbers only; the counts beside a ratio say where there was nothing to divide. */
static double or_zero(double x) { return isfinite(x) ? x : 0; }

/* GATHER(name, row type, value type, expression of row r and column k) */
#define GATHER(name, row_type, type, expression)                                                                       \
    static void name(const void *row, int32_t k, void *to)                                                             \
    {                                                                                                                  \
        const row_type *r = row;                                                                                       \
        (void)k;                                                                                                       \
        const type v = (type)(expression);                                                                             \
        memcpy(to, &v, sizeof v);                                                                                      \
    }
#define ROW geodec_bench_row
GATHER(c_drafter, ROW, int32_t, r->drafter)
GATHER(c_gamma, ROW, int32_t, r->gamma)
GATHER(c_budget, ROW, int32_t, r->budget)
GATHER(c_sampled, ROW, uint8_t, r->sampled)
GATHER(c_every, ROW, uint8_t, r->every_position)
GATHER(c_compared, ROW, int64_t, r->compared)
GATHER(c_mismatches, ROW, int64_t, r->mismatches)
GATHER(c_decided, ROW, int64_t, r->decided)
GATHER(c_passes, ROW, int64_t, r->passes)
GATHER(c_prompt, ROW, int64_t, r->prompt_passes)
GATHER(c_rounds, ROW, int64_t, r->rounds)
GATHER(c_proposed, ROW, int64_t, r->position[k].proposed)
GATHER(c_reached, ROW, int64_t, r->position[k].reached)
GATHER(c_accepted, ROW, int64_t, r->position[k].accepted)
GATHER(c_rejected, ROW, int64_t, r->position[k].rejected)
GATHER(c_acc, ROW, double, or_zero(r->acceptance[k].value))
GATHER(c_acc_low, ROW, double, or_zero(r->acceptance[k].low))
GATHER(c_acc_high, ROW, double, or_zero(r->acceptance[k].high))
GATHER(c_mean, ROW, double,
       or_zero((k == 0   ? r->mean_accepted.value
                : k == 1 ? r->mean_accepted.low
                         : r->mean_accepted.high)))
GATHER(c_share, ROW, double,
       or_zero(k == 0   ? r->accepted_share.value
               : k == 1 ? r->accepted_share.low
                        : r->accepted_share.high))
GATHER(c_tpp, ROW, double,
       or_zero(k == 0   ? r->tokens_per_pass.value
               : k == 1 ? r->tokens_per_pass.low
                        : r->tokens_per_pass.high))
GATHER(c_closed, ROW, double, or_zero(r->tokens_closed_form))
GATHER(c_bypos, ROW, double, or_zero(r->tokens_by_position))
GATHER(c_bin_reached, ROW, int64_t, r->confidence[k].reached)
GATHER(c_bin_accepted, ROW, int64_t, r->confidence[k].accepted)
GATHER(c_claimed, ROW, double, or_zero(r->claimed[k]))
#undef ROW
#define ROW geodec_speed_row
GATHER(s_drafter, ROW, int32_t, r->drafter)
GATHER(s_gamma, ROW, int32_t, r->gamma)
GATHER(s_budget, ROW, int32_t, r->budget)
GATHER(s_adaptive, ROW, uint8_t, r->adaptive)
GATHER(s_speedup, ROW, double, or_zero(k == 0 ? r->speedup.value : k == 1 ? r->speedup.low : r->speedup.high))
GATHER(s_rate, ROW, double, or_zero(r->tok_per_s))
GATHER(s_plain, ROW, double, or_zero(r->plain_tok_per_s))
GATHER(s_tpp, ROW, double, or_zero(r->tokens_per_pass))
GATHER(s_c, ROW, double, or_zero(r->c))
GATHER(s_o, ROW, double, or_zero(r->o))
GATHER(s_predicted, ROW, double, or_zero(r->predicted))
GATHER(s_error, ROW, double, or_zero(r->forecast_error))
GATHER(s_textbook, ROW, double, or_zero(r->predicted_textbook))
#undef ROW

typedef struct column {
    const char *path;
    size_t size;
    int32_t columns;
    gather get;
} column;

geodec_status geodec_bench_write_counts(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                        const geodec_bench_counts *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    const int32_t g = plan->n_budgets > 0 ? GEODEC_BENCH_GAMMA : plan->gamma[plan->n_gammas - 1],
                  b = GEODEC_CONFIDENCE_BINS;
    const column columns[] = {
        {"/drafter", 4, 1, c_drafter},
        {"/gamma", 4, 1, c_gamma},
        {"/budget", 4, 1, c_budget},
        {"/sampled", 1, 1, c_sampled},
        {"/every_position", 1, 1, c_every},
        {"/compared", 8, 1, c_compared},
        {"/mismatches", 8, 1, c_mismatches},
        {"/decided", 8, 1, c_decided},
        {"/target_passes", 8, 1, c_passes},
        {"/prompt_passes", 8, 1, c_prompt},
        {"/rounds", 8, 1, c_rounds},
        {"/proposed", 8, g, c_proposed},
        {"/reached", 8, g, c_reached},
        {"/accepted", 8, g, c_accepted},
        {"/rejected", 8, g, c_rejected},
        {"/acceptance", 8, g, c_acc},
        {"/acceptance_low", 8, g, c_acc_low},
        {"/acceptance_high", 8, g, c_acc_high},
        {"/accepted_share", 8, 3, c_share},
        {"/mean_accepted", 8, 3, c_mean},
        {"/tokens_per_pass", 8, 3, c_tpp},
        {"/tokens_closed_form", 8, 1, c_closed},
        {"/tokens_by_position", 8, 1, c_bypos},
        {"/confidence_reached", 8, b, c_bin_reached},
        {"/confidence_accepted", 8, b, c_bin_accepted},
        {"/confidence_claimed", 8, b, c_claimed},
    };
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_benchdecode, path, p, &a, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", c->n, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "G", g, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "B", b, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "P", c->prompts, err));
    GEODEC_TRY(geodec__bench_put_common(a, plan, plan->prompts->n, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "seeds", plan->sampled ? plan->n_seeds : 0, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "temperature", plan->sampling.temperature, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "top_k", plan->sampling.top_k, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "top_p", plan->sampling.top_p, err));
    for (int i = 0; i < COUNT(columns); i++)
        GEODEC_TRY(write_column(a, columns[i].path, columns[i].size, c->row, sizeof *c->row, c->n, columns[i].columns,
                                columns[i].get, err));
    GEODEC_TRY(geodec_artifact_write(a, "/texts/accepted", c->accepted, err));
    GEODEC_TRY(geodec_artifact_write(a, "/texts/rounds", c->rounds, err));
    GEODEC_TRY(geodec_artifact_write(a, "/texts/decided", c->decided, err));
    GEODEC_TRY(geodec_artifact_write(a, "/texts/passes", c->passes, err));
    geodec_artifact *whole = a;
    a = NULL;
    GEODEC_TRY(geodec_artifact_commit(whole, err));
done:
    geodec_artifact_close(a);
    return st;
}

geodec_status geodec_bench_write_speed(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                       const geodec_speed *s, const char *isa, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    static const column columns[] = {
        {"/drafter", 4, 1, s_drafter},
        {"/gamma", 4, 1, s_gamma},
        {"/budget", 4, 1, s_budget},
        {"/adaptive", 1, 1, s_adaptive},
        {"/speedup", 8, 3, s_speedup},
        {"/tok_per_s", 8, 1, s_rate},
        {"/plain_tok_per_s", 8, 1, s_plain},
        {"/tokens_per_pass", 8, 1, s_tpp},
        {"/draft_cost", 8, 1, s_c},
        {"/overhead", 8, 1, s_o},
        {"/predicted", 8, 1, s_predicted},
        {"/forecast_error", 8, 1, s_error},
        {"/predicted_textbook", 8, 1, s_textbook},
    };
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_speed, path, p, &a, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", s->n, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "W", s->cost.n, err));
    GEODEC_TRY(geodec__bench_put_common(a, plan, s->prompts, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "isa", isa, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "pass_seconds", s->cost.seconds, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "plain_overhead", s->cost.o_plain, err));
    for (int i = 0; i < COUNT(columns); i++)
        GEODEC_TRY(write_column(a, columns[i].path, columns[i].size, s->row, sizeof *s->row, s->n, columns[i].columns,
                                columns[i].get, err));
    GEODEC_TRY(geodec_artifact_write(a, "/pass_cost", s->cost.v + 1, err));
    GEODEC_TRY(geodec_artifact_write(a, "/pass_cost_chains", s->loop[0].v + 1, err));
    GEODEC_TRY(geodec_artifact_write(a, "/pass_cost_trees", s->loop[1].v + 1, err));
    geodec_artifact *whole = a;
    a = NULL;
    GEODEC_TRY(geodec_artifact_commit(whole, err));
done:
    geodec_artifact_close(a);
    return st;
}
