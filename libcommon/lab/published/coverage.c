#include "lab/published/coverage.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "chain/coverage.h"
#include "io/foreign.h"
#include "linalg/stats.h"
#include "linalg/surrogate.h"

#include <math.h>
#include <string.h>

enum { V = GEODEC_PUBLISHED_VARIANTS };

/* ---- the metrics of one cloud ------------------------------------------------------------------------------------ */

typedef struct evaluation {
    const geodec_harness_field *field;
    const double *point;
    double *g;
} evaluation;

static geodec_status field_task(void *ctx, int64_t p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const evaluation *f = ctx;
    const int64_t n = f->field->n;
    double *scratch = NULL;
    GEODEC_NEW(scratch, geodec_harness_field_scratch(n));
    GEODEC_TRY(geodec_harness_field_at(f->field, f->point + p * n, f->g + p * n * n, scratch, err));
done:
    geodec_mem_free(scratch);
    return st;
}

/* g [V][N][n][n] at the points x [N][n]; variants beyond `wanted` are unchanged. */
static geodec_status metrics(const geodec_coverage_published_splits *s, const double *x,
                             const geodec_harness_options *o, int wanted, geodec_pool *pool, const geodec_hooks *hooks,
                             double *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t N = s->points, n = s->n, size = N * n * n;
    geodec_harness_field field = {0};
    GEODEC_TRY(geodec_harness_metric(N, n, x, o, pool, hooks, g, NULL, err));
    for (int v = 1; v < wanted; v++) { /* the field through the matrices of the variant before; the accessor's field
                                        * has no identity far away */
        GEODEC_TRY(
            geodec_harness_field_init(&field, N, n, x, g + (v - 1) * size, o->sigma, v == GEODEC_PUBLISHED_TWICE, err));
        evaluation f = {&field, x, g + v * size};
        GEODEC_TRY(geodec__tasks_run(pool, hooks, "published metric of point", N, field_task, &f, err));
        geodec_harness_field_clear(&field);
    }
done:
    geodec_harness_field_clear(&field);
    return st;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

/* g-distance of each held-out point of one split to its Euclid-nearest cached one: distance [N - cached]. */
static void held_out(const geodec_coverage_published_splits *s, const double *x, const double *g, int64_t cached,
                     const int64_t *order, double *distance)
{
    const int64_t n = s->n;
    for (int64_t h = cached; h < s->points; h++) {
        const double *at = x + order[h] * n;
        double v[GEODEC_PUBLISHED_MAX_N], best[GEODEC_PUBLISHED_MAX_N], least = INFINITY;
        for (int64_t c = 0; c < cached; c++) {
            for (int64_t i = 0; i < n; i++) v[i] = at[i] - x[order[c] * n + i];
            const double d = geodec__dot(n, v, v);
            if (d < least) {
                least = d;
                memcpy(best, v, sizeof best);
            }
        }
        distance[h - cached] = sqrt(fmax(geodec__norm2(n, g + order[h] * n * n, best), 0));
    }
}

/* Means and percentiles over the splits of one cloud with metrics g [N][n][n]: hit, p10, p90 [S][E], mean [S]; all but
 * hit may be NULL. */
static geodec_status count(const geodec_coverage_published_splits *s, const double *x, const double *g, double *hit,
                           double *p10, double *p90, double *mean, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t R = s->repeats, E = s->n_eps;
    double *distance = NULL, *share = NULL; /* [N], [E][R] */
    GEODEC_NEW(distance, s->points);
    GEODEC_NEW(share, E * R);
    for (int64_t f = 0; f < s->shares; f++) {
        const int64_t held = s->points - s->cached[f];
        double total = 0;
        for (int64_t r = 0; r < R; r++) {
            held_out(s, x, g, s->cached[f], s->permutation + (f * R + r) * s->points, distance);
            total += geodec_stats_mean(held, distance);
            for (int64_t e = 0; e < E; e++) {
                int64_t hits = 0;
                for (int64_t i = 0; i < held; i++) hits += distance[i] <= s->eps[e];
                share[e * R + r] = (double)hits / (double)held;
            }
        }
        if (mean) mean[f] = total / (double)R;
        for (int64_t e = 0; e < E; e++) {
            double *row = share + e * R;
            hit[f * E + e] = geodec_stats_mean(R, row);
            geodec_stats_sort(R, row);
            if (p10) p10[f * E + e] = geodec_stats_percentile(R, row, 0.1);
            if (p90) p90[f * E + e] = geodec_stats_percentile(R, row, 0.9);
        }
    }
done:
    GEODEC_FREE(distance, share);
    return st;
}

/* ---- the experiment ---------------------------------------------------------------------------------------------- */

static geodec_status splits_ok(const geodec_coverage_published_splits *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *seen = NULL;
    if (s->points < 2 || s->n < 1 || s->n > GEODEC_PUBLISHED_MAX_N || s->shares < 1 || s->repeats < 1 || s->n_eps < 1)
        GEODEC_THROW(GEODEC_RANGE, "published coverage of %lld points, dimension %lld, %lld cache sizes, %lld splits",
                     (long long)s->points, (long long)s->n, (long long)s->shares, (long long)s->repeats);
    GEODEC_NEW(seen, s->points);
    for (int64_t f = 0; f < s->shares; f++)
        if (s->cached[f] < 1 || s->cached[f] >= s->points)
            GEODEC_THROW(GEODEC_RANGE, "%lld of %lld points cached", (long long)s->cached[f], (long long)s->points);
    for (int64_t i = 0; i < s->shares * s->repeats; i++) {
        memset(seen, 0, (size_t)s->points);
        for (int64_t p = 0; p < s->points; p++) {
            const int64_t at = s->permutation[i * s->points + p];
            if (at < 0 || at >= s->points || seen[at])
                GEODEC_THROW(GEODEC_RANGE, "split %lld is not a permutation of the points", (long long)i);
            seen[at] = 1;
        }
    }
done:
    geodec_mem_free(seen);
    return st;
}

static geodec_status reserve(const geodec_coverage_published_splits *s, geodec_coverage_published *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t S = s->shares, E = s->n_eps;
    c->shares = S, c->n_eps = E, c->repeats = s->repeats, c->points = s->points, c->n = s->n;
    GEODEC_NEW(c->closed_form, S);
    GEODEC_NEW_EACH(S * E, c->null_mean, c->null_sd, c->z);
    for (int v = 0; v < V; v++) {
        GEODEC_NEW_EACH(S * E, c->hit[v], c->p10[v], c->p90[v]);
        GEODEC_NEW(c->distance[v], S);
    }
    GEODEC_NEW_COPY(c->cached, s->cached, S);
    GEODEC_NEW_COPY(c->eps, s->eps, E);
done:
    return st;
}

static geodec_status run_nulls(const geodec_coverage_published_splits *s, const geodec_harness_options *o,
                               int64_t nulls, uint64_t seed, geodec_pool *pool, const geodec_hooks *hooks, double *g,
                               geodec_coverage_published *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t SE = s->shares * s->n_eps, size = s->points * s->n;
    double *x = NULL, *all = NULL, *column = NULL;
    if (nulls == 0) goto done;
    GEODEC_NEW(x, size);
    GEODEC_NEW(all, nulls * SE);
    GEODEC_NEW(column, nulls);
    for (int64_t b = 0; b < nulls; b++) {
        GEODEC_TRY(geodec_surrogate_draw(GEODEC_SURROGATE_GAUSSIAN, s->points, s->n, s->point, seed,
                                         geodec_rng_id("published coverage null", (uint64_t)b), x, err));
        GEODEC_TRY(metrics(s, x, o, GEODEC_PUBLISHED_ONCE + 1, pool, hooks, g, err));
        GEODEC_TRY(count(s, x, g + GEODEC_PUBLISHED_ONCE * size * s->n, all + b * SE, NULL, NULL, NULL, err));
    }
    for (int64_t i = 0; i < SE; i++) {
        const double one = 1 / (double)((s->points - s->cached[i / s->n_eps]) * s->repeats);
        for (int64_t b = 0; b < nulls; b++) column[b] = all[b * SE + i];
        c->null_mean[i] = geodec_stats_mean(nulls, column);
        c->null_sd[i] = nulls > 1 ? sqrt(geodec_stats_variance(nulls, column)) : 0;
        c->z[i] = nulls > 1 ? (c->hit[GEODEC_PUBLISHED_ONCE][i] - c->null_mean[i]) / fmax(c->null_sd[i], one) : 0;
    }
done:
    GEODEC_FREE(x, all, column);
    return st;
}

geodec_status geodec_coverage_published_compute(const geodec_coverage_published_splits *s,
                                                const geodec_harness_options *o, int64_t nulls, uint64_t seed,
                                                geodec_pool *pool, const geodec_hooks *hooks,
                                                geodec_coverage_published *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_coverage_published c = {.nulls = nulls};
    double *g = NULL;
    GEODEC_TRY(splits_ok(s, err));
    if (nulls < 0 || nulls > 10000) GEODEC_THROW(GEODEC_RANGE, "%lld null clouds", (long long)nulls);
    const int64_t size = s->points * s->n * s->n;
    GEODEC_TRY(reserve(s, &c, err));
    GEODEC_NEW(g, V * size);
    GEODEC_TRY(metrics(s, s->point, o, V, pool, hooks, g, err));
    for (int v = 0; v < V; v++)
        GEODEC_TRY(count(s, s->point, g + v * size, c.hit[v], c.p10[v], c.p90[v], c.distance[v], err));
    for (int64_t f = 0; f < s->shares; f++)
        c.closed_form[f] = geodec_coverage_closed_form(s->points, o->k, s->cached[f]);
    GEODEC_TRY(run_nulls(s, o, nulls, seed, pool, hooks, g, &c, err));
    GEODEC_MOVE(*out, c);
done:
    geodec_mem_free(g);
    geodec_coverage_published_clear(&c);
    return st;
}

/* ---- the draws --------------------------------------------------------------------------------------------------- */

geodec_status geodec_coverage_published_draws(const char *draws, geodec_coverage_published_splits *s, geodec_err *err)
{
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1}, *cached = NULL, *permutation = NULL;
    double *point = NULL, *eps = NULL;
    GEODEC_PASS(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    s->points = shape[0], s->n = shape[1], s->point = point;
    shape[0] = shape[1] = -1, shape[2] = s->points;
    GEODEC_PASS(
        geodec_foreign_read_i64(draws, "/coverage/permutations", 3, shape, 0, s->points - 1, &permutation, err));
    s->shares = shape[0], s->repeats = shape[1], s->permutation = permutation;
    GEODEC_PASS(geodec_foreign_read_i64(draws, "/coverage/cache_size", 1, shape, 1, s->points - 1, &cached, err));
    s->cached = cached;
    shape[0] = -1;
    GEODEC_PASS(geodec_foreign_read(draws, "/coverage/eps", 1, shape, NULL, &eps, err));
    s->n_eps = shape[0], s->eps = eps;
    return GEODEC_OK;
}

/* The arrays are owned by *s; its pointers are const for the readers. */
void geodec_coverage_published_draws_clear(geodec_coverage_published_splits *s)
{
    const void *const all[] = {s->point, s->permutation, s->cached, s->eps};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free((void *)(uintptr_t)all[i]);
    memset(s, 0, sizeof *s);
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_coverage_published, m)
#define IN(m) GEODEC_IN(geodec_coverage_published, m)

/* clang-format off */
#define VARIANT(name, v, text)                                                                                         \
    {"/hit_" name, GEODEC_F64, "S,E", 0, "1", "hits, metric " text ": mean over the splits", 0, AT(hit[v])},           \
    {"/hit_" name "_p10", GEODEC_F64, "S,E", 0, "1", "their 10th percentile over the splits", 0, AT(p10[v])},          \
    {"/hit_" name "_p90", GEODEC_F64, "S,E", 0, "1", "their 90th percentile", 0, AT(p90[v])},                          \
    {"/distance_" name, GEODEC_F64, "S", 0, "1",                                                                       \
     "mean g-distance to the Euclid-nearest cached point, metric " text, 0, AT(distance[v])}
/* clang-format on */

static const geodec_field fields[] = {
    {"/cached", GEODEC_I64, "S", 0, "1", "c: cached points", 0, AT(cached)},
    {"/eps", GEODEC_F64, "E", 0, "1", "g-distances", 0, AT(eps)},
    VARIANT("raw", GEODEC_PUBLISHED_RAW, "as fitted"),
    VARIANT("once", GEODEC_PUBLISHED_ONCE, "smoothed once (the published tables)"),
    VARIANT("twice", GEODEC_PUBLISHED_TWICE, "smoothed twice (the present harness)"),
    {"/closed_form", GEODEC_F64, "S", 0, "1", "control: 1 - C(N-1-k,c) / C(N-1,c), no data enters", 0, AT(closed_form)},
    {"/null_mean", GEODEC_F64, "S,E", 0, "1",
     "control: hits on normal noise of the same covariance, same splits, metric smoothed once", 0, AT(null_mean)},
    {"/null_sd", GEODEC_F64, "S,E", 0, "1", "standard deviation over those clouds", 0, AT(null_sd)},
    {"/z", GEODEC_F64, "S,E", 0, "1", "(hit_once - null_mean) / max(null_sd, one held-out point)", 0, AT(z)},
};

static const geodec_attr attrs[] = {
    {"n", GEODEC_ATTR_I64, 0, "dimension", IN(n)},
    {"points", GEODEC_ATTR_I64, 0, "points, cached and held out", IN(points)},
    {"repeats", GEODEC_ATTR_I64, 0, "splits", IN(repeats)},
    {"nulls", GEODEC_ATTR_I64, 0, "clouds of normal noise", IN(nulls)},
};

static const geodec_extent extents[] = {{"S", IN(shares)}, {"E", IN(n_eps)}};

const geodec_kind geodec_coverage_published_kind = {
    GEODEC_ABOUT("coverage-ref", 1, 0, "geodec-published coverage",
                 "coverage as the published harness counts it, with the closed form that it repeats"),
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_coverage_published_write(const geodec_coverage_published *c, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, c, err);
}

void geodec_coverage_published_clear(geodec_coverage_published *c)
{
    geodec_artifact_clear(&geodec_coverage_published_kind, c);
    *c = (geodec_coverage_published){0};
}

void geodec_coverage_published_say(const geodec_hooks *hooks, const geodec_coverage_published *v)
{
    for (int64_t s = 0; s < v->shares; s++)
        for (int64_t e = 0; e < v->n_eps; e++)
            if (v->eps[e] == 3)
                geodec_hooks_log(
                    hooks, GEODEC_LOG_INFO,
                    "%2lld of %lld cached, within 3: %.1f %% (raw %.1f %%, smoothed twice %.1f %%); closed form "
                    "%.1f %%, Gaussian noise %.1f %% (sd %.1f), z %.1f",
                    (long long)v->cached[s], (long long)v->points,
                    100 * v->hit[GEODEC_PUBLISHED_ONCE][s * v->n_eps + e],
                    100 * v->hit[GEODEC_PUBLISHED_RAW][s * v->n_eps + e],
                    100 * v->hit[GEODEC_PUBLISHED_TWICE][s * v->n_eps + e], 100 * v->closed_form[s],
                    100 * v->null_mean[s * v->n_eps + e], 100 * v->null_sd[s * v->n_eps + e], v->z[s * v->n_eps + e]);
}
