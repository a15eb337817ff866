#include "measure/drafts.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "decode/predict.h"
#include "measure/bench_internal.h"
#include "measure/draft_alone.h"

#include <math.h>
#include <string.h>

const double geodec_drafts_gates[GEODEC_GATES] = {0, 0.1, 0.25, 0.45, 0.65, 0.85};

static geodec_status check(const geodec_bench_plan *plan, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec__bench_check(plan, err));
    if (plan->max_tokens > GEODEC_DRAFT_MAX)
        GEODEC_THROW(GEODEC_INVAL, "%lld tokens a prompt: a drafter alone writes at most %d",
                     (long long)plan->max_tokens, GEODEC_DRAFT_MAX);
    for (int32_t d = 0; d < plan->n_drafters; d++)
        if (!plan->drafter[d].create) GEODEC_THROW(GEODEC_INVAL, "drafter %s cannot run alone", plan->drafter[d].name);
done:
    return st;
}

static void add_alone(geodec_alone_row *row, const geodec_decoded *alone, const geodec_decoded *plain)
{
    int64_t first;
    const int64_t longer = alone->n > plain->n ? alone->n : plain->n;
    row->agree += longer - geodec__bench_differences(alone, plain, &first);
    row->first += first;
    row->tokens += alone->n;
    row->passes += alone->counters.target_passes;
    row->plain += plain->n;
}

static void add_gate(geodec_gate_row *row, const geodec_decoded *got, const geodec_decoded *plain)
{
    const geodec_decode_counters *c = &got->counters;
    row->proposed += c->total.proposed;
    row->reached += c->total.reached;
    row->accepted += c->total.accepted;
    row->rounds += c->rounds;
    row->drafted += c->rounds - c->length[0];
    row->passes += c->target_passes;
    row->decided += c->decided;
    row->different += geodec__bench_differences(got, plain, NULL);
}

geodec_status geodec_drafts_first_stops(const geodec_target *target, const geodec_prompts *prompts, const int32_t *stop,
                                        int32_t n_stop, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_decoded got = {0};
    geodec_decode_options o = geodec_decode_options_default();
    int64_t stops = 0;
    o.max_tokens = 1;
    o.stop = stop;
    o.n_stop = n_stop;
    for (int64_t i = 0; i < prompts->n; i++) {
        const int64_t first = prompts->offset[i];
        GEODEC_TRY(geodec_decode(target, prompts->token + first, prompts->offset[i + 1] - first, NULL, &o, &got, err));
        stops += got.end == GEODEC_END_STOP;
        geodec_decode_free(&got);
    }
    *count = stops;
done:
    return st;
}

geodec_status geodec_drafts_count(const geodec_bench_plan *plan, const geodec_target *target, const uint8_t *class,
                                  geodec_drafts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bench_drafters drafters = {{NULL}};
    geodec_decoded plain = {0}, got = {0};
    memset(out, 0, sizeof *out);
    GEODEC_TRY(check(plan, err));
    GEODEC_TRY(geodec__bench_drafters_open(plan, &drafters, err));
    for (int64_t i = 0; i < plan->prompts->n; i++) {
        const int32_t *ids = plan->prompts->token + plan->prompts->offset[i];
        const int64_t n = plan->prompts->offset[i + 1] - plan->prompts->offset[i];
        GEODEC_TRY(geodec_hooks_progress(plan->hooks, "prompts", i, plan->prompts->n, err));
        geodec_decode_free(&plain);
        const geodec_decode_options o_plain = geodec__bench_options(plan, false, i, 0, 0);
        GEODEC_TRY(geodec_decode(target, ids, n, NULL, &o_plain, &plain, err));
        out->first_stop += plain.n == 0 && plain.end == GEODEC_END_STOP;
        for (int32_t d = 0; d < plan->n_drafters; d++) {
            geodec_decode_options o = geodec__bench_options(plan, false, i, 0, plan->gamma[plan->n_gammas - 1]);
            GEODEC_TRY(
                geodec_rejections_decode(target, ids, n, drafters.d[d], &o, class, &out->rejections[d], &got, err));
            geodec_decode_free(&got);
            GEODEC_TRY(geodec_draft_alone(target, ids, n, drafters.d[d], &o, &got, err));
            add_alone(&out->alone[d], &got, &plain);
            geodec_decode_free(&got);
            for (int g = 0; g < GEODEC_GATES; g++)
                for (int32_t k = 0; k < plan->n_gammas; k++) {
                    o.gate = geodec_drafts_gates[g];
                    o.gamma = plan->gamma[k];
                    GEODEC_TRY(geodec_decode(target, ids, n, drafters.d[d], &o, &got, err));
                    add_gate(&out->gate[d][g][k], &got, &plain);
                    geodec_decode_free(&got);
                }
        }
    }
done:
    geodec_decode_free(&plain);
    geodec_decode_free(&got);
    geodec__bench_drafters_close(&drafters);
    return st;
}

/* ---- speed ------------------------------------------------------------------------------------------------------ */

enum { COST_REPEATS = 3, RUNS = 1 + 2 * GEODEC_BENCH_DRAFTERS };

/* One run of a prompt: 0 = verifier, then for each drafter alone, both. */
static geodec_status time_run(const geodec_bench_plan *plan, const geodec_target *target, int64_t prompt, int32_t run,
                              geodec_drafter *drafter, const geodec_cost *cost, double *tokens, double *seconds,
                              geodec_decode_counters *sum, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_decoded got = {0};
    const int32_t *ids = plan->prompts->token + plan->prompts->offset[prompt];
    const int64_t n = plan->prompts->offset[prompt + 1] - plan->prompts->offset[prompt];
    geodec_decode_options o =
        geodec__bench_options(plan, false, prompt, 0, run == 0 ? 0 : plan->gamma[plan->n_gammas - 1]);
    o.clock = geodec_clock_thread_seconds;
    o.adaptive = run > 0 && run % 2 == 0;
    o.cost = *cost;
    if (run % 2 == 1)
        GEODEC_TRY(geodec_draft_alone(target, ids, n, drafter, &o, &got, err));
    else
        GEODEC_TRY(geodec_decode(target, ids, n, drafter, &o, &got, err));
    *tokens += (double)got.counters.decided;
    /* Of the drafter alone the drafting time; the model has only read the prompt. */
    *seconds += run % 2 == 1 ? got.counters.draft_seconds : got.counters.total_seconds - got.counters.prompt_seconds;
    geodec_decode_counters_add(sum, &got.counters);
done:
    geodec_decode_free(&got);
    return st;
}

/* Speed of both by the closed form, in tokens a second. */
static double predict(const geodec_decode_counters *c, const geodec_decode_counters *plain, geodec_cost cost,
                      int32_t gamma)
{
    const double unit = plain->verify_seconds / (double)plain->target_passes;
    const double other = c->total_seconds - c->prompt_seconds - c->draft_seconds - c->verify_seconds;
    cost.c = c->total.proposed > 0 ? c->draft_seconds / (double)c->total.proposed / unit : 0;
    cost.o = other / (double)c->rounds / unit;
    return geodec__bench_tokens(c, gamma) / (geodec_predict_round(&cost, c->length, gamma) * unit);
}

geodec_status geodec_drafts_time(const geodec_bench_plan *plan, int64_t n_prompts, int32_t repeats,
                                 const geodec_target *target, geodec_three_way *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bench_drafters drafters = {{NULL}};
    double *tokens = NULL, *seconds = NULL; /* [runs][prompts] */
    geodec_decode_counters *sum = NULL;     /* [runs] */
    geodec_three_way t = {.repeats = repeats};
    geodec_cost cost, total = {0};
    GEODEC_TRY(check(plan, err));
    t.prompts = n_prompts < plan->prompts->n ? n_prompts : plan->prompts->n;
    if (t.prompts < 1 || repeats < 1)
        GEODEC_THROW(GEODEC_INVAL, "%lld prompts, %d times, cannot be timed", (long long)n_prompts, repeats);
    const int32_t runs = 1 + 2 * plan->n_drafters, longest = plan->gamma[plan->n_gammas - 1];
    GEODEC_NEW_EACH((int64_t)RUNS * t.prompts, tokens, seconds);
    GEODEC_NEW(sum, RUNS);
    GEODEC_TRY(geodec__bench_drafters_open(plan, &drafters, err));
    for (int64_t i = 0; i < t.prompts; i++) {
        GEODEC_TRY(geodec_hooks_progress(plan->hooks, "timing", i, t.prompts, err));
        GEODEC_TRY(geodec_cost_measure(target, (int32_t)(plan->max_tokens / 2), longest + 1, COST_REPEATS,
                                       geodec_clock_thread_seconds, &cost, err));
        for (int32_t b = 1; b <= cost.n; b++) total.v[b] += cost.v[b] / (double)t.prompts;
        total.n = cost.n;
        for (int32_t k = 0; k < repeats; k++)
            for (int32_t r = 0; r < runs; r++)
                GEODEC_TRY(time_run(plan, target, i, r, r > 0 ? drafters.d[(r - 1) / 2] : NULL, &cost,
                                    &tokens[r * t.prompts + i], &seconds[r * t.prompts + i], &sum[r], err));
    }
    for (int32_t r = 0; r < runs; r++) {
        geodec_estimate e;
        GEODEC_TRY(geodec_stats_ratio(t.prompts, tokens + r * t.prompts, seconds + r * t.prompts, plan->resamples,
                                      plan->seed, geodec_rng_id("three-way", (uint64_t)r), &e, err));
        if (r == 0)
            t.verifier = e;
        else if (r % 2 == 1)
            t.alone[(r - 1) / 2] = e;
        else {
            t.both[(r - 1) / 2] = e;
            t.predicted[(r - 1) / 2] = predict(&sum[r], &sum[0], total, longest);
        }
    }
    *out = t;
done:
    geodec__bench_drafters_close(&drafters);
    GEODEC_FREE(tokens, seconds, sum);
    return st;
}
