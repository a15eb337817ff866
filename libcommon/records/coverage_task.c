#include "records/coverage_task.h"

#include "base/mem.h"
#include "base/rng.h"
#include "geometry/choose.h"
#include "geometry/spaces.h"
#include "geometry/tasks.h"
#include "geometry/vec.h"

#include <math.h>
#include <string.h>

enum { P = GEODEC_TASK_PREDICTIONS, Q = GEODEC_TASK_TOKENS, T = GEODEC_TASK_TOLERANCES };

typedef struct split {
    int64_t n, k, cached;
    const double *x, *state;
    const geodec_successors *next;
    const int64_t *order; /* points of this split: the first are cached */
    const geodec_rbf *field;
    int32_t commonest;
    uint64_t seed, stream;
    double (*error)[P]; /* [queries] */
    uint8_t (*token)[Q];
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
    const double *all = s->state, *after = s->next->coordinate;
    for (int64_t a = 0; a < k; a++) {
        const double own = all[h * k + a], truth = after[h * k + a], near = after[j * k + a], other = after[r * k + a];
        const double miss[P] = {near + own - all[j * k + a] - truth, near - truth, own - truth,
                                other + own - all[r * k + a] - truth, other - truth};
        for (int p = 0; p < P; p++) sum[p] += miss[p] * miss[p];
    }
    for (int p = 0; p < P; p++) s->error[i][p] = sqrt(sum[p]) / s->next->rms_step;
    if (s->next->argmax) {
        const int32_t says = s->next->argmax[h];
        s->token[i][0] = says == s->next->argmax[j];
        s->token[i][1] = says == s->next->argmax[r];
        s->token[i][2] = says == s->commonest;
    }
done:
    geodec_mem_free(g);
    return st;
}

/* The commonest token of the cache, the lowest of several. */
static int32_t commonest(const int32_t *argmax, const int64_t *order, int64_t cached)
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
    if (s->next->argmax) s->commonest = commonest(s->next->argmax, s->order, s->cached);
    GEODEC_TRY(geodec__tasks_run(pool, NULL, "held-out states", queries, query_task, s, err));
done:
    geodec_metric_clear(&m);
    geodec_rbf_destroy(field);
    geodec_mem_free(cache);
    return st;
}

void geodec_coverage_task_clear(geodec_coverage_task *t)
{
    geodec_mem_free(t->share);
    geodec_mem_free(t->error);
    geodec_mem_free(t->hit);
    geodec_mem_free(t->token);
    *t = (geodec_coverage_task){0};
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
                              .has_token = next->argmax != NULL};
    split s = {.n = n, .k = next->k, .x = x, .state = state, .next = next, .seed = o->seed};
    int64_t *known = NULL, *order = NULL, count = 0;
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX || next->points != points || next->known < 8 || !(next->rms_step > 0) ||
        o->n_shares < 1 || o->repeats < 1 || o->queries < 1)
        GEODEC_THROW(GEODEC_RANGE, "coverage by the task of %lld points with %lld next states", (long long)points,
                     (long long)next->known);
    GEODEC_NEW(t.share, t.shares);
    GEODEC_NEW(t.error, t.shares * P);
    GEODEC_NEW(t.hit, t.shares * P * T);
    GEODEC_NEW(t.token, t.shares * Q);
    GEODEC_NEW(known, next->known);
    GEODEC_NEW(order, next->known);
    GEODEC_NEW(s.error, o->queries);
    GEODEC_NEW(s.token, o->queries);
    memcpy(t.share, o->share, (size_t)t.shares * sizeof *t.share);
    for (int64_t i = 0; i < points; i++)
        if (next->has[i]) known[count++] = i;
    for (int64_t f = 0; f < t.shares; f++) {
        geodec_metric_options metric = o->metric;
        s.cached = (int64_t)floor(o->share[f] * (double)count + 0.5);
        const int64_t held = count - s.cached, queries = held < o->queries ? held : o->queries;
        if (metric.k == 0) metric.k = 2 * n > 16 ? 2 * n : 16;
        if (metric.k > s.cached - 1) metric.k = s.cached - 1;
        if (metric.k <= n || held < 1)
            GEODEC_THROW(GEODEC_RANGE, "%lld cached states are too few for a metric of dimension %lld",
                         (long long)s.cached, (long long)n);
        t.k = metric.k;
        const double one = 1 / (double)(queries * o->repeats);
        for (int64_t r = 0; r < o->repeats; r++) {
            GEODEC_TRY(
                geodec_hooks_progress(hooks, "coverage by the task", f * o->repeats + r, t.shares * o->repeats, err));
            s.stream = geodec_rng_id("coverage task", (uint64_t)(f * o->repeats + r));
            geodec__choose_order(o->seed, geodec_rng_id("coverage task split", (uint64_t)(f * o->repeats + r)), count,
                                 order);
            for (int64_t i = 0; i < count; i++) order[i] = known[order[i]];
            s.order = order;
            GEODEC_TRY(run_split(&s, queries, &metric, pool, err));
            for (int64_t i = 0; i < queries; i++) {
                for (int p = 0; p < P; p++) {
                    t.error[f * P + p] += s.error[i][p] * one;
                    for (int e = 0; e < T; e++) t.hit[(f * P + p) * T + e] += s.error[i][p] <= t.tolerance[e] ? one : 0;
                }
                for (int q = 0; q < Q; q++) t.token[f * Q + q] += s.token[i][q] * one;
            }
        }
    }
    *out = t;
    t = (geodec_coverage_task){0};
done:
    geodec_coverage_task_clear(&t);
    geodec_mem_free(known);
    geodec_mem_free(order);
    geodec_mem_free(s.error);
    geodec_mem_free(s.token);
    return st;
}

geodec_status geodec_coverage_task_write(const geodec_coverage_task *t, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_write(a, "/task/tolerance", t->tolerance, err));
    GEODEC_TRY(geodec_artifact_write(a, "/task/error", t->error, err));
    GEODEC_TRY(geodec_artifact_write(a, "/task/hit", t->hit, err));
    if (t->has_token) GEODEC_TRY(geodec_artifact_write(a, "/task/token", t->token, err));
done:
    return st;
}
