#include "measure/bench_internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/stats.h"

#include <math.h>

enum { COST_REPEATS = 3 };

/* Median with a percentile bootstrap over prompts. */
static geodec_status median_interval(const geodec_bench_plan *plan, const double *x, int64_t n, geodec_interval *out,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *sample = NULL, *value = NULL;
    int64_t *index = NULL;
    GEODEC_NEW(sample, n);
    GEODEC_NEW(value, plan->resamples);
    GEODEC_NEW(index, n);
    geodec_interval v;
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
    geodec_mem_free(sample);
    geodec_mem_free(value);
    geodec_mem_free(index);
    return st;
}

static double decode_seconds(const geodec_decode_counters *c) { return c->total_seconds - c->prompt_seconds; }

static double rate(double tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0; }

static int64_t lay_rows(const geodec_bench_plan *p, geodec_speed_row *row)
{
    int64_t n = 0;
    const int32_t longest = p->gamma[p->n_gammas - 1];
    for (int32_t d = 0; d < p->n_drafters; d++) {
        for (int32_t g = 0; g < p->n_gammas; g++, n++)
            if (row) row[n] = (geodec_speed_row){.drafter = d, .gamma = p->gamma[g]};
        for (int32_t b = 0; b < p->n_budgets; b++, n++)
            if (row) row[n] = (geodec_speed_row){.drafter = d, .gamma = GEODEC_BENCH_GAMMA, .budget = p->budget[b]};
        if (row) row[n] = (geodec_speed_row){.drafter = d, .gamma = longest, .adaptive = true};
        n++;
        if (p->n_budgets == 0) continue;
        if (row)
            row[n] = (geodec_speed_row){
                .drafter = d, .gamma = GEODEC_BENCH_GAMMA, .budget = p->budget[p->n_budgets - 1], .adaptive = true};
        n++;
    }
    return n;
}

/* What the prediction of one row and one prompt takes from the runs that are measured: counts, no times. */
typedef struct outcome {
    double tokens; /* a round, from the acceptance of each position */
    double asks;   /* a round */
    int64_t length[GEODEC_DRAFT_MAX + 1];
} outcome;

/* Position i follows when i drafts were accepted; a draft that was not there counts as one that failed. */
static outcome outcome_of(const geodec_speed_row *row, const geodec_decode_counters *c)
{
    double beta[GEODEC_BENCH_GAMMA] = {0};
    int64_t before = c->rounds;
    for (int32_t i = 0; i < row->gamma; i++) {
        beta[i] = before > 0 ? (double)c->position[i].accepted / (double)before : 0;
        before = c->position[i].accepted;
    }
    outcome x = {.tokens = geodec_predict_tokens_by_position(beta, row->gamma),
                 .asks = c->rounds > 0 ? (double)c->asks / (double)c->rounds : 0};
    for (int32_t g = 0; g <= GEODEC_DRAFT_MAX; g++) x.length[g] = c->length[g];
    return x;
}

/* v(b) as the loop met it: the mean of all passes of that width, chains (or trees) of all rows; where there were few,
 * the quiet one times their common ratio. */
static geodec_cost loop_cost(const geodec_cost *quiet, const geodec_speed *s, const geodec_decode_counters *sum,
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

/* Fills a row from the runs that its prediction is made of, and from those that are measured. */
static void finish(geodec_speed_row *row, const geodec_decode_counters *fit, const geodec_decode_counters *measured,
                   const geodec_cost *cost, double plain_rate)
{
    const double other = decode_seconds(fit) - fit->draft_seconds - fit->verify_seconds;
    row->tok_per_s = rate((double)measured->decided, decode_seconds(measured));
    row->plain_tok_per_s = plain_rate;
    row->tokens_per_pass = geodec_tokens_per_pass(measured);
    row->c = fit->total.proposed > 0 ? fit->draft_seconds / (double)fit->total.proposed / cost->seconds : 0;
    row->o = fit->rounds > 0 ? other / (double)fit->rounds / cost->seconds : 0;
    const geodec_cost textbook = geodec_cost_linear(0);
    row->predicted_textbook =
        row->adaptive || row->budget > 0
            ? (double)NAN
            : geodec_predict_speedup(&textbook, geodec_predict_tokens(geodec_tally_acceptance(&fit->total), row->gamma),
                                     row->gamma);
}

/* The closed form for each prompt, and their median, as the speed-up is one. */
static geodec_status predict(geodec_speed_row *row, const geodec_decode_counters *fit, const outcome *x, int64_t n,
                             const geodec_cost *loop, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *speedup = NULL;
    geodec_cost cost = *loop;
    GEODEC_NEW(speedup, n);
    cost.c = 0; /* by the ask, not by the draft: the same where every round asks for as many */
    const double ask = fit->asks > 0 ? fit->draft_seconds / (double)fit->asks / cost.seconds : 0;
    for (int64_t i = 0; i < n; i++) {
        cost.o = row->o + ask * x[i].asks;
        speedup[i] = x[i].tokens * (1 + cost.o_plain) /
                     geodec_predict_round(&cost, x[i].length, row->budget > 0 ? row->budget : row->gamma);
    }
    GEODEC_TRY(geodec_stats_median(n, speedup, &row->predicted, err));
done:
    geodec_mem_free(speedup);
    return st;
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

void geodec_speed_free(geodec_speed *s)
{
    if (!s) return;
    geodec_mem_free(s->row);
    *s = (geodec_speed){0};
}

/* Each prompt is timed twice: all times of the prediction are of the first runs, and the second ones are measured. */
typedef struct half {
    geodec_decode_counters *sum, plain; /* sum [rows] */
    double *ratio;                      /* [rows][prompts] */
    outcome *outcome;                   /* [rows][prompts] */
} half;

/* Plain, row 0, plain, row 1, .. of one prompt; ratio[r * stride] is row r's tok/s over that of its two neighbours. */
static geodec_status time_prompt(const geodec_bench_plan *plan, const geodec_target *target, int64_t prompt,
                                 const geodec_speed *s, const bench_drafters *drafters, geodec_gamma *memory, half *h,
                                 int64_t stride, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t *ids = plan->prompts->token + plan->prompts->offset[prompt];
    const int64_t n = plan->prompts->offset[prompt + 1] - plan->prompts->offset[prompt];
    geodec_decoded plain = {0}, got = {0};
    geodec_decode_options o_plain = geodec__bench_options(plan, false, prompt, 0, 0);
    o_plain.clock = geodec_clock_thread_seconds;
    double before = 0, during = 0;
    for (int64_t r = 0; r <= s->n; r++) {
        geodec_decoded_free(&plain);
        GEODEC_TRY(geodec_decode(target, ids, n, NULL, &o_plain, &plain, err));
        geodec_decode_counters_add(&h->plain, &plain.counters);
        const double now = rate((double)plain.counters.decided, decode_seconds(&plain.counters));
        if (r > 0)
            h->ratio[prompt + (r - 1) * stride] = 0.5 * (before + now) > 0 ? during / (0.5 * (before + now)) : NAN;
        before = now;
        if (r == s->n) break;
        const geodec_speed_row *row = &s->row[r];
        geodec_drafter *d = drafters->d[row->drafter];
        if (geodec__oracle_is(d)) geodec__oracle_set(d, &plain);
        geodec_decode_options o = geodec__bench_options(plan, false, prompt, 0, row->gamma);
        o.budget = row->budget;
        o.adaptive = row->adaptive;
        o.memory = &memory[r];
        o.cost = s->cost;
        o.clock = geodec_clock_thread_seconds;
        GEODEC_TRY(geodec_decode(target, ids, n, d, &o, &got, err));
        geodec_decode_counters_add(&h->sum[r], &got.counters);
        h->outcome[prompt + r * stride] = outcome_of(row, &got.counters);
        during = rate((double)got.counters.decided, decode_seconds(&got.counters));
        geodec_decoded_free(&got);
    }
done:
    geodec_decoded_free(&plain);
    geodec_decoded_free(&got);
    return st;
}

geodec_status geodec_bench_speed(const geodec_bench_plan *plan, int64_t n_prompts, const geodec_target *target,
                                 geodec_speed *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_speed s = {0};
    bench_drafters drafters = {{NULL}};
    half h[2] = {{.sum = NULL}};
    geodec_gamma *memory = NULL;
    geodec_cost *costs = NULL;
    GEODEC_TRY(geodec__bench_check(plan, err));
    s.prompts = n_prompts < plan->prompts->n ? n_prompts : plan->prompts->n;
    if (s.prompts < 1) GEODEC_THROW(GEODEC_INVAL, "%lld timed prompts", (long long)n_prompts);
    int32_t rows = plan->gamma[plan->n_gammas - 1] + 1; /* of the widest pass */
    if (plan->n_budgets > 0 && plan->budget[plan->n_budgets - 1] >= rows) rows = plan->budget[plan->n_budgets - 1] + 1;
    s.n = lay_rows(plan, NULL);
    GEODEC_NEW(s.row, s.n);
    lay_rows(plan, s.row);
    GEODEC_NEW(memory, s.n);
    for (int k = 0; k < 2; k++) {
        GEODEC_NEW(h[k].sum, s.n);
        GEODEC_NEW(h[k].ratio, s.n * s.prompts);
        GEODEC_NEW(h[k].outcome, s.n * s.prompts);
    }
    GEODEC_TRY(geodec__bench_drafters_open(plan, &drafters, err));
    GEODEC_NEW(costs, s.prompts);
    for (int64_t i = 0; i < s.prompts; i++) {
        GEODEC_TRY(geodec_hooks_progress(plan->hooks, "timing", i, s.prompts, err));
        /* Beside every prompt: what else the machine does changes v(b) as well. */
        GEODEC_TRY(geodec_cost_measure(target, (int32_t)(plan->max_tokens / 2), rows, COST_REPEATS,
                                       geodec_clock_thread_seconds, &costs[i], err));
        s.cost = costs[i];
        for (int k = 0; k < 2; k++)
            GEODEC_TRY(time_prompt(plan, target, i, &s, &drafters, memory, &h[k], s.prompts, err));
    }
    GEODEC_TRY(median_cost(costs, s.prompts, &s.cost, err));
    /* The one-row pass as plain decoding met it; pass_cost keeps the ratios of the quiet measurement. */
    const geodec_decode_counters *plain = &h[0].plain;
    s.cost.seconds = plain->verify_seconds / (double)plain->target_passes;
    s.cost.o_plain = (decode_seconds(plain) - plain->verify_seconds) / (double)plain->rounds / s.cost.seconds;
    const double plain_rate = rate((double)h[1].plain.decided, decode_seconds(&h[1].plain));
    for (int trees = 0; trees < 2; trees++) s.loop[trees] = loop_cost(&s.cost, &s, h[0].sum, trees);
    for (int64_t r = 0; r < s.n; r++) {
        GEODEC_TRY(median_interval(plan, h[1].ratio + r * s.prompts, s.prompts, &s.row[r].speedup, err));
        finish(&s.row[r], &h[0].sum[r], &h[1].sum[r], &s.cost, plain_rate);
        GEODEC_TRY(predict(&s.row[r], &h[0].sum[r], h[1].outcome + r * s.prompts, s.prompts,
                           &s.loop[s.row[r].budget > 0], err));
    }
    *out = s;
    s = (geodec_speed){0};
done:
    geodec_speed_free(&s);
    geodec__bench_drafters_close(&drafters);
    for (int k = 0; k < 2; k++) {
        geodec_mem_free(h[k].sum);
        geodec_mem_free(h[k].ratio);
        geodec_mem_free(h[k].outcome);
    }
    geodec_mem_free(memory);
    geodec_mem_free(costs);
    return st;
}
