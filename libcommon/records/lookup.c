#include "records/lookup.h"

#include "base/mem.h"
#include "geometry/tasks.h"
#include "geometry/vec.h"
#include "linalg/eig.h"
#include "linalg/expm.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FIRST = 8, KEEP_MAX = 64, MAX_N = GEODEC_RBF_MAX_N };

struct geodec_lookup {
    int64_t records, n;
    double *q;          /* [R][n] */
    float *q32;         /* [R][n] relative to the centre */
    double *centre;     /* [n] */
    double reach;       /* largest |q - centre| */
    double *g;          /* [R][n][n] or NULL */
    double *lambda_min; /* [R] or NULL */
};

/* Smallest eigenvalue, lowered by the error of computing it. */
static geodec_status smallest_eigenvalue(int64_t n, const double *g, double *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL;
    GEODEC_NEW(block, n * n + n);
    GEODEC_TRY(geodec_eig_sym(n, g, block + n * n, block, err));
    const double *w = block + n * n;
    const double low = w[0] - 64 * (double)n * DBL_EPSILON * fabs(w[n - 1]);
    if (!(w[0] > 0)) GEODEC_THROW(GEODEC_NUMERIC, "a metric has the eigenvalue %g", w[0]);
    *out = low > 0 ? low : 0;
done:
    geodec_mem_free(block);
    return st;
}

geodec_status geodec_lookup_create(int64_t records, int64_t n, const double *q, const float *g, geodec_lookup **out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_lookup *l = NULL;
    double *packed = NULL;
    const int64_t half = n * (n + 1) / 2;
    if (records < 1 || n < 1 || n > MAX_N)
        GEODEC_THROW(GEODEC_RANGE, "%lld records of dimension %lld", (long long)records, (long long)n);
    if (!geodec__finite(records * n, q)) GEODEC_THROW(GEODEC_NUMERIC, "an anchor is not finite");
    GEODEC_NEW(l, 1);
    l->records = records;
    l->n = n;
    GEODEC_NEW(l->q, records * n);
    GEODEC_NEW(l->q32, records * n);
    GEODEC_NEW(l->centre, n);
    memcpy(l->q, q, (size_t)(records * n) * sizeof *q);
    for (int64_t i = 0; i < records * n; i++) l->centre[i % n] += q[i] / (double)records;
    for (int64_t r = 0; r < records; r++) {
        double d2 = 0;
        for (int64_t i = 0; i < n; i++) {
            const double d = q[r * n + i] - l->centre[i];
            l->q32[r * n + i] = (float)d;
            d2 += d * d;
        }
        l->reach = fmax(l->reach, sqrt(d2));
    }
    if (g) {
        GEODEC_NEW(packed, half);
        GEODEC_NEW(l->g, records * n * n);
        GEODEC_NEW(l->lambda_min, records);
        for (int64_t r = 0; r < records; r++) {
            for (int64_t i = 0; i < half; i++) packed[i] = (double)g[r * half + i];
            if (!geodec__finite(half, packed))
                GEODEC_THROW(GEODEC_NUMERIC, "the metric of record %lld is not finite", (long long)r);
            geodec_sym_unpack(n, packed, l->g + r * n * n);
            GEODEC_TRY_MSG(smallest_eigenvalue(n, l->g + r * n * n, &l->lambda_min[r], err), "record %lld",
                           (long long)r);
        }
    }
    *out = l;
    l = NULL;
done:
    geodec_mem_free(packed);
    geodec_lookup_destroy(l);
    return st;
}

void geodec_lookup_destroy(geodec_lookup *l)
{
    if (!l) return;
    geodec_mem_free(l->q);
    geodec_mem_free(l->q32);
    geodec_mem_free(l->centre);
    geodec_mem_free(l->g);
    geodec_mem_free(l->lambda_min);
    geodec_mem_free(l);
}

/* ---- one search ------------------------------------------------------------------------------------------------- */

typedef struct search {
    const geodec_lookup *l;
    const double *q, *g;
    double lambda; /* of g */
    int64_t best;
    double best2;
    int64_t evaluations;
} search;

static geodec_status begin(search *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->l->n;
    if (!geodec__finite(n, s->q)) GEODEC_THROW(GEODEC_NUMERIC, "the query is not finite");
    if (!s->g && !s->l->g) GEODEC_THROW(GEODEC_INVAL, "neither the query nor the records bring a metric");
    if (s->g) {
        if (!geodec__finite(n * n, s->g)) GEODEC_THROW(GEODEC_NUMERIC, "the metric at the query is not finite");
        GEODEC_TRY_MSG(smallest_eigenvalue(n, s->g, &s->lambda, err), "at the query");
    }
    s->best = -1;
    s->best2 = INFINITY;
    s->evaluations = 0;
done:
    return st;
}

static void evaluate(search *s, int64_t r)
{
    const int64_t n = s->l->n;
    const double *c = s->l->q + r * n;
    double v[MAX_N];
    for (int64_t i = 0; i < n; i++) v[i] = s->q[i] - c[i];
    const double d2 = geodec__norm2(n, s->g ? s->g : s->l->g + r * n * n, v);
    s->evaluations++;
    if (d2 < s->best2 || (d2 == s->best2 && r < s->best)) {
        s->best2 = d2;
        s->best = r;
    }
}

static void finish(const search *s, geodec_lookup_hit *hit)
{
    *hit = (geodec_lookup_hit){s->best, sqrt(fmax(s->best2, 0)), s->evaluations};
}

/* Stage 1: d2 [R] in float32; returns the largest error of sqrt(d2) that does not grow with the distance itself. */
static double stage_one(const geodec_lookup *l, const double *q, float *d2)
{
    const int64_t n = l->n;
    float y[MAX_N];
    double from_centre = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = q[i] - l->centre[i];
        y[i] = (float)d;
        from_centre += d * d;
    }
    for (int64_t r = 0; r < l->records; r++) {
        const float *c = l->q32 + r * n;
        float sum = 0;
        for (int64_t i = 0; i < n; i++) {
            const float d = y[i] - c[i];
            sum += d * d;
        }
        d2[r] = sum;
    }
    /* Both ends were rounded to float32 relative to the centre: |error of q - c| <= u (|q| + |c|), u = 2^-24; doubled
     * for the rounding of the difference itself where it cancels, and for the float64 steps. */
    return FLT_EPSILON * (sqrt(from_centre) + l->reach);
}

/* A lower bound of |q - c|^2 from stage 1: the sum of n squares carries a relative error below (n + 3) u. */
static double lower_bound(int64_t n, float d2, double slack)
{
    if (!isfinite(d2)) return 0; /* float32 overflowed: says nothing */
    const double d = sqrt((double)d2) * (1 - (double)(n + 4) * (double)FLT_EPSILON) - slack;
    return d > 0 ? d * d : 0;
}

/* The `keep` smallest keys in rising order, ties by index; returns how many. */
static int64_t smallest(int64_t count, const float *d2, const double *weight, int64_t keep, int64_t *index)
{
    double key[KEEP_MAX];
    int64_t have = 0;
    for (int64_t r = 0; r < count; r++) {
        const double k = (double)d2[r] * (weight ? weight[r] : 1);
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

geodec_status geodec_lookup_nearest(const geodec_lookup *l, const double *q, const double *g, float *scratch,
                                    geodec_lookup_hit *hit, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    search s = {.l = l, .q = q, .g = g};
    int64_t first[FIRST];
    GEODEC_TRY(begin(&s, err));
    const double slack = stage_one(l, q, scratch);
    const int64_t count = smallest(l->records, scratch, g ? NULL : l->lambda_min, FIRST, first);
    for (int64_t k = 0; k < count; k++) evaluate(&s, first[k]);
    for (int64_t r = 0; r < l->records; r++) {
        const double lambda = g ? s.lambda : l->lambda_min[r];
        /* "> best" and not ">=": an equal distance at a lower index must still win. A distance computed in float64 may
         * itself lie below its exact value by a few parts in 1e15. */
        if (lambda * lower_bound(l->n, scratch[r], slack) * (1 - 1e-12) > s.best2) continue;
        bool seen = false;
        for (int64_t k = 0; k < count; k++) seen = seen || first[k] == r;
        if (!seen) evaluate(&s, r);
    }
    finish(&s, hit);
done:
    return st;
}

geodec_status geodec_lookup_exhaustive(const geodec_lookup *l, const double *q, const double *g, geodec_lookup_hit *hit,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    search s = {.l = l, .q = q, .g = g};
    GEODEC_TRY(begin(&s, err));
    for (int64_t r = 0; r < l->records; r++) evaluate(&s, r);
    finish(&s, hit);
done:
    return st;
}

geodec_status geodec_lookup_screened(const geodec_lookup *l, const double *q, const double *g, int64_t keep,
                                     float *scratch, geodec_lookup_hit *hit, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    search s = {.l = l, .q = q, .g = g};
    int64_t index[KEEP_MAX];
    if (keep < 1 || keep > KEEP_MAX) GEODEC_THROW(GEODEC_RANGE, "a screen that keeps %lld", (long long)keep);
    GEODEC_TRY(begin(&s, err));
    (void)stage_one(l, q, scratch);
    const int64_t count = smallest(l->records, scratch, NULL, keep, index);
    for (int64_t k = 0; k < count; k++) evaluate(&s, index[k]);
    finish(&s, hit);
done:
    return st;
}

/* ---- a trial ---------------------------------------------------------------------------------------------------- */

typedef struct trial {
    const geodec_records *r;
    const geodec_lookup *l;
    const geodec_space *s;
    const double *queries;
    struct outcome {
        int64_t evaluations;
        bool right, right_screen, inside;
    } * outcome; /* [count] */
} trial;

static geodec_status trial_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const trial *t = ctx;
    const int64_t n = t->l->n;
    const double *q = t->queries + i * n;
    double *g = NULL;
    float *scratch = NULL;
    geodec_lookup_hit two, all, screen, own;
    GEODEC_NEW(g, n * n);
    GEODEC_NEW(scratch, t->l->records);
    GEODEC_TRY(t->s->at(t->s, q, g, NULL, NULL, err));
    GEODEC_TRY(geodec_lookup_nearest(t->l, q, g, scratch, &two, err));
    GEODEC_TRY(geodec_lookup_exhaustive(t->l, q, g, &all, err));
    GEODEC_TRY(geodec_lookup_screened(t->l, q, g, FIRST, scratch, &screen, err));
    GEODEC_TRY(geodec_lookup_nearest(t->l, q, NULL, scratch, &own, err));
    if (two.index != all.index || two.distance != all.distance)
        GEODEC_THROW(GEODEC_INTERNAL, "the two-stage lookup found record %lld, exhaustive search %lld",
                     (long long)two.index, (long long)all.index);
    t->outcome[i] = (struct outcome){two.evaluations, two.index == all.index, screen.index == all.index,
                                     own.distance <= (double)t->r->rho[own.index]};
done:
    geodec_mem_free(g);
    geodec_mem_free(scratch);
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
    int64_t right = 0, right_screen = 0, inside = 0, evaluations = 0;
    for (int64_t i = 0; i < count; i++) {
        right += t.outcome[i].right;
        right_screen += t.outcome[i].right_screen;
        inside += t.outcome[i].inside;
        evaluations += t.outcome[i].evaluations;
    }
    const double total = count > 0 ? (double)count : 1;
    sum.recall = (double)right / total;
    sum.recall_screen = (double)right_screen / total;
    sum.inside = (double)inside / total;
    sum.evaluations = (double)evaluations / total;
    *out = sum;
done:
    geodec_mem_free(t.outcome);
    geodec_lookup_destroy(l);
    return st;
}
