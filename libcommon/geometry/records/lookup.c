#include "records/lookup.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "records/lookup_internal.h"

#include <math.h>
#include <string.h>

enum { FIRST = 8, KEEP_MAX = 64, EIGHT = 8 };

geodec_status geodec_lookup_create(int64_t records, int64_t n, const double *q, const float *g, geodec_lookup **out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_lookup *l = NULL;
    if (records < 1 || records > INT32_MAX || n < 1 || n > GEODEC_RBF_MAX_N)
        GEODEC_THROW(GEODEC_RANGE, "%lld records of dimension %lld", (long long)records, (long long)n);
    if (!geodec__finite(records * n, q)) GEODEC_THROW(GEODEC_NUMERIC, "an anchor is not finite");
    GEODEC_NEW(l, 1);
    *l = (geodec_lookup){.records = records, .n = n, .q = q, .g = g, .kernels = geodec__lookup_best()};
    GEODEC_TRY(geodec__lookup_pack(l, err));
    *out = l;
    l = NULL;
done:
    geodec_lookup_destroy(l);
    return st;
}

void geodec_lookup_destroy(geodec_lookup *l)
{
    if (!l) return;
    for (int i = 0; i < l->levels; i++) {
        GEODEC_FREE(l->level[i].lo, l->level[i].hi, l->level[i].w, l->level[i].v);
    }
    GEODEC_FREE(l->centre, l->index, l->anchor, l->factor, l->norm, l->minus, l);
}

/* ---- searches --------------------------------------------------------------------------------------------------- */

/* Sets the error of a search that found nothing. */
static geodec_status refuse(const geodec_lookup *l, const double *q, const double *g, geodec_err *err)
{
    const int64_t n = l->n;
    if (!g && !l->g) GEODEC_FAIL(GEODEC_INVAL, "neither the query nor the records have a metric");
    if (!geodec__finite(n, q)) GEODEC_FAIL(GEODEC_NUMERIC, "the query is not finite");
    if (g) {
        if (!geodec__finite(n * n, g)) GEODEC_FAIL(GEODEC_NUMERIC, "the metric at the query is not finite");
        geodec__lookup_bounds b;
        if (!l->kernels->bounds(n, g, &b))
            GEODEC_FAIL(GEODEC_NUMERIC, "the metric at the query is not positive definite");
    }
    GEODEC_FAIL(GEODEC_NUMERIC, "the distances overflow");
    return GEODEC_OK;
}

geodec_status geodec_lookup_nearest(const geodec_lookup *l, const double *q, const double *g, geodec_lookup_hit *hit,
                                    geodec_err *err)
{
    geodec_lookup_hit found = {-1, 0, 0};
    if (g || l->g) l->kernels->nearest(l, q, g, &found);
    if (found.index < 0) return refuse(l, q, g, err);
    *hit = found;
    return GEODEC_OK;
}

geodec_status geodec_lookup_many(const geodec_lookup *l, int64_t count, const double *q, const double *g,
                                 geodec_lookup_hit *hit, geodec_err *err)
{
    const int64_t n = l->n;
    int64_t i = 0;
    if (g && l->minus)
        for (; i + EIGHT <= count; i += EIGHT) {
            l->kernels->eight(l, q + i * n, g + i * n * n, hit + i);
            for (int64_t k = i; k < i + EIGHT; k++)
                if (hit[k].index < 0)
                    GEODEC_PASS_MSG(refuse(l, q + k * n, g + k * n * n, err), "query %lld", (long long)k);
        }
    for (; i < count; i++)
        GEODEC_PASS_MSG(geodec_lookup_nearest(l, q + i * n, g ? g + i * n * n : NULL, hit + i, err), "query %lld",
                        (long long)i);
    return GEODEC_OK;
}

/* ---- controls ---------------------------------------------------------------------------------------------------- */

typedef struct best_of {
    const geodec_lookup *l;
    const double *q, *g;
    int64_t best;
    double best2;
    int64_t evaluations;
} best_of;

static geodec_status begin(best_of *s, geodec_err *err)
{
    geodec__lookup_bounds b;
    s->best = -1;
    s->best2 = INFINITY;
    if (!geodec__finite(s->l->n, s->q) || (!s->g && !s->l->g) ||
        (s->g && (!geodec__finite(s->l->n * s->l->n, s->g) || !s->l->kernels->bounds(s->l->n, s->g, &b))))
        return refuse(s->l, s->q, s->g, err);
    return GEODEC_OK;
}

static void evaluate(best_of *s, int64_t r)
{
    const int64_t n = s->l->n;
    const double *c = s->l->q + r * n;
    const double d2 = s->g ? s->l->kernels->distance(n, s->q, c, s->g)
                           : s->l->kernels->distance_own(n, s->q, c, s->l->g + r * (n * (n + 1) / 2));
    s->evaluations++;
    if (d2 < s->best2 || (d2 == s->best2 && r < s->best)) {
        s->best2 = d2;
        s->best = r;
    }
}

static geodec_status finish(const best_of *s, geodec_lookup_hit *hit, geodec_err *err)
{
    if (s->best < 0) return refuse(s->l, s->q, s->g, err);
    *hit = (geodec_lookup_hit){s->best, sqrt(fmax(s->best2, 0)), s->evaluations};
    return GEODEC_OK;
}

geodec_status geodec_lookup_exhaustive(const geodec_lookup *l, const double *q, const double *g, geodec_lookup_hit *hit,
                                       geodec_err *err)
{
    best_of s = {.l = l, .q = q, .g = g};
    GEODEC_PASS(begin(&s, err));
    for (int64_t r = 0; r < l->records; r++) evaluate(&s, r);
    GEODEC_PASS(finish(&s, hit, err));
    return GEODEC_OK;
}

/* The `keep` smallest keys in rising order, ties by index; returns their number. */
static int64_t smallest(const geodec_lookup *l, const double *q, int64_t keep, int64_t *index)
{
    const int64_t n = l->n;
    float key[KEEP_MAX];
    int64_t have = 0;
    for (int64_t r = 0; r < l->records; r++) {
        float k = 0;
        for (int64_t i = 0; i < n; i++) {
            const float d = (float)l->q[r * n + i] - (float)q[i];
            k += d * d;
        }
        if (have == keep && !(k < key[have - 1])) continue;
        int64_t at = have < keep ? have++ : have - 1;
        for (; at > 0 && key[at - 1] > k; at--) {
            key[at] = key[at - 1];
            index[at] = index[at - 1];
        }
        key[at] = k;
        index[at] = r;
    }
    return have;
}

geodec_status geodec_lookup_screened(const geodec_lookup *l, const double *q, const double *g, int64_t keep,
                                     geodec_lookup_hit *hit, geodec_err *err)
{
    best_of s = {.l = l, .q = q, .g = g};
    int64_t index[KEEP_MAX];
    if (keep < 1 || keep > KEEP_MAX) GEODEC_FAIL(GEODEC_RANGE, "a screen that keeps %lld", (long long)keep);
    GEODEC_PASS(begin(&s, err));
    const int64_t count = smallest(l, q, keep, index);
    for (int64_t k = 0; k < count; k++) evaluate(&s, index[k]);
    GEODEC_PASS(finish(&s, hit, err));
    return GEODEC_OK;
}

/* ---- a trial ---------------------------------------------------------------------------------------------------- */

typedef struct trial {
    const geodec_records *r;
    const geodec_lookup *l;
    const geodec_space *s;
    const double *queries;
    struct outcome {
        int64_t evaluations;
        bool right_screen, inside;
    } * outcome; /* [count] */
} trial;

static geodec_status trial_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const trial *t = ctx;
    const int64_t n = t->l->n;
    const double *q = t->queries + i * n;
    double *g = NULL;
    geodec_lookup_hit two, all, screen, own;
    GEODEC_NEW(g, n * n);
    GEODEC_TRY(t->s->at(t->s, q, g, NULL, NULL, err));
    GEODEC_TRY(geodec_lookup_nearest(t->l, q, g, &two, err));
    GEODEC_TRY(geodec_lookup_exhaustive(t->l, q, g, &all, err));
    GEODEC_TRY(geodec_lookup_screened(t->l, q, g, FIRST, &screen, err));
    GEODEC_TRY(geodec_lookup_nearest(t->l, q, NULL, &own, err));
    if (two.index != all.index || two.distance != all.distance)
        GEODEC_THROW(GEODEC_INTERNAL, "the two-stage lookup found record %lld, exhaustive search %lld",
                     (long long)two.index, (long long)all.index);
    t->outcome[i] =
        (struct outcome){two.evaluations, screen.index == all.index, own.distance <= (double)t->r->rho[own.index]};
done:
    geodec_mem_free(g);
    return st;
}

geodec_status geodec_lookup_try(const geodec_records *r, const geodec_space *s, int64_t count, const double *queries,
                                geodec_pool *pool, const geodec_hooks *hooks, geodec_lookup_trial *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_lookup *l = NULL;
    trial t = {.r = r, .s = s, .queries = queries};
    geodec_lookup_trial sum = {.queries = count};
    GEODEC_TRY(geodec_lookup_create(r->records, r->n, r->q, r->g, &l, err));
    GEODEC_NEW(t.outcome, count);
    t.l = l;
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "lookups", count, trial_task, &t, err));
    int64_t right_screen = 0, inside = 0, evaluations = 0;
    for (int64_t i = 0; i < count; i++) {
        right_screen += t.outcome[i].right_screen;
        inside += t.outcome[i].inside;
        evaluations += t.outcome[i].evaluations;
    }
    const double total = count > 0 ? (double)count : 1;
    sum.recall = count > 0 ? 1 : 0; /* a miss is an error */
    sum.recall_screen = (double)right_screen / total;
    sum.inside = (double)inside / total;
    sum.evaluations = (double)evaluations / total;
    *out = sum;
done:
    geodec_mem_free(t.outcome);
    geodec_lookup_destroy(l);
    return st;
}

void geodec_records_say(const geodec_hooks *hooks, const geodec_records *r, const geodec_lookup_trial *t,
                        double seconds)
{
    double rank = 0, rho = 0;
    int64_t full = 0, censored = 0;
    const double each = 1 / (double)r->records;
    for (int64_t i = 0; i < r->records; i++) {
        rank += r->rank[i] * each;
        rho += (double)r->rho[i] * each;
        full += r->full[i];
        censored += r->rho_censored[i] != GEODEC_CENSORED_NONE;
    }
    geodec_hooks_log(
        hooks, GEODEC_LOG_INFO,
        "%lld records: %.0f bytes each (%.0f uncompressed), every %lld nodes a waypoint, mean rank %.1f, "
        "%lld in full; mean rho %.3g (%lld at the end of the range); %lld paths without status ok left out",
        (long long)r->records, (double)geodec_records_bytes(r) * each, (double)geodec_records_bytes_plain(r) * each,
        (long long)r->stride, rank, (long long)full, rho, (long long)censored, (long long)r->dropped);
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "%lld lookups: recall %.3f (screen of 8: %.3f), %.1f exact distances each, %.1f %% inside rho; "
                     "%.1f us each, control included",
                     (long long)t->queries, t->recall, t->recall_screen, t->evaluations, 100 * t->inside,
                     t->queries ? 1e6 * seconds / (double)t->queries : 0);
}

geodec_status geodec_lookup_choose(const geodec_metric *m, const geodec_propagators *p, int64_t most, uint64_t seed,
                                   double **out, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    uint8_t *anchor = NULL;
    double *x = NULL;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("record queries", 0));
    int64_t free_points = m->points, got = 0;
    GEODEC_NEW(anchor, m->points);
    for (int64_t i = 0; i < p->paths.paths; i++) {
        const int32_t a = p->paths.point[i];
        if (a < 0 || a >= m->points)
            GEODEC_THROW(GEODEC_FORMAT, "a path begins at point %d of %lld", (int)a, (long long)m->points);
        free_points -= !anchor[a];
        anchor[a] = 1;
    }
    const int64_t want = most < free_points ? most : free_points;
    GEODEC_NEW(x, want * n);
    for (int64_t i = 0, left = free_points; i < m->points && got < want; i++) {
        if (anchor[i]) continue;
        if ((int64_t)geodec_rng_below(&r, (uint64_t)left--) < want - got)
            memcpy(x + got++ * n, m->point + i * n, (size_t)n * sizeof *x);
    }
    *out = x;
    *count = got;
    x = NULL;
done:
    GEODEC_FREE(anchor, x);
    return st;
}
