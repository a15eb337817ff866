#include "measure/bench_internal.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "decode/predict.h"
#include "linalg/stats.h"
#include "measure/margin.h"

#include <math.h>

geodec_status geodec__bench_check(const geodec_bench_plan *plan, geodec_err *err)
{
    if (plan->prompts->n < 1) GEODEC_FAIL(GEODEC_INVAL, "no prompts");
    if (plan->max_tokens < 1) GEODEC_FAIL(GEODEC_INVAL, "%lld tokens a prompt", (long long)plan->max_tokens);
    if (plan->n_drafters < 0 || plan->n_drafters > GEODEC_BENCH_DRAFTERS)
        GEODEC_FAIL(GEODEC_INVAL, "%d drafters, at most %d", plan->n_drafters, GEODEC_BENCH_DRAFTERS);
    if (plan->n_gammas < 1 || plan->n_gammas > GEODEC_BENCH_GAMMAS)
        GEODEC_FAIL(GEODEC_INVAL, "%d draft lengths, 1 to %d", plan->n_gammas, GEODEC_BENCH_GAMMAS);
    for (int32_t i = 0; i < plan->n_gammas; i++)
        if (plan->gamma[i] < 1 || plan->gamma[i] > GEODEC_BENCH_GAMMA ||
            (i > 0 && plan->gamma[i] <= plan->gamma[i - 1]))
            GEODEC_FAIL(GEODEC_INVAL, "draft lengths must rise within 1..%d", GEODEC_BENCH_GAMMA);
    if (plan->n_budgets < 0 || plan->n_budgets > GEODEC_BENCH_GAMMAS)
        GEODEC_FAIL(GEODEC_INVAL, "%d tree budgets, at most %d", plan->n_budgets, GEODEC_BENCH_GAMMAS);
    for (int32_t i = 0; i < plan->n_budgets; i++)
        if (plan->budget[i] < 1 || plan->budget[i] > GEODEC_DRAFT_MAX ||
            (i > 0 && plan->budget[i] <= plan->budget[i - 1]))
            GEODEC_FAIL(GEODEC_INVAL, "tree budgets must rise within 1..%d", GEODEC_DRAFT_MAX);
    if (!plan->greedy && !plan->sampled) GEODEC_FAIL(GEODEC_INVAL, "neither greedy nor sampled rows are requested");
    if (plan->sampled && plan->n_seeds < 1) GEODEC_FAIL(GEODEC_INVAL, "%d seeds", plan->n_seeds);
    if (plan->resamples < 1) GEODEC_FAIL(GEODEC_INVAL, "%d bootstrap resamples", plan->resamples);
    return GEODEC_OK;
}

geodec_decode_options geodec__bench_options(const geodec_bench_plan *plan, bool sampled, int64_t prompt, int32_t seed,
                                            int32_t gamma)
{
    geodec_decode_options o = geodec_decode_options_default();
    o.max_tokens = plan->max_tokens;
    o.min_tokens = plan->min_tokens;
    o.stop = plan->stop;
    o.n_stop = plan->n_stop;
    o.gamma = gamma;
    if (sampled) {
        o.sampling = plan->sampling;
        o.sampling.seed = geodec_rng_at(plan->seed, geodec_rng_id("bench-request", (uint64_t)prompt), (uint64_t)seed);
    }
    return o;
}

/* Counts of one prompt in one row. */
typedef struct cell {
    int64_t compared, mismatches, decided, passes, prompt_passes, rounds, proposed, accepted;
    geodec_tally position[GEODEC_BENCH_GAMMA];
    geodec_tally confidence[GEODEC_CONFIDENCE_BINS];
    double confidence_sum[GEODEC_CONFIDENCE_BINS];
} cell;

static void tally_add(geodec_tally *a, const geodec_tally *b)
{
    a->proposed += b->proposed;
    a->reached += b->reached;
    a->accepted += b->accepted;
    a->rejected += b->rejected;
}

static void cell_add(cell *x, const geodec_decode_counters *c, int32_t gamma)
{
    x->decided += c->decided;
    x->passes += c->target_passes;
    x->prompt_passes += c->prompt_passes;
    x->rounds += c->rounds;
    for (int32_t i = 0; i < gamma; i++) {
        tally_add(&x->position[i], &c->position[i]);
        x->proposed += c->position[i].proposed;
        x->accepted += c->position[i].accepted;
    }
    for (int i = 0; i < GEODEC_CONFIDENCE_BINS; i++) {
        tally_add(&x->confidence[i], &c->confidence[i]);
        x->confidence_sum[i] += c->confidence_sum[i];
    }
}

int64_t geodec__bench_differences(const geodec_decoded *a, const geodec_decoded *b, int64_t *first)
{
    const int64_t shorter = a->n < b->n ? a->n : b->n, longer = a->n < b->n ? b->n : a->n;
    int64_t count = longer - shorter, same = shorter;
    for (int64_t i = shorter - 1; i >= 0; i--)
        if (a->token[i] != b->token[i]) {
            count++;
            same = i;
        }
    if (first) *first = same;
    return count;
}

static int64_t mismatches(const geodec_decoded *got, const geodec_decoded *plain)
{
    return geodec__bench_differences(got, plain, NULL) + (got->end != plain->end || got->stop != plain->stop);
}

typedef struct worker {
    const geodec_target *target;
    geodec_faulty faulty;
    geodec_target verifier; /* verifies drafts: the target, or the target with the plan's fault */
    bench_drafters drafters;
    geodec_drafter *probe;
} worker;

typedef struct job {
    const geodec_bench_plan *plan;
    geodec_bench_row *row; /* [n_rows] drafter, gamma, mode set */
    int64_t n_rows;
    cell *cell; /* [prompts][n_rows] */
    worker *workers;
} job;

/* Order of the rows: sampled (no, yes) x drafter x (gammas in the loop, then trees, then both at every position). */
static int64_t lay_rows(const geodec_bench_plan *p, geodec_bench_row *row)
{
    int64_t n = 0;
    for (int sampled = p->greedy ? 0 : 1; sampled <= p->sampled; sampled++)
        for (int32_t d = 0; d < p->n_drafters; d++)
            for (int every = 0; every < (p->loop_only || geodec_bench_knows(&p->drafter[d]) ? 1 : 2); every++)
                for (int32_t k = 0; k < p->n_gammas + p->n_budgets; k++)
                    row[n++] = (geodec_bench_row){.drafter = d,
                                                  .gamma = k < p->n_gammas ? p->gamma[k] : GEODEC_BENCH_GAMMA,
                                                  .budget = k < p->n_gammas ? 0 : p->budget[k - p->n_gammas],
                                                  .sampled = sampled,
                                                  .every_position = every};
    return n;
}

/* Every row of one drafter and one request; c [n_rows]. */
static geodec_status run_drafter(const job *j, worker *w, int32_t d, bool sampled, int64_t prompt, int32_t seed,
                                 const geodec_decoded *plain, cell *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_bench_plan *p = j->plan;
    const int32_t *ids = p->prompts->token + p->prompts->offset[prompt];
    const int64_t n = p->prompts->offset[prompt + 1] - p->prompts->offset[prompt];
    geodec_drafter *drafter = w->drafters.d[d];
    geodec_decoded got = {0};
    if (geodec__bench_oracle_is(drafter)) geodec__bench_oracle_set(drafter, plain);
    for (int64_t r = 0; r < j->n_rows; r++) {
        const geodec_bench_row *row = &j->row[r];
        if (row->drafter != d || row->sampled != sampled || row->every_position) continue;
        geodec_decode_options o = geodec__bench_options(p, sampled, prompt, seed, row->gamma);
        o.budget = row->budget;
        GEODEC_TRY(geodec_decode(&w->verifier, ids, n, drafter, &o, &got, err));
        /* A stochastic drafter gives different tokens of the same distribution. */
        if (!sampled || !drafter->ops->distribution) {
            c[r].compared += got.n > plain->n ? got.n : plain->n;
            c[r].mismatches += mismatches(&got, plain);
        }
        cell_add(&c[r], &got.counters, row->gamma);
        geodec_decode_free(&got);
    }
    if (p->loop_only || geodec__bench_oracle_is(drafter) || (sampled && drafter->ops->distribution)) goto done;
    /* One run of plain decoding serves all rows with the setting "every position". */
    const geodec_decode_options o = geodec__bench_options(p, sampled, prompt, seed, 1);
    geodec__bench_probe_set(w->probe, drafter);
    GEODEC_TRY(geodec_decode(w->target, ids, n, w->probe, &o, &got, err));
    const geodec_decode_counters passes = {.target_passes = got.counters.target_passes,
                                           .prompt_passes = got.counters.prompt_passes,
                                           .decided = got.counters.decided};
    geodec_decode_counters chain = passes;
    geodec__bench_probe_tally(w->probe, &got, &chain);
    for (int64_t r = 0; r < j->n_rows; r++) {
        const geodec_bench_row *row = &j->row[r];
        if (row->drafter != d || row->sampled != sampled || !row->every_position) continue;
        geodec_decode_counters tree = passes;
        if (row->budget > 0) geodec__bench_probe_tally_tree(w->probe, &got, row->budget, &tree);
        /* No drafts were sent, so equality is not counted as evidence; a difference is counted. */
        c[r].mismatches += mismatches(&got, plain);
        cell_add(&c[r], row->budget > 0 ? &tree : &chain, row->gamma);
    }
done:
    geodec_decode_free(&got);
    return st;
}

static geodec_status run_prompt(void *ctx, int64_t prompt, int which, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *j = ctx;
    worker *w = &j->workers[which];
    const geodec_bench_plan *p = j->plan;
    geodec_decoded plain = {0};
    for (int sampled = 0; sampled < 2; sampled++) {
        if (sampled ? !p->sampled : !p->greedy) continue;
        for (int32_t seed = 0; seed < (sampled ? p->n_seeds : 1); seed++) {
            const geodec_decode_options o = geodec__bench_options(p, sampled, prompt, seed, 0);
            GEODEC_TRY(geodec_decode(w->target, p->prompts->token + p->prompts->offset[prompt],
                                     p->prompts->offset[prompt + 1] - p->prompts->offset[prompt], NULL, &o, &plain,
                                     err));
            for (int32_t d = 0; d < p->n_drafters; d++)
                GEODEC_TRY(run_drafter(j, w, d, sampled, prompt, seed, &plain, j->cell + prompt * j->n_rows, err));
            geodec_decode_free(&plain);
        }
    }
done:
    geodec_decode_free(&plain);
    return st;
}

/* Ratio of two counts of a row, by their offsets in a cell, with its interval over prompts. */
static geodec_status ratio(const job *j, int64_t r, size_t top, size_t bottom, geodec_estimate *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_bench_plan *p = j->plan;
    const int64_t n = p->prompts->n;
    double *x = NULL; /* numerators, denominators */
    GEODEC_NEW(x, 2 * n);
    for (int64_t i = 0; i < n; i++) {
        const char *c = (const char *)&j->cell[i * j->n_rows + r];
        x[i] = (double)*(const int64_t *)(const void *)(c + top);
        x[n + i] = (double)*(const int64_t *)(const void *)(c + bottom);
    }
    GEODEC_TRY(geodec_stats_ratio(n, x, x + n, p->resamples, p->seed, geodec_rng_id("bench-bootstrap", 0), out, err));
done:
    geodec_mem_free(x);
    return st;
}

/* Sums the prompts of a row in order and adds the intervals. */
static geodec_status summarise(const job *j, int64_t r, geodec_err *err)
{
    geodec_bench_row *row = &j->row[r];
    int64_t reached = 0, accepted = 0;
    double beta[GEODEC_BENCH_GAMMA] = {0};
    for (int64_t i = 0; i < j->plan->prompts->n; i++) {
        const cell *c = &j->cell[i * j->n_rows + r];
        row->compared += c->compared;
        row->mismatches += c->mismatches;
        row->decided += c->decided;
        row->passes += c->passes;
        row->prompt_passes += c->prompt_passes;
        row->rounds += c->rounds;
        for (int g = 0; g < GEODEC_BENCH_GAMMA; g++) tally_add(&row->position[g], &c->position[g]);
        for (int b = 0; b < GEODEC_CONFIDENCE_BINS; b++) {
            tally_add(&row->confidence[b], &c->confidence[b]);
            row->claimed[b] += c->confidence_sum[b];
        }
    }
    for (int b = 0; b < GEODEC_CONFIDENCE_BINS; b++)
        row->claimed[b] = row->confidence[b].reached > 0 ? row->claimed[b] / (double)row->confidence[b].reached : 0;
    for (size_t g = 0; g < GEODEC_BENCH_GAMMA; g++) {
        const size_t at = offsetof(cell, position) + g * sizeof(geodec_tally);
        GEODEC_PASS(ratio(j, r, at + offsetof(geodec_tally, accepted), at + offsetof(geodec_tally, reached),
                          &row->acceptance[g], err));
        beta[g] = geodec_decode_acceptance(&row->position[g]);
        reached += row->position[g].reached;
        accepted += row->position[g].accepted;
    }
    GEODEC_PASS(ratio(j, r, offsetof(cell, accepted), offsetof(cell, rounds), &row->mean_accepted, err));
    GEODEC_PASS(ratio(j, r, offsetof(cell, accepted), offsetof(cell, proposed), &row->accepted_share, err));
    row->tokens_per_pass = (geodec_estimate){NAN, NAN, NAN};
    if (!row->every_position)
        GEODEC_PASS(ratio(j, r, offsetof(cell, decided), offsetof(cell, passes), &row->tokens_per_pass, err));
    row->tokens_closed_form = geodec_predict_tokens(reached > 0 ? (double)accepted / (double)reached : 0, row->gamma);
    row->tokens_by_position = geodec_predict_tokens_by_position(beta, row->gamma);
    return GEODEC_OK;
}

void geodec_bench_counts_free(geodec_bench_counts *c)
{
    if (!c) return;
    GEODEC_FREE(c->row, c->accepted, c->rounds, c->decided, c->passes);
    *c = (geodec_bench_counts){0};
}

geodec_status geodec_bench_count(const geodec_bench_plan *plan, const geodec_target *target, int32_t n_targets,
                                 geodec_pool *pool, geodec_bench_counts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    job j = {.plan = plan};
    geodec_bench_counts by = {0};
    int32_t opened = 0;
    GEODEC_TRY(geodec__bench_check(plan, err));
    if (n_targets < geodec_pool_threads(pool))
        GEODEC_THROW(GEODEC_INVAL, "%d targets for %d workers", n_targets, geodec_pool_threads(pool));
    const int64_t n = plan->prompts->n;
    GEODEC_NEW(j.row, 4 * (int64_t)plan->n_drafters * (plan->n_gammas + plan->n_budgets));
    j.n_rows = lay_rows(plan, j.row);
    GEODEC_NEW(j.cell, n * j.n_rows);
    GEODEC_NEW(j.workers, n_targets);
    for (; opened < n_targets; opened++) {
        worker *w = &j.workers[opened];
        w->target = &target[opened];
        w->verifier = target[opened];
        if (plan->fault != GEODEC_FAULT_NONE)
            geodec_faults_target(&w->faulty, w->target, plan->fault, geodec_margin_all[GEODEC_MARGINS - 1],
                                 &w->verifier);
        GEODEC_TRY(geodec__bench_drafters_open(plan, &w->drafters, err));
        GEODEC_TRY(geodec__bench_probe_create(plan->max_tokens, plan->gamma[plan->n_gammas - 1],
                                              plan->n_budgets > 0 ? plan->budget[plan->n_budgets - 1] : 0, &w->probe,
                                              err));
    }
    GEODEC_TRY(geodec__tasks_run_workers(pool, plan->hooks, "prompt", n, run_prompt, &j, err));
    for (int64_t r = 0; r < j.n_rows; r++) GEODEC_TRY(summarise(&j, r, err));
    GEODEC_NEW_EACH(j.n_rows * n, by.accepted, by.rounds, by.decided, by.passes);
    for (int64_t r = 0; r < j.n_rows; r++)
        for (int64_t i = 0; i < n; i++) {
            const cell *c = &j.cell[i * j.n_rows + r];
            by.accepted[r * n + i] = c->accepted;
            by.rounds[r * n + i] = c->rounds;
            by.decided[r * n + i] = c->decided;
            by.passes[r * n + i] = c->passes;
        }
    by.row = j.row;
    by.n = j.n_rows;
    by.prompts = n;
    j.row = NULL;
    GEODEC_MOVE(*out, by);
done:
    geodec_bench_counts_free(&by);
    for (int32_t i = 0; j.workers && i < n_targets; i++) {
        geodec__bench_drafters_close(&j.workers[i].drafters);
        geodec_drafter_destroy(j.workers[i].probe);
    }
    GEODEC_FREE(j.row, j.cell, j.workers);
    return st;
}
