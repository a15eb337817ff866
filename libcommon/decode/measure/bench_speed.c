#include "measure/bench_internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "decode/predict.h"
#include "linalg/stats.h"

#include <math.h>

enum { COST_REPEATS = 3 };

/* Median with a percentile bootstrap over prompts. */
static geodec_status median_interval(const geodec_bench_plan *plan, const double *x, int64_t n, geodec_estimate *out,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *sample = NULL, *value = NULL;
    int64_t *index = NULL;
    GEODEC_NEW(sample, n);
    GEODEC_NEW(value, plan->resamples);
    GEODEC_NEW(index, n);
    geodec_estimate v;
    GEODEC_TRY(geodec_stats_median(n, x, &v.value, err));
    for (int32_t r = 0; r < plan->resamples; r++) {
        geodec_stats_resample(plan->seed, geodec_rng_id("bench-bootstrap", 1), (uint64_t)r, n, index);
        for (int64_t i = 0; i < n; i++) sample[i] = x[index[i]];
        geodec_stats_sort(n, sample);
        value[r] = geodec_stats_percentile(n, sample, 0.5);
    }
    geodec_stats_sort(plan->resamples, value);
    v.low = geodec_stats_percentile(plan->resamples, value, 0.025);
    v.high = geodec_stats_percentile(plan->resamples, value, 0.975);
    *out = v;
done:
    GEODEC_FREE(sample, value, index);
    return st;
}

static double decode_seconds(const geodec_decode_counters *c) { return c->total_seconds - c->prompt_seconds; }

/* Time of a round outside drafting and passes. */
static double other_seconds(const geodec_decode_counters *c)
{
    return c->rounds > 0 ? (decode_seconds(c) - c->draft_seconds - c->verify_seconds) / (double)c->rounds : 0;
}

double geodec__bench_tokens(const geodec_decode_counters *c, int32_t gamma)
{
    double beta[GEODEC_BENCH_GAMMA] = {0};
    int64_t before = c->rounds;
    for (int32_t i = 0; i < gamma; i++) {
        beta[i] = before > 0 ? (double)c->position[i].accepted / (double)before : 0;
        before = c->position[i].accepted;
    }
    return geodec_predict_tokens_by_position(beta, gamma);
}

static double rate(double tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0; }

static int64_t lay_rows(const geodec_bench_plan *p, geodec_bench_timing_row *row)
{
    int64_t n = 0;
    for (int32_t d = 0; d < p->n_drafters; d++) {
        geodec_bench_timing_row chain = {.drafter = d}, tree = {.drafter = d, .gamma = GEODEC_BENCH_GAMMA};
        for (int32_t g = 0; g < p->n_gammas; g++) {
            chain.gamma = p->gamma[g];
            row[n++] = chain;
        }
        for (int32_t b = 0; b < p->n_budgets; b++) {
            tree.budget = p->budget[b];
            row[n++] = tree;
        }
        chain.adaptive = tree.adaptive = true;
        row[n++] = chain;
        if (p->n_budgets > 0) row[n++] = tree;
    }
    return n;
}

/* Input of the closed form for one row and prompt: counts, no times. */
typedef struct outcome {
    double tokens; /* tokens per round, from the acceptance of each position */
    double asks;   /* a round */
    int64_t length[GEODEC_DRAFT_MAX + 1];
} outcome;

static outcome outcome_of(const geodec_bench_timing_row *row, const geodec_decode_counters *c)
{
    outcome x = {.tokens = geodec__bench_tokens(c, row->gamma),
                 .asks = c->rounds > 0 ? (double)c->asks / (double)c->rounds : 0};
    for (int32_t g = 0; g <= GEODEC_DRAFT_MAX; g++) x.length[g] = c->length[g];
    return x;
}

/* v(b) as measured in the loop: the mean over all passes of that width in chains (or trees) of all rows. Where there
 * are few passes, the idle v(b) times their common ratio. */
static geodec_cost loop_cost(const geodec_cost *quiet, const geodec_bench_timing *s, const geodec_decode_counters *sum,
                             bool trees)
{
    enum { FEW = 16 };
    geodec_cost cost = *quiet;
    double seconds[GEODEC_COST_ROWS + 1] = {0}, met = 0, expected = 0;
    int64_t passes[GEODEC_COST_ROWS + 1] = {0};
    for (int64_t r = 0; r < s->n; r++)
        for (int32_t b = 2; b <= cost.n && (s->row[r].budget > 0) == trees; b++) {
            seconds[b] += sum[r].pass_seconds[b - 1];
            passes[b] += sum[r].length[b - 1];
        }
    for (int32_t b = 2; b <= cost.n; b++) {
        met += seconds[b] / quiet->seconds;
        expected += (double)passes[b] * quiet->v[b];
    }
    for (int32_t b = 2; b <= cost.n; b++)
        cost.v[b] = passes[b] >= FEW ? seconds[b] / (double)passes[b] / quiet->seconds
                    : expected > 0   ? quiet->v[b] * met / expected
                                     : quiet->v[b];
    return cost;
}

/* The rates and costs of a row over all timed prompts. */
static void finish(geodec_bench_timing_row *row, const geodec_decode_counters *sum, const geodec_cost *cost,
                   double plain_rate)
{
    row->tok_per_s = rate((double)sum->decided, decode_seconds(sum));
    row->plain_tok_per_s = plain_rate;
    row->tokens_per_pass = geodec_decode_tokens_per_pass(sum);
    row->c = sum->total.proposed > 0 ? sum->draft_seconds / (double)sum->total.proposed / cost->seconds : 0;
    row->o = other_seconds(sum) / cost->seconds;
}

/* v(b): median over the measurements. */
static geodec_status median_cost(const geodec_cost *c, int64_t n, geodec_cost *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    geodec_cost m = c[0];
    GEODEC_NEW(x, n);
    for (int32_t b = 1; b <= m.n; b++) {
        for (int64_t i = 0; i < n; i++) x[i] = c[i].v[b];
        GEODEC_TRY(geodec_stats_median(n, x, &m.v[b], err));
    }
    *out = m;
done:
    geodec_mem_free(x);
    return st;
}

void geodec_bench_timing_free(geodec_bench_timing *s)
{
    if (!s) return;
    geodec_mem_free(s->row);
    *s = (geodec_bench_timing){0};
}

/* Prompts alternate between two folds. The forecast for the prompts of one fold uses only the costs, pass lengths and
 * acceptance of the other fold. */
enum { FOLDS = 2, RUNS = 2 };
typedef struct fold {
    geodec_decode_counters *sum, plain; /* sum [rows] over all runs of the fold's prompts */
    int64_t prompts;
    geodec_cost cost, loop[2]; /* as in geodec_bench_timing, for these prompts */
} fold;

/* Results by prompt. */
typedef struct timed {
    double *ratio;    /* [rows][prompts] tok/s relative to plain, mean of the runs */
    outcome *outcome; /* [rows][prompts] input of the closed form, from the last run */
} timed;

/* Runs plain, row 0, plain, row 1, .. on one prompt; the ratio of a row is its tok/s divided by that of the plain runs
 * before and after it. */
static geodec_status time_prompt(const geodec_bench_plan *plan, const geodec_target *target, int64_t prompt,
                                 const geodec_bench_timing *s, const bench_drafters *drafters, geodec_adapt *memory,
                                 fold *h, const timed *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t *ids = plan->prompts->token + plan->prompts->offset[prompt];
    const int64_t n = plan->prompts->offset[prompt + 1] - plan->prompts->offset[prompt];
    geodec_decoded plain = {0}, got = {0};
    geodec_decode_options o_plain = geodec__bench_options(plan, false, prompt, 0, 0);
    o_plain.clock = geodec_clock_thread_seconds;
    double before = 0, during = 0;
    for (int64_t r = 0; r <= s->n; r++) {
        geodec_decode_free(&plain);
        GEODEC_TRY(geodec_decode(target, ids, n, NULL, &o_plain, &plain, err));
        geodec_decode_counters_add(&h->plain, &plain.counters);
        const double now = rate((double)plain.counters.decided, decode_seconds(&plain.counters));
        if (r > 0)
            out->ratio[prompt + (r - 1) * s->prompts] +=
                0.5 * (before + now) > 0 ? during / (0.5 * (before + now)) / RUNS : NAN;
        before = now;
        if (r == s->n) break;
        const geodec_bench_timing_row *row = &s->row[r];
        geodec_drafter *d = drafters->d[row->drafter];
        if (geodec__bench_oracle_is(d)) geodec__bench_oracle_set(d, &plain);
        geodec_decode_options o = geodec__bench_options(plan, false, prompt, 0, row->gamma);
        o.budget = row->budget;
        o.adaptive = row->adaptive;
        o.memory = &memory[r];
        o.cost = s->cost;
        o.clock = geodec_clock_thread_seconds;
        GEODEC_TRY(geodec_decode(target, ids, n, d, &o, &got, err));
        geodec_decode_counters_add(&h->sum[r], &got.counters);
        out->outcome[prompt + r * s->prompts] = outcome_of(row, &got.counters);
        during = rate((double)got.counters.decided, decode_seconds(&got.counters));
        geodec_decode_free(&got);
    }
done:
    geodec_decode_free(&plain);
    geodec_decode_free(&got);
    return st;
}

/* The one-row pass of plain decoding; pass_cost keeps the ratios of the separate measurement. */
static void cost_in_the_loop(geodec_cost *cost, const geodec_decode_counters *plain)
{
    cost->seconds = plain->verify_seconds / (double)plain->target_passes;
    cost->o_plain = (decode_seconds(plain) - plain->verify_seconds) / (double)plain->rounds / cost->seconds;
}

/* Costs of the fold from the idle measurements at its prompts and from its passes. quiet: [prompts of all folds]. */
static geodec_status fold_costs(fold *h, int which, const geodec_bench_timing *s, const geodec_cost *quiet,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_cost *of = NULL;
    GEODEC_NEW(of, s->prompts);
    h->prompts = 0;
    for (int64_t i = which; i < s->prompts; i += FOLDS) of[h->prompts++] = quiet[i];
    if (h->prompts == 0) goto done;
    GEODEC_TRY(median_cost(of, h->prompts, &h->cost, err));
    cost_in_the_loop(&h->cost, &h->plain);
    for (int trees = 0; trees < 2; trees++) h->loop[trees] = loop_cost(&h->cost, s, h->sum, trees);
done:
    geodec_mem_free(of);
    return st;
}

/* The closed form of one prompt. */
static double closed_form(const geodec_bench_timing_row *row, const fold *from, int64_t r, const outcome *x)
{
    const geodec_decode_counters *sum = &from->sum[r];
    geodec_cost cost = from->loop[row->budget > 0];
    const double ask = sum->asks > 0 ? sum->draft_seconds / (double)sum->asks / cost.seconds : 0;
    cost.c = 0; /* per ask, not per draft: equal when every round asks for the same number */
    cost.o = other_seconds(sum) / cost.seconds + ask * x->asks;
    return x->tokens * (1 + cost.o_plain) /
           geodec_predict_round(&cost, x->length, row->budget > 0 ? row->budget : row->gamma);
}

/* Forecasts of the median speed-up of each fold from the prompts of the other, combined by the sizes of the folds. NaN
 * when a fold has no prompt. */
static geodec_status forecast(geodec_bench_timing_row *row, int64_t r, const geodec_bench_timing *s, const fold *h,
                              const timed *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_cost textbook = geodec_cost_linear(0);
    double *x = NULL, predicted = 0, error = 0, free_of_cost = 0;
    GEODEC_NEW(x, s->prompts);
    row->predicted = row->forecast_error = row->predicted_textbook = (double)NAN;
    if (s->prompts < FOLDS) goto done;
    for (int f = 0; f < FOLDS; f++) {
        const fold *from = &h[1 - f];
        const double share = (double)h[f].prompts / (double)s->prompts;
        double foretold, measured;
        int64_t n = 0;
        for (int64_t i = 1 - f; i < s->prompts; i += FOLDS)
            x[n++] = closed_form(row, from, r, &t->outcome[i + r * s->prompts]);
        GEODEC_TRY(geodec_stats_median(n, x, &foretold, err));
        n = 0;
        for (int64_t i = f; i < s->prompts; i += FOLDS) x[n++] = t->ratio[i + r * s->prompts];
        GEODEC_TRY(geodec_stats_median(n, x, &measured, err));
        predicted += share * foretold;
        error += share * (foretold / measured - 1);
        free_of_cost +=
            share * geodec_predict_speedup(
                        &textbook, geodec_predict_tokens(geodec_decode_acceptance(&from->sum[r].total), row->gamma),
                        row->gamma);
    }
    row->predicted = predicted;
    row->forecast_error = error;
    if (!row->adaptive && row->budget == 0) row->predicted_textbook = free_of_cost;
done:
    geodec_mem_free(x);
    return st;
}

/* Makes the rows from both folds; their sums are added to the first fold. */
static geodec_status finish_rows(const geodec_bench_plan *plan, geodec_bench_timing *s, fold *h, const timed *t,
                                 const geodec_cost *quiet, geodec_err *err)
{
    for (int f = 0; f < FOLDS; f++) GEODEC_PASS(fold_costs(&h[f], f, s, quiet, err));
    for (int64_t r = 0; r < s->n; r++) {
        GEODEC_PASS(median_interval(plan, t->ratio + r * s->prompts, s->prompts, &s->row[r].speedup, err));
        GEODEC_PASS(forecast(&s->row[r], r, s, h, t, err));
    }
    geodec_decode_counters_add(&h[0].plain, &h[1].plain);
    for (int64_t r = 0; r < s->n; r++) geodec_decode_counters_add(&h[0].sum[r], &h[1].sum[r]);
    GEODEC_PASS(median_cost(quiet, s->prompts, &s->cost, err));
    cost_in_the_loop(&s->cost, &h[0].plain);
    const double plain_rate = rate((double)h[0].plain.decided, decode_seconds(&h[0].plain));
    for (int trees = 0; trees < 2; trees++) s->loop[trees] = loop_cost(&s->cost, s, h[0].sum, trees);
    for (int64_t r = 0; r < s->n; r++) finish(&s->row[r], &h[0].sum[r], &s->cost, plain_rate);
    return GEODEC_OK;
}

geodec_status geodec_bench_speed(const geodec_bench_plan *plan, int64_t n_prompts, const geodec_target *target,
                                 geodec_bench_timing *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_bench_timing s = {0};
    bench_drafters drafters = {{NULL}};
    fold h[FOLDS] = {{.sum = NULL}};
    timed t = {NULL, NULL};
    geodec_adapt *memory = NULL;
    geodec_cost *costs = NULL;
    GEODEC_TRY(geodec__bench_check(plan, err));
    s.prompts = n_prompts < plan->prompts->n ? n_prompts : plan->prompts->n;
    if (s.prompts < 1) GEODEC_THROW(GEODEC_INVAL, "%lld timed prompts", (long long)n_prompts);
    int32_t rows = plan->gamma[plan->n_gammas - 1] + 1; /* of the widest pass */
    if (plan->n_budgets > 0 && plan->budget[plan->n_budgets - 1] >= rows) rows = plan->budget[plan->n_budgets - 1] + 1;
    GEODEC_NEW(s.row, (int64_t)plan->n_drafters * (plan->n_gammas + plan->n_budgets + 2));
    s.n = lay_rows(plan, s.row);
    GEODEC_NEW(memory, s.n);
    for (int f = 0; f < FOLDS; f++) GEODEC_NEW(h[f].sum, s.n);
    GEODEC_NEW_EACH(s.n * s.prompts, t.ratio, t.outcome);
    GEODEC_TRY(geodec__bench_drafters_open(plan, &drafters, err));
    GEODEC_NEW(costs, s.prompts);
    for (int64_t i = 0; i < s.prompts; i++) {
        GEODEC_TRY(geodec_hooks_progress(plan->hooks, "timing", i, s.prompts, err));
        /* Measured at every prompt, because the load of the machine changes v(b) too. */
        GEODEC_TRY(geodec_cost_measure(target, (int32_t)(plan->max_tokens / 2), rows, COST_REPEATS,
                                       geodec_clock_thread_seconds, &costs[i], err));
        s.cost = costs[i];
        for (int k = 0; k < RUNS; k++)
            GEODEC_TRY(time_prompt(plan, target, i, &s, &drafters, memory, &h[i % FOLDS], &t, err));
    }
    GEODEC_TRY(finish_rows(plan, &s, h, &t, costs, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_bench_timing_free(&s);
    geodec__bench_drafters_close(&drafters);
    for (int f = 0; f < FOLDS; f++) geodec_mem_free(h[f].sum);
    GEODEC_FREE(t.ratio, t.outcome, memory, costs);
    return st;
}
