#include "records/coverage.h"

#include "base/mem.h"
#include "base/rng.h"
#include "geometry/choose.h"
#include "geometry/spaces.h"
#include "geometry/tasks.h"
#include "geometry/vec.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

geodec_coverage_options geodec_coverage_defaults(void)
{
    return (geodec_coverage_options){.n_shares = 4,
                                     .share = {0.1, 0.25, 0.5, 0.75},
                                     .n_eps = 8,
                                     .eps = {0.1, 0.4, 1, 2, 3, 4, 6, 8},
                                     .repeats = 8,
                                     .queries = 200,
                                     .nulls = 10,
                                     .second = GEODEC_SURROGATE_SHUFFLE,
                                     .null_repeats = 2,
                                     .metric = geodec_metric_defaults(),
                                     .seed = 1};
}

double geodec_coverage_closed_form(int64_t n_points, int64_t k, int64_t cached)
{
    double miss = 1;
    for (int64_t i = 0; i < cached; i++) {
        const double left = (double)(n_points - 1 - k - i);
        if (left <= 0) return 1;
        miss *= left / (double)(n_points - 1 - i);
    }
    return 1 - miss;
}

void geodec_coverage_clear(geodec_coverage *c)
{
    void *all[] = {c->size,      c->share,           c->eps,    c->cached,        c->hit,         c->hit_p10,
                   c->hit_p90,   c->distance,        c->recall, c->closed_form,   c->leaky,       c->leaky_distance,
                   c->null_mean, c->null_sd,         c->z,      c->null_distance, c->second_mean, c->second_sd,
                   c->second_z,  c->second_distance, c->trend,  c->null_trend,    c->trend_se};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    *c = (geodec_coverage){0};
}

/* ---- one split -------------------------------------------------------------------------------------------------- */

/* What the held-out points of one split found. */
typedef struct found {
    int64_t queries;
    double *distance; /* [queries] to the g-nearest cached point */
    uint8_t *agrees;  /* [queries] the Euclid-nearest cached point is the g-nearest */
} found;

typedef struct split {
    int64_t n, cached, queries;
    const double *cache;     /* [cached][n] */
    const double *query;     /* [queries][n] */
    const geodec_rbf *field; /* of the metric, or NULL: */
    const double *metric;    /* [queries][n][n] */
    found *out;
} split;

static geodec_status query_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const split *s = ctx;
    const int64_t n = s->n;
    const double *q = s->query + i * n;
    double *g = NULL, best = INFINITY, best_euclid = INFINITY;
    int64_t at = -1, at_euclid = -1;
    GEODEC_NEW(g, n * n);
    if (s->field) {
        const geodec_space *space = geodec_rbf_space(s->field);
        GEODEC_TRY(space->at(space, q, g, NULL, NULL, err));
    } else {
        memcpy(g, s->metric + i * n * n, (size_t)(n * n) * sizeof *g);
    }
    for (int64_t c = 0; c < s->cached; c++) {
        double v[GEODEC_SPACE_DIM_MAX];
        for (int64_t k = 0; k < n; k++) v[k] = q[k] - s->cache[c * n + k];
        const double d2 = geodec__norm2(n, g, v), e2 = geodec__dot(n, v, v);
        if (d2 < best) best = d2, at = c;
        if (e2 < best_euclid) best_euclid = e2, at_euclid = c;
    }
    s->out->distance[i] = sqrt(fmax(best, 0));
    s->out->agrees[i] = at == at_euclid;
done:
    geodec_mem_free(g);
    return st;
}

typedef struct world {
    int64_t points, n, k;
    const double *x; /* [points][n] */
    const geodec_coverage_options *o;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} world;

/* The split of the world given by order [points]: the first `cached` are the cache, the next ones are asked for. leaky:
 * the metric of every point of the world, or NULL. */
static geodec_status run_split(const world *w, const int64_t *order, int64_t cached, const geodec_metric *leaky,
                               found *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = w->n, held = w->points - cached, queries = held < w->o->queries ? held : w->o->queries;
    geodec_metric m = {0};
    geodec_metric_options o = w->o->metric;
    geodec_rbf *field = NULL;
    double *block = NULL, *metric = NULL;
    GEODEC_NEW(block, (cached + queries) * n);
    double *cache = block, *query = block + cached * n;
    for (int64_t i = 0; i < cached + queries; i++)
        memcpy(block + i * n, w->x + order[i] * n, (size_t)n * sizeof *block);
    if (leaky) {
        GEODEC_NEW(metric, queries * n * n);
        for (int64_t i = 0; i < queries; i++)
            GEODEC_TRY(geodec_metric_at_point(leaky, order[cached + i], metric + i * n * n, err));
    } else {
        o.k = w->k;
        GEODEC_TRY(geodec_metric_fit(cached, n, cache, &o, w->pool, NULL, &m, err));
        GEODEC_TRY(geodec_metric_field(&m, &field, err));
    }
    split s = {n, cached, queries, cache, query, field, metric, out};
    out->queries = queries;
    GEODEC_TRY(geodec__tasks_run(w->pool, NULL, "held-out points", queries, query_task, &s, err));
done:
    geodec_metric_clear(&m);
    geodec_rbf_destroy(field);
    geodec_mem_free(block);
    geodec_mem_free(metric);
    return st;
}

/* ---- all splits of one cloud ------------------------------------------------------------------------------------ */

/* Results of one cloud: every array may be NULL. */
typedef struct figures {
    double *hit, *hit_p10, *hit_p90; /* [S][E] */
    double *distance, *recall;       /* [S] */
} figures;

static double share_within(const found *f, double eps)
{
    int64_t hits = 0;
    for (int64_t i = 0; i < f->queries; i++) hits += f->distance[i] <= eps;
    return (double)hits / (double)f->queries;
}

/* stream keeps clouds apart; leaky as in run_split. */
static geodec_status run_cloud(const world *w, int64_t repeats, uint64_t stream, const int64_t *cached,
                               const geodec_metric *leaky, const char *what, figures *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t S = w->o->n_shares, E = w->o->n_eps;
    int64_t *order = NULL;
    double *hits = NULL; /* [E][repeats] */
    found f = {0};
    GEODEC_NEW(order, w->points);
    GEODEC_NEW(hits, E * repeats);
    GEODEC_NEW(f.distance, w->o->queries);
    GEODEC_NEW(f.agrees, w->o->queries);
    for (int64_t s = 0; s < S; s++) {
        double distance = 0, agree = 0;
        for (int64_t r = 0; r < repeats; r++) {
            GEODEC_TRY(geodec_hooks_progress(w->hooks, what, s * repeats + r, S * repeats, err));
            geodec__choose_order(w->o->seed,
                                 geodec_rng_id("coverage split", stream * 4096 + (uint64_t)(s * repeats + r)),
                                 w->points, order);
            GEODEC_TRY(run_split(w, order, cached[s], leaky, &f, err));
            for (int64_t e = 0; e < E; e++) hits[e * repeats + r] = share_within(&f, w->o->eps[e]);
            for (int64_t i = 0; i < f.queries; i++) {
                distance += f.distance[i] / (double)(f.queries * repeats);
                agree += f.agrees[i] / (double)(f.queries * repeats);
            }
        }
        for (int64_t e = 0; e < E; e++) {
            double *row = hits + e * repeats;
            if (out->hit) out->hit[s * E + e] = geodec_stats_mean(repeats, row);
            geodec_stats_sort(repeats, row);
            if (out->hit_p10) out->hit_p10[s * E + e] = geodec_stats_percentile(repeats, row, 0.1);
            if (out->hit_p90) out->hit_p90[s * E + e] = geodec_stats_percentile(repeats, row, 0.9);
        }
        if (out->distance) out->distance[s] = distance;
        if (out->recall) out->recall[s] = agree;
    }
done:
    geodec_mem_free(order);
    geodec_mem_free(hits);
    geodec_mem_free(f.distance);
    geodec_mem_free(f.agrees);
    return st;
}

/* ---- nulls ------------------------------------------------------------------------------------------------------- */

/* Where the figures of one null for one size go. */
typedef struct null_figures {
    geodec_surrogate kind;
    const char *what;
    double *mean, *sd, *z, *distance; /* [S][E], [S] for distance */
} null_figures;

static geodec_status run_null(const world *w, uint64_t stream, const int64_t *cached, const double *hit,
                              const null_figures *to, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t S = w->o->n_shares, E = w->o->n_eps, B = w->o->nulls;
    double *block = NULL, *column = NULL;
    if (B == 0) goto done;
    GEODEC_NEW(block, B * S * E + S + w->points * w->n);
    GEODEC_NEW(column, B);
    double *all = block, *distance = all + B * S * E, *x = distance + S;
    for (int64_t b = 0; b < B; b++) {
        world null = *w;
        figures f = {.hit = all + b * S * E, .distance = distance};
        /* streams of a shuffle go by the column, so they stand apart by more than that */
        GEODEC_TRY(geodec_surrogate_draw(to->kind, w->points, w->n, w->x, w->o->seed,
                                         geodec_rng_id("coverage null", stream * 4096 + (uint64_t)b), x, err));
        null.x = x;
        GEODEC_TRY(
            run_cloud(&null, w->o->null_repeats, stream * 64 + 1 + (uint64_t)b, cached, NULL, to->what, &f, err));
        for (int64_t s = 0; s < S; s++) to->distance[s] += distance[s] / (double)B;
    }
    for (int64_t i = 0; i < S * E; i++) {
        const int64_t held = w->points - cached[i / E], queries = held < w->o->queries ? held : w->o->queries;
        const double resolution = 1 / (double)(queries * w->o->repeats);
        for (int64_t b = 0; b < B; b++) column[b] = all[b * S * E + i];
        to->mean[i] = geodec_stats_mean(B, column);
        to->sd[i] = B > 1 ? sqrt(geodec_stats_variance(B, column)) : 0;
        to->z[i] = B > 1 ? (hit[i] - to->mean[i]) / fmax(to->sd[i], resolution) : 0;
    }
done:
    geodec_mem_free(block);
    geodec_mem_free(column);
    return st;
}

/* Slope of ln distance over ln N for each share; sizes where the distance is zero take no part. */
static void fit_trend(const geodec_coverage *c, const double *distance, double *slope, double *se)
{
    double x[GEODEC_COVERAGE_SIZES], y[GEODEC_COVERAGE_SIZES];
    for (int64_t s = 0; s < c->shares; s++) {
        int64_t used = 0;
        for (int64_t l = 0; l < c->sizes; l++) {
            const double d = distance[l * c->shares + s];
            if (!(d > 0)) continue;
            x[used] = log((double)c->size[l]);
            y[used++] = log(d);
        }
        geodec_stats_line line;
        if (used < 2 || geodec_stats_fit_line(used, x, y, NULL, &line, NULL) != GEODEC_OK) continue;
        slope[s] = line.slope;
        if (se && used > 2) se[s] = line.slope_se;
    }
}

/* ---- the experiment --------------------------------------------------------------------------------------------- */

static geodec_status options_ok(const geodec_coverage_options *o, int64_t points, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX || points < 4)
        GEODEC_THROW(GEODEC_RANGE, "%lld points of dimension %lld", (long long)points, (long long)n);
    if (o->n_sizes < 0 || o->n_sizes > GEODEC_COVERAGE_SIZES || o->n_shares < 1 ||
        o->n_shares > GEODEC_COVERAGE_SHARES || o->n_eps < 1 || o->n_eps > GEODEC_COVERAGE_EPS)
        GEODEC_THROW(GEODEC_RANGE, "%lld sizes, %lld shares, %lld distances", (long long)o->n_sizes,
                     (long long)o->n_shares, (long long)o->n_eps);
    if (o->repeats < 1 || o->repeats > 64 || o->queries < 1 || o->nulls < 0 || o->nulls > 60 ||
        (o->nulls > 0 && (o->null_repeats < 1 || o->null_repeats > 64)))
        GEODEC_THROW(GEODEC_RANGE, "%lld splits, %lld queries, %lld null clouds of %lld splits", (long long)o->repeats,
                     (long long)o->queries, (long long)o->nulls, (long long)o->null_repeats);
    for (int64_t i = 0; i < o->n_sizes; i++)
        if (o->size[i] <= (i ? o->size[i - 1] : 3) || o->size[i] > points)
            GEODEC_THROW(GEODEC_RANGE, "sizes must rise from 4 to the %lld points", (long long)points);
    for (int64_t i = 0; i < o->n_shares; i++)
        if (!(o->share[i] > (i ? o->share[i - 1] : 0)) || !(o->share[i] < 1))
            GEODEC_THROW(GEODEC_RANGE, "cached shares must rise within (0, 1)");
    for (int64_t i = 0; i < o->n_eps; i++)
        if (!(o->eps[i] > (i ? o->eps[i - 1] : 0)) || !isfinite(o->eps[i]))
            GEODEC_THROW(GEODEC_RANGE, "distances must rise from above 0");
done:
    return st;
}

static int64_t cache_size(double share, int64_t points)
{
    const int64_t c = (int64_t)floor(share * (double)points + 0.5);
    return c < 1 ? 1 : c > points - 1 ? points - 1 : c;
}

static geodec_status reserve(const geodec_coverage_options *o, int64_t points, geodec_coverage *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    c->sizes = o->n_sizes ? o->n_sizes : 1;
    c->shares = o->n_shares;
    c->n_eps = o->n_eps;
    const int64_t LS = c->sizes * c->shares, LSE = LS * c->n_eps;
    GEODEC_NEW(c->size, c->sizes);
    GEODEC_NEW(c->share, c->shares);
    GEODEC_NEW(c->eps, c->n_eps);
    GEODEC_NEW(c->cached, LS);
    double **by_share[] = {&c->distance,       &c->recall,        &c->closed_form,
                           &c->leaky_distance, &c->null_distance, &c->second_distance};
    double **by_eps[] = {&c->hit,     &c->hit_p10, &c->hit_p90,     &c->leaky,     &c->null_mean,
                         &c->null_sd, &c->z,       &c->second_mean, &c->second_sd, &c->second_z};
    double **by_trend[] = {&c->trend, &c->null_trend, &c->trend_se};
    for (size_t i = 0; i < sizeof by_share / sizeof *by_share; i++) GEODEC_NEW(*by_share[i], LS);
    for (size_t i = 0; i < sizeof by_eps / sizeof *by_eps; i++) GEODEC_NEW(*by_eps[i], LSE);
    for (size_t i = 0; i < sizeof by_trend / sizeof *by_trend; i++) GEODEC_NEW(*by_trend[i], c->shares);
    for (int64_t i = 0; i < c->sizes; i++) c->size[i] = o->n_sizes ? o->size[i] : points;
    memcpy(c->share, o->share, (size_t)c->shares * sizeof *c->share);
    memcpy(c->eps, o->eps, (size_t)c->n_eps * sizeof *c->eps);
done:
    return st;
}

static geodec_status run_size(const world *base, int64_t size, int64_t points, const double *point, geodec_coverage *c,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = base->n, N = c->size[size], S = c->shares, E = c->n_eps;
    world w = *base;
    geodec_metric leaky = {0};
    geodec_metric_options o = base->o->metric;
    int64_t *chosen = NULL;
    double *x = NULL;
    GEODEC_NEW(chosen, N);
    GEODEC_NEW(x, N * n);
    GEODEC_TRY(
        geodec__choose_subset(base->o->seed, geodec_rng_id("coverage points", (uint64_t)size), points, N, chosen, err));
    for (int64_t i = 0; i < N; i++) memcpy(x + i * n, point + chosen[i] * n, (size_t)n * sizeof *x);
    w.points = N;
    w.x = x;
    int64_t *cached = c->cached + size * S;
    for (int64_t s = 0; s < S; s++) c->closed_form[size * S + s] = geodec_coverage_closed_form(N, w.k, cached[s]);
    figures f = {c->hit + size * S * E, c->hit_p10 + size * S * E, c->hit_p90 + size * S * E, c->distance + size * S,
                 c->recall + size * S};
    figures leaked = {.hit = c->leaky + size * S * E, .distance = c->leaky_distance + size * S};
    const uint64_t stream = (uint64_t)size;
    GEODEC_TRY(run_cloud(&w, w.o->repeats, stream * 64, cached, NULL, "coverage", &f, err));
    o.k = w.k;
    GEODEC_TRY(geodec_metric_fit(N, n, x, &o, w.pool, NULL, &leaky, err));
    GEODEC_TRY(run_cloud(&w, w.o->repeats, stream * 64, cached, &leaky, "leaky control", &leaked, err));
    const null_figures gaussian = {GEODEC_SURROGATE_GAUSSIAN, "Gaussian clouds",   c->null_mean + size * S * E,
                                   c->null_sd + size * S * E, c->z + size * S * E, c->null_distance + size * S};
    const null_figures second = {w.o->second,
                                 "surrogate clouds",
                                 c->second_mean + size * S * E,
                                 c->second_sd + size * S * E,
                                 c->second_z + size * S * E,
                                 c->second_distance + size * S};
    GEODEC_TRY(run_null(&w, stream, cached, f.hit, &gaussian, err));
    GEODEC_TRY(run_null(&w, (uint64_t)(GEODEC_COVERAGE_SIZES + size), cached, f.hit, &second, err));
done:
    geodec_metric_clear(&leaky);
    geodec_mem_free(chosen);
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_coverage_compute(int64_t points, int64_t n, const double *point, const geodec_coverage_options *o,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_coverage *out,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_coverage c = {.n = n, .repeats = o->repeats, .nulls = o->nulls, .second = o->second};
    world w = {.n = n, .o = o, .pool = pool, .hooks = hooks};
    int64_t smallest = INT64_MAX;
    GEODEC_TRY(options_ok(o, points, n, err));
    GEODEC_TRY(reserve(o, points, &c, err));
    for (int64_t i = 0; i < c.sizes * c.shares; i++) {
        c.cached[i] = cache_size(c.share[i % c.shares], c.size[i / c.shares]);
        smallest = c.cached[i] < smallest ? c.cached[i] : smallest;
    }
    const int64_t wanted = o->metric.k > 0 ? o->metric.k : (2 * n > 16 ? 2 * n : 16);
    w.k = o->metric.k == 0 && wanted > smallest - 1 ? smallest - 1 : wanted;
    if (w.k > smallest - 1 || (w.k <= n && !o->metric.force_k))
        GEODEC_THROW(
            GEODEC_RANGE,
            "the smallest cache holds %lld points: too few for %lld neighbours in dimension %lld (more points, "
            "a larger share, or a lower dimension)",
            (long long)smallest, (long long)wanted, (long long)n);
    c.k = w.k;
    for (int64_t i = 0; i < c.sizes; i++) GEODEC_TRY(run_size(&w, i, points, point, &c, err));
    fit_trend(&c, c.distance, c.trend, c.trend_se);
    fit_trend(&c, c.null_distance, c.null_trend, NULL);
    *out = c;
    c = (geodec_coverage){0};
done:
    geodec_coverage_clear(&c);
    return st;
}
