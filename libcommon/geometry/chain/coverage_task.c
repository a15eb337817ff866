#include "chain/coverage_task.h"
#include "chain/activations.h"

#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/space_closed.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { P = GEODEC_TASK_PREDICTIONS, Q = GEODEC_TASK_TOKENS, T = GEODEC_TASK_TOLERANCES, K = GEODEC_TASK_NATS };
enum { MARGINAL = 256 }; /* cached states whose distributions are averaged */

/* Means over the held-out states of a split. */
typedef struct split_figures {
    double error[P], hit[P][T], token[Q], kl[Q], kl_hit[Q][K];
} split_figures;

typedef struct split {
    int64_t n, k, cached;
    const double *x, *state;
    const geodec_successors *next;
    const int64_t *order; /* points of this split: the first are cached */
    const geodec_rbf *field;
    int32_t most_frequent;
    uint64_t seed, stream;
    double (*error)[P]; /* [queries] */
    uint8_t (*token)[Q];
    int64_t (*cache)[2]; /* [queries] the nearest and the random cached point */
    float *logits;       /* [V] scratch */
    double *log_p;       /* [3][V] */
} split;

static geodec_status query_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const split *s = ctx;
    const int64_t n = s->n, k = s->k, h = s->order[s->cached + i];
    const double *x = s->x + h * n;
    double *g = NULL, best = INFINITY, sum[P] = {0};
    int64_t j = s->order[0];
    GEODEC_NEW(g, n * n);
    const geodec_space *space = geodec_rbf_space(s->field);
    GEODEC_TRY(space->at(space, x, g, NULL, NULL, err));
    for (int64_t c = 0; c < s->cached; c++) {
        double v[GEODEC_SPACE_DIM_MAX];
        for (int64_t a = 0; a < n; a++) v[a] = x[a] - s->x[s->order[c] * n + a];
        const double d2 = geodec__norm2(n, g, v);
        if (d2 < best) best = d2, j = s->order[c];
    }
    const int64_t r = s->order[(int64_t)(geodec_rng_uniform_at(s->seed, s->stream, (uint64_t)i) * (double)s->cached)];
    s->cache[i][0] = j;
    s->cache[i][1] = r;
    const double *all = s->state, *after = s->next->coordinate;
    for (int64_t a = 0; a < k; a++) {
        const double own = all[h * k + a], truth = after[h * k + a], near = after[j * k + a], other = after[r * k + a];
        const double miss[P] = {near + own - all[j * k + a] - truth, near - truth, own - truth,
                                other + own - all[r * k + a] - truth, other - truth};
        for (int p = 0; p < P; p++) sum[p] += miss[p] * miss[p];
    }
    for (int p = 0; p < P; p++) s->error[i][p] = sqrt(sum[p]) / s->next->rms_step;
    if (s->next->argmax) {
        const int32_t own = s->next->argmax[h];
        s->token[i][0] = own == s->next->argmax[j];
        s->token[i][1] = own == s->next->argmax[r];
        s->token[i][2] = own == s->most_frequent;
    }
done:
    geodec_mem_free(g);
    return st;
}

/* The most frequent token of the cache; the lowest id wins ties. */
static int32_t most_frequent(const int32_t *argmax, const int64_t *order, int64_t cached)
{
    int32_t best = argmax[order[0]];
    int64_t most = 0;
    for (int64_t i = 0; i < cached; i++) {
        int64_t count = 0;
        const int32_t token = argmax[order[i]];
        for (int64_t c = 0; c < cached; c++) count += argmax[order[c]] == token;
        if (count > most || (count == most && token < best)) most = count, best = token;
    }
    return best;
}

/* ln of the mean distribution over the first cached points, [V]; scratch [V]. */
static geodec_status marginal(const split *s, double *log_mean, double *scratch, geodec_err *err)
{
    const int64_t V = s->next->vocabulary, count = s->cached < MARGINAL ? s->cached : MARGINAL;
    memset(log_mean, 0, (size_t)V * sizeof *log_mean);
    for (int64_t c = 0; c < count; c++) {
        GEODEC_PASS(geodec_successors_log_p(s->next, s->order[c], s->logits, scratch, err));
        for (int64_t v = 0; v < V; v++) log_mean[v] += exp(scratch[v]) / (double)count;
    }
    for (int64_t v = 0; v < V; v++) log_mean[v] = log(fmax(log_mean[v], DBL_MIN));
    return GEODEC_OK;
}

/* KL(p || q) from logarithms, clamped to at least 0 because of rounding. */
static double divergence(int64_t n, const double *log_p, const double *log_q)
{
    double kl = 0;
    for (int64_t v = 0; v < n; v++) kl += exp(log_p[v]) * (log_p[v] - log_q[v]);
    return fmax(kl, 0);
}

/* The model's distributions at the held-out states, compared with those at cached ones. Only one thread reads the
 * file. */
static geodec_status divergences(const split *s, int64_t queries, const double *tolerance, split_figures *f,
                                 geodec_err *err)
{
    const int64_t V = s->next->vocabulary;
    double *own = s->log_p, *other = own + V, *mean = other + V;
    GEODEC_PASS(marginal(s, mean, own, err));
    for (int64_t i = 0; i < queries; i++) {
        GEODEC_PASS(geodec_successors_log_p(s->next, s->order[s->cached + i], s->logits, own, err));
        for (int q = 0; q < Q; q++) {
            if (q < 2) GEODEC_PASS(geodec_successors_log_p(s->next, s->cache[i][q], s->logits, other, err));
            const double kl = divergence(V, own, q < 2 ? other : mean);
            f->kl[q] += kl / (double)queries;
            for (int e = 0; e < K; e++) f->kl_hit[q][e] += kl <= tolerance[e] ? 1 / (double)queries : 0;
        }
    }
    return GEODEC_OK;
}

static geodec_status run_split(split *s, int64_t queries, const geodec_metric_options *metric, geodec_pool *pool,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {0};
    geodec_rbf *field = NULL;
    double *cache = NULL;
    GEODEC_NEW(cache, s->cached * s->n);
    for (int64_t c = 0; c < s->cached; c++)
        memcpy(cache + c * s->n, s->x + s->order[c] * s->n, (size_t)s->n * sizeof *cache);
    GEODEC_TRY(geodec_metric_fit(s->cached, s->n, cache, metric, pool, NULL, &m, err));
    GEODEC_TRY(geodec_metric_field(&m, &field, err));
    s->field = field;
    if (s->next->argmax) s->most_frequent = most_frequent(s->next->argmax, s->order, s->cached);
    GEODEC_TRY(geodec__tasks_run(pool, NULL, "held-out states", queries, query_task, s, err));
done:
    geodec_metric_clear(&m);
    geodec_rbf_destroy(field);
    geodec_mem_free(cache);
    return st;
}

/* All splits: each task is a split that uses all threads. */
typedef struct experiment {
    split s;
    const geodec_coverage_options *o;
    geodec_coverage_task *t;
    geodec_pool *pool;
    int64_t count;          /* points with a next state */
    const int64_t *known;   /* [count] */
    int64_t *order;         /* [count] */
    split_figures *figures; /* [shares][repeats] */
} experiment;

/* The cached states of share f, the metric options for them, and the requested held-out states. */
static geodec_status plan(const experiment *x, int64_t f, int64_t *cached, int64_t *queries,
                          geodec_metric_options *metric, geodec_err *err)
{
    const int64_t n = x->s.n, held = x->count - (*cached = (int64_t)floor(x->o->share[f] * (double)x->count + 0.5));
    *metric = x->o->metric;
    *queries = held < x->o->queries ? held : x->o->queries;
    if (metric->k == 0) metric->k = 2 * n > 16 ? 2 * n : 16;
    if (metric->k > *cached - 1) metric->k = *cached - 1;
    if (metric->k <= n || held < 1)
        GEODEC_FAIL(GEODEC_SCARCE, "%lld cached and %lld held-out states; a metric in %lld dimensions needs %lld and 1",
                    (long long)*cached, (long long)held, (long long)n, (long long)n + 2);
    return GEODEC_OK;
}

static geodec_status split_task(void *ctx, int64_t task, geodec_err *err)
{
    experiment *x = ctx;
    split *s = &x->s;
    geodec_metric_options metric;
    int64_t queries;
    split_figures *f = &x->figures[task];
    GEODEC_PASS(plan(x, task / x->o->repeats, &s->cached, &queries, &metric, err));
    s->stream = geodec_rng_id("coverage task", (uint64_t)task);
    geodec__choose_order(x->o->seed, geodec_rng_id("coverage task split", (uint64_t)task), x->count, x->order);
    for (int64_t i = 0; i < x->count; i++) x->order[i] = x->known[x->order[i]];
    s->order = x->order;
    GEODEC_PASS(run_split(s, queries, &metric, x->pool, err));
    const double one = 1 / (double)queries;
    for (int64_t i = 0; i < queries; i++) {
        for (int p = 0; p < P; p++) {
            f->error[p] += s->error[i][p] * one;
            for (int e = 0; e < T; e++) f->hit[p][e] += s->error[i][p] <= x->t->tolerance[e] ? one : 0;
        }
        for (int q = 0; q < Q; q++) f->token[q] += s->token[i][q] * one;
    }
    if (x->t->has_kl) GEODEC_PASS(divergences(s, queries, x->t->nats, f, err));
    return GEODEC_OK;
}

void geodec_coverage_task_clear(geodec_coverage_task *t)
{
    geodec_mem_free(t->share);
    *t = (geodec_coverage_task){0};
}

/* The mean over the splits of each share. */
static void mean_of_splits(const split_figures *figures, int64_t repeats, geodec_coverage_task *t)
{
    const double one = 1 / (double)repeats;
    for (int64_t i = 0; i < t->shares * repeats; i++) {
        const split_figures *g = &figures[i];
        const int64_t f = i / repeats;
        for (int p = 0; p < P; p++) {
            t->error[f * P + p] += g->error[p] * one;
            for (int k = 0; k < T; k++) t->hit[(f * P + p) * T + k] += g->hit[p][k] * one;
        }
        for (int q = 0; q < Q; q++) {
            t->token[f * Q + q] += g->token[q] * one;
            t->kl[f * Q + q] += g->kl[q] * one;
            for (int k = 0; k < K; k++) t->kl_hit[(f * Q + q) * K + k] += g->kl_hit[q][k] * one;
        }
    }
}

geodec_status geodec_coverage_task_run(int64_t points, int64_t n, const double *x, const double *state,
                                       const geodec_successors *next, const geodec_coverage_options *o,
                                       geodec_pool *pool, const geodec_hooks *hooks, geodec_coverage_task *out,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_coverage_task t = {.shares = o->n_shares,
                              .known = next->known,
                              .n = n,
                              .tolerance = {0.1, 0.25, 0.5, 0.75, 1, 1.5, 2},
                              .has_token = next->argmax != NULL,
                              .has_kl = next->vocabulary > 0,
                              .nats = {0.01, 0.03, 0.1, 0.3, 1, 3}};
    experiment e = {.s = {.n = n, .k = next->k, .x = x, .state = state, .next = next, .seed = o->seed},
                    .o = o,
                    .t = &t,
                    .pool = pool};
    split *s = &e.s;
    int64_t *known = NULL;
    if (next->known < 8)
        GEODEC_THROW(GEODEC_SCARCE, "%lld states with a next one; coverage by the task needs at least 8",
                     (long long)next->known);
    if (!(next->rms_step > 0)) GEODEC_THROW(GEODEC_SCARCE, "no state differs from its next one");
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX || next->points != points || o->n_shares < 1 || o->repeats < 1 ||
        o->queries < 1)
        GEODEC_THROW(GEODEC_RANGE, "coverage by the task of %lld points with %lld next states", (long long)points,
                     (long long)next->known);
    GEODEC_NEW(t.share, t.shares * (1 + P + P * T + Q + Q + Q * K));
    t.error = t.share + t.shares;
    t.hit = t.error + t.shares * P;
    t.token = t.hit + t.shares * P * T;
    t.kl = t.token + t.shares * Q;
    t.kl_hit = t.kl + t.shares * Q;
    GEODEC_NEW_EACH(next->known, known, e.order);
    GEODEC_NEW(e.figures, t.shares * o->repeats);
    GEODEC_NEW_EACH(o->queries, s->error, s->token, s->cache);
    if (t.has_kl) {
        GEODEC_NEW(s->logits, next->vocabulary);
        GEODEC_NEW(s->log_p, 3 * next->vocabulary);
    }
    memcpy(t.share, o->share, (size_t)t.shares * sizeof *t.share);
    for (int64_t i = 0; i < points; i++)
        if (next->has[i]) known[e.count++] = i;
    e.known = known;
    for (int64_t f = 0; f < t.shares; f++) {
        geodec_metric_options metric;
        int64_t cached, queries;
        GEODEC_TRY(plan(&e, f, &cached, &queries, &metric, err));
        t.k = metric.k;
    }
    const geodec_sweep_result result = {e.figures, 1, (int64_t)sizeof *e.figures};
    GEODEC_TRY(geodec_sweep_run(o->sweep, NULL, hooks, "coverage by the task", t.shares * o->repeats, 1, split_task, &e,
                                &result, 1, err));
    if (!geodec_sweep_partial(o->sweep)) mean_of_splits(e.figures, o->repeats, &t);
    *out = t;
done:
    if (st != GEODEC_OK) geodec_coverage_task_clear(&t);
    GEODEC_FREE(known, e.order, e.figures, s->error, s->token, s->cache, s->logits, s->log_p);
    return st;
}

geodec_status geodec_coverage_task_write(const geodec_coverage_task *t, geodec_artifact *a, geodec_err *err)
{
    GEODEC_PASS(geodec_artifact_write(a, "/task/tolerance", t->tolerance, err));
    GEODEC_PASS(geodec_artifact_write(a, "/task/error", t->error, err));
    GEODEC_PASS(geodec_artifact_write(a, "/task/hit", t->hit, err));
    if (t->has_token) GEODEC_PASS(geodec_artifact_write(a, "/task/token", t->token, err));
    if (t->has_kl) {
        GEODEC_PASS(geodec_artifact_write(a, "/task/kl_tolerance", t->nats, err));
        GEODEC_PASS(geodec_artifact_write(a, "/task/kl", t->kl, err));
        GEODEC_PASS(geodec_artifact_write(a, "/task/kl_hit", t->kl_hit, err));
    }
    return GEODEC_OK;
}

geodec_status geodec_coverage_task_states(const geodec_cloud *cloud, int64_t n, const double *x,
                                          const geodec_artifact *states, const geodec_coverage_options *o,
                                          geodec_pool *pool, const geodec_hooks *hooks, geodec_coverage_task *t,
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_activations view;
    geodec_successors next = {0};
    GEODEC_TRY(geodec_activations_view(states, &view, err));
    GEODEC_TRY(geodec_successors_read(cloud, &view, pool, &next, err));
    GEODEC_TRY(geodec_coverage_task_run(cloud->points, n, x, cloud->coordinate, &next, o, pool, hooks, t, err));
done:
    geodec_successors_clear(&next);
    return st;
}

void geodec_coverage_task_say(const geodec_hooks *hooks, const geodec_coverage_task *t)
{
    for (int64_t s = 0; s < t->shares; s++) {
        const double *e = t->error + s * GEODEC_TASK_PREDICTIONS, *token = t->token + s * GEODEC_TASK_TOKENS;
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%2.0f %% cached: next state misses by %.2f rms steps (copied %.2f; state itself %.2f, random step %.2f, "
            "random successor %.2f); token equal %.1f %% (random %.1f %%, most frequent %.1f %%)",
            100 * t->share[s], e[0], e[1], e[2], e[3], e[4], 100 * token[0], 100 * token[1], 100 * token[2]);
        const double *kl = t->kl + s * GEODEC_TASK_TOKENS, *hit = t->kl_hit + s * GEODEC_TASK_TOKENS * GEODEC_TASK_NATS;
        const int at = GEODEC_TASK_NATS - 3; /* 0.3 nats */
        if (t->has_kl)
            geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                             "             KL of the next token: %.3g nats (random %.3g, mean of the cache %.3g); "
                             "within %g: %.1f %% (%.1f %%, %.1f %%)",
                             kl[0], kl[1], kl[2], t->nats[at], 100 * hit[at], 100 * hit[GEODEC_TASK_NATS + at],
                             100 * hit[2 * GEODEC_TASK_NATS + at]);
    }
}
