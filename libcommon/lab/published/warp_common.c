/* Neighbours, masks, lengths and aggregates of the published warp. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "lab/published/warp_internal.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

geodec_status geodec__warp_check(int64_t samples, const geodec_warp_published_draws *d, geodec_err *err)
{
    if (samples < 4) GEODEC_FAIL(GEODEC_RANGE, "a warp needs 4 samples, not %lld", (long long)samples);
    if (d->facts < 1 || d->holdouts < 0 || d->facts > INT32_MAX || d->holdouts > samples)
        GEODEC_FAIL(GEODEC_RANGE, "%lld facts, %lld holdouts of %lld samples", (long long)d->facts,
                    (long long)d->holdouts, (long long)samples);
    for (int64_t f = 0; f < d->facts; f++)
        if (d->query[f] < 0 || d->query[f] >= samples)
            GEODEC_FAIL(GEODEC_RANGE, "query %lld is sample %lld of %lld", (long long)f, (long long)d->query[f],
                        (long long)samples);
    for (int64_t h = 0; h < d->holdouts; h++)
        if (d->holdout[h] < 0 || d->holdout[h] >= samples)
            GEODEC_FAIL(GEODEC_RANGE, "holdout %lld is sample %lld of %lld", (long long)h, (long long)d->holdout[h],
                        (long long)samples);
    return GEODEC_OK;
}

/* Number of the sample that has `rank` others nearer to q (q itself is one); ties by index. */
static int64_t ranked(const geodec_harness_manifold *m, int64_t q, int64_t rank, const double *d2)
{
    for (int64_t p = 0; p < m->samples; p++) {
        int64_t nearer = 0;
        for (int64_t o = 0; o < m->samples; o++)
            nearer += o != p && (d2[o] < d2[p] || (d2[o] == d2[p] && o < p)) ? 1 : 0;
        if (nearer == rank) return p;
    }
    return q;
}

geodec_status geodec__warp_outcome(int64_t facts, int64_t holdouts, geodec_warp_published_outcome *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *o = (geodec_warp_published_outcome){.facts = facts, .holdouts = holdouts};
    GEODEC_NEW_EACH(facts, o->target, o->neighbour, o->pre, o->post);
    GEODEC_NEW_EACH(facts * holdouts, o->spillover, o->used);
done:
    return st;
}

geodec_status geodec__warp_begin(const geodec_harness_manifold *m, const geodec_warp_published_draws *draws,
                                 geodec_warp_published_outcome *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp_published_outcome o;
    double *d2 = NULL;
    GEODEC_TRY(geodec__warp_outcome(draws->facts, draws->holdouts, &o, err));
    GEODEC_NEW(d2, m->samples);
    for (int64_t f = 0; f < o.facts; f++) {
        const double *q = m->point + draws->query[f] * m->n;
        for (int64_t p = 0; p < m->samples; p++) d2[p] = geodec__gap2(m->n, m->point + p * m->n, q);
        o.target[f] = ranked(m, draws->query[f], m->samples / 2, d2);
        o.neighbour[f] = ranked(m, draws->query[f], m->samples / 4, d2);
    }
    GEODEC_MOVE(*out, o);
done:
    geodec_warp_published_clear(&o);
    geodec_mem_free(d2);
    return st;
}

void geodec_warp_published_clear(geodec_warp_published_outcome *o)
{
    GEODEC_FREE(o->target, o->neighbour, o->pre, o->post, o->spillover, o->used);
    *o = (geodec_warp_published_outcome){0};
}

bool geodec__warp_uses(const geodec_harness_manifold *m, const geodec_warp_published_config *c, int64_t query,
                       int64_t target, int64_t holdout)
{
    if (holdout == query || holdout == target) return false;
    const double d2 = geodec__gap2(m->n, m->point + holdout * m->n, m->point + query * m->n);
    if (c->variant == GEODEC_PUBLISHED_WARP_V1) return !(d2 < 2 * c->extent * (2 * c->extent));
    return !(sqrt(d2) < 1.5 * c->extent);
}

double geodec__warp_length(int64_t n, const double *g, const double *x, const double *y)
{
    double v[GEODEC_PUBLISHED_MAX_N];
    for (int64_t i = 0; i < n; i++) v[i] = y[i] - x[i];
    const double q = geodec__norm2(n, g, v);
    return q < 0 ? 0 : sqrt(q);
}

double geodec__warp_direction(int64_t n, const double *g, const double *x, const double *y, double *v)
{
    for (int64_t i = 0; i < n; i++) v[i] = y[i] - x[i];
    const double q = geodec__norm2(n, g, v);
    if (!(q < 1e-12))
        for (int64_t i = 0; i < n; i++) v[i] /= sqrt(q);
    return q;
}

geodec_status geodec__warp_summary(geodec_warp_published_outcome *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp_published_summary s = {.facts = o->facts};
    double *all = NULL, pre = 0, post = 0;
    GEODEC_NEW(all, o->facts * o->holdouts + 1);
    s.pre_mean = geodec_stats_mean(o->facts, o->pre);
    s.post_mean = geodec_stats_mean(o->facts, o->post);
    s.improvement = 1 - s.post_mean / fmax(s.pre_mean, 1e-12);
    for (int64_t f = 0; f < o->facts; f++) {
        if (!isfinite(o->post[f])) {
            s.nan_post++;
            continue;
        }
        pre += o->pre[f];
        post += o->post[f];
    }
    s.improvement_finite = pre > 0 ? 1 - post / pre : 0;
    bool nan = false;
    double sum = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < o->facts * o->holdouts; i++) {
        if (!o->used[i]) continue;
        const double x = o->spillover[i];
        s.spills++;
        sum += x;
        nan |= isnan(x);
        if (isfinite(x)) all[finite++] = x;
    }
    s.nan_spill = s.spills - finite;
    s.spill_mean = s.spills > 0 ? sum / (double)s.spills : 1;
    s.spill_mean_finite = finite > 0 ? geodec_stats_mean(finite, all) : 0;
    geodec_stats_sort(finite, all);
    s.spill_p95_finite = finite > 0 ? geodec_stats_percentile(finite, all, 0.95) : 0;
    for (int64_t i = finite; i < s.spills; i++) all[i] = INFINITY; /* in order: after the finite ones */
    s.spill_p95 = nan ? NAN : (s.spills > 0 ? geodec_stats_percentile(s.spills, all, 0.95) : 0);
    s.target_halved = s.post_mean < 0.5 * s.pre_mean;
    s.spill_small = s.spill_mean < 0.05;
    o->summary = s;
done:
    geodec_mem_free(all);
    return st;
}
