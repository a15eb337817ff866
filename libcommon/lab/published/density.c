#include "lab/published/density.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

typedef struct run {
    const geodec_telemetry *t;
    bool cosine;
    double *nearest;
} run;

static double distance(const geodec_telemetry *t, bool cosine, int64_t i, int64_t j)
{
    const double *a = t->state + i * t->d, *b = t->state + j * t->d;
    if (cosine) {
        const double na = sqrt(geodec__dot(t->d, a, a)), nb = sqrt(geodec__dot(t->d, b, b));
        return na < 1e-12 || nb < 1e-12 ? 1 : 1 - geodec__dot(t->d, a, b) / (na * nb);
    }
    double s = 0;
    for (int64_t k = 0; k < t->d; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(s);
}

static geodec_status nearest_task(void *ctx, int64_t i, geodec_err *err)
{
    const run *r = ctx;
    double best = INFINITY;
    (void)err;
    for (int64_t j = 0; j < r->t->states; j++)
        if (j != i) best = fmin(best, distance(r->t, r->cosine, i, j));
    r->nearest[i] = best;
    return GEODEC_OK;
}

static geodec_status summarise(geodec_published_distances *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *sorted = NULL;
    GEODEC_NEW_COPY(sorted, d->value, d->count);
    geodec_stats_sort(d->count, sorted);
    d->mean = geodec_stats_mean(d->count, d->value);
    d->p50 = geodec_stats_percentile(d->count, sorted, 0.5);
    d->p90 = geodec_stats_percentile(d->count, sorted, 0.9);
    d->max = sorted[d->count - 1];
    if (!isfinite(d->max) || !isfinite(d->mean)) GEODEC_THROW(GEODEC_NUMERIC, "distances overflow");
done:
    geodec_mem_free(sorted);
    return st;
}

geodec_status geodec_density_published_run(const geodec_telemetry *t, bool cosine, double radius, geodec_pool *pool,
                                           const geodec_hooks *hooks, geodec_density_published *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_density_published p = {
        .states = t->states, .d = t->d, .left_out = t->left_out, .cosine = cosine, .radius = radius};
    if (t->states < 2 || t->d < 1 || !(radius >= 0) || !isfinite(radius))
        GEODEC_THROW(GEODEC_RANGE, "density of %lld states, radius %g", (long long)t->states, radius);
    p.consecutive.count = t->states - 1;
    p.nearest.count = t->states;
    GEODEC_NEW(p.consecutive.value, p.consecutive.count);
    GEODEC_NEW(p.nearest.value, p.nearest.count);
    for (int64_t i = 0; i + 1 < t->states; i++) p.consecutive.value[i] = distance(t, cosine, i, i + 1);
    run r = {t, cosine, p.nearest.value};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "nearest states", t->states, nearest_task, &r, err));
    GEODEC_TRY(summarise(&p.consecutive, err));
    GEODEC_TRY(summarise(&p.nearest, err));
    if (radius > 0) {
        p.ratio = p.nearest.p90 / radius;
        const double enrichment = ceil(p.ratio * p.ratio);
        if (!(enrichment < 9e15)) GEODEC_THROW(GEODEC_NUMERIC, "the ratio %g is beyond counting", p.ratio);
        if (p.ratio > 1.5) p.enrichment = (int64_t)enrichment;
    }
    GEODEC_MOVE(*out, p);
done:
    geodec_density_published_clear(&p);
    return st;
}

void geodec_density_published_clear(geodec_density_published *p)
{
    geodec_artifact_clear(&geodec_density_published_kind, p);
    *p = (geodec_density_published){0};
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_density_published, m)
#define IN(m) GEODEC_IN(geodec_density_published, m)
static const char *const metrics[] = {"l2", "cosine", NULL};

static const geodec_field fields[] = {
    {"/consecutive", GEODEC_F64, "C", 0, "1", "distance of each state to the one before", 0, AT(consecutive.value)},
    {"/nearest", GEODEC_F64, "S", 0, "1", "distance of each state to the nearest other", 0, AT(nearest.value)},
};

static const geodec_attr attrs[] = {
    {"metric", GEODEC_ATTR_STR, 0, "cosine or l2", GEODEC_NAMED(geodec_density_published, cosine, metrics)},
    {"left_out", GEODEC_ATTR_I64, 0, "lines that are no states", IN(left_out)},
    {"consecutive_mean", GEODEC_ATTR_F64, 0, "mean distance of consecutive states", IN(consecutive.mean)},
    {"consecutive_p50", GEODEC_ATTR_F64, 0, "median", IN(consecutive.p50)},
    {"consecutive_p90", GEODEC_ATTR_F64, 0, "90th percentile", IN(consecutive.p90)},
    {"consecutive_max", GEODEC_ATTR_F64, 0, "largest", IN(consecutive.max)},
    {"nearest_mean", GEODEC_ATTR_F64, 0, "mean distance to the nearest other state", IN(nearest.mean)},
    {"nearest_p50", GEODEC_ATTR_F64, 0, "median", IN(nearest.p50)},
    {"nearest_p90", GEODEC_ATTR_F64, 0, "90th percentile", IN(nearest.p90)},
    {"nearest_max", GEODEC_ATTR_F64, 0, "largest", IN(nearest.max)},
    {"radius", GEODEC_ATTR_F64, 0, "radius it is compared with, in any metric; 0 = none", IN(radius)},
    {"ratio", GEODEC_ATTR_F64, 0, "nearest_p90 / radius", IN(ratio)},
    {"enrichment", GEODEC_ATTR_I64, 0, "ceil(ratio^2) where the ratio exceeds 1.5; else 0", IN(enrichment)},
};

static const geodec_extent extents[] = {{"C", IN(consecutive.count)}, {"S", IN(nearest.count)}};

const geodec_kind geodec_density_published_kind = {
    GEODEC_ABOUT("density-ref", 1, 0, "geodec-published density",
                 "distances of an online trajectory as the published harness compares them with a radius"),
    GEODEC_TABLES(fields, attrs, extents),
};
