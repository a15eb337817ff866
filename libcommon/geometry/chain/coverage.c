#include "chain/coverage.h"

#include "artifact/binding.h"
#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/space_closed.h"
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

/* ---- one split -------------------------------------------------------------------------------------------------- */

typedef struct split {
    int64_t n, cached;
    const double *cache;     /* [cached][n] */
    const double *query;     /* [queries][n] */
    const geodec_rbf *field; /* of the metric, or NULL: */
    const double *metric;    /* [queries][n][n] */
    const int64_t *order;    /* [queries] numbers of the held-out points, which name their random streams */
    double noise;            /* standard deviation of an error in each coordinate */
    uint64_t seed;
    double *distance; /* [queries] to the g-nearest cached point */
    double *twin;     /* [queries] to a second measurement of the same state */
    uint8_t *agrees;  /* [queries] the nearest cached point in Euclidean distance is also the g-nearest */
} split;

/* Length under g of the difference between two measurements of a state: both have an error. */
static double twin_distance(const split *s, int64_t i, const double *g)
{
    geodec_rng r = geodec_rng_stream(s->seed, geodec_rng_id("coverage twin", (uint64_t)s->order[i]));
    double v[GEODEC_SPACE_DIM_MAX];
    for (int64_t k = 0; k < s->n; k++) v[k] = sqrt(2) * s->noise * geodec_rng_normal(&r);
    return sqrt(fmax(geodec__norm2(s->n, g, v), 0));
}

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
    s->distance[i] = sqrt(fmax(best, 0));
    s->twin[i] = twin_distance(s, i, g);
    s->agrees[i] = at == at_euclid;
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

/* What a split measures. */
static int64_t columns(const geodec_coverage_options *o) { return 2 * o->n_eps + 3; }

static double share_within(int64_t count, const double *distance, double eps)
{
    int64_t hits = 0;
    for (int64_t i = 0; i < count; i++) hits += distance[i] <= eps;
    return (double)hits / (double)count;
}

/* One split of the points in the order [points]: the first `cached` are the cache, the next ones are queries. leaky:
 * the metric of every point, or NULL. row [columns]: the share within each eps, the mean distance, the share where
 * the Euclidean and the g-nearest cached point agree; then share and mean distance of the twins. */
static geodec_status run_split(const world *w, const int64_t *order, int64_t cached, const geodec_metric *leaky,
                               double *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = w->n, held = w->points - cached, queries = held < w->o->queries ? held : w->o->queries,
                  E = w->o->n_eps;
    geodec_metric m = {0};
    geodec_metric_options o = w->o->metric;
    geodec_rbf *field = NULL;
    double *block = NULL, *metric = NULL;
    uint8_t *agrees = NULL;
    int64_t agree = 0;
    GEODEC_NEW(block, (cached + queries) * n + 2 * queries);
    GEODEC_NEW(agrees, queries);
    double *query = block + cached * n, *distance = query + queries * n, *twin = distance + queries;
    for (int64_t i = 0; i < cached + queries; i++)
        memcpy(block + i * n, w->x + order[i] * n, (size_t)n * sizeof *block);
    if (leaky) {
        GEODEC_NEW(metric, queries * n * n);
        for (int64_t i = 0; i < queries; i++)
            GEODEC_TRY(geodec_metric_at_point(leaky, order[cached + i], metric + i * n * n, err));
    } else {
        o.k = w->k;
        GEODEC_TRY(geodec_metric_fit(cached, n, block, &o, w->pool, NULL, &m, err));
        GEODEC_TRY(geodec_metric_field(&m, &field, err));
    }
    split s = {.n = n,
               .cached = cached,
               .cache = block,
               .query = query,
               .field = field,
               .metric = metric,
               .order = order + cached,
               .noise = w->o->noise,
               .seed = w->o->seed,
               .distance = distance,
               .twin = twin,
               .agrees = agrees};
    GEODEC_TRY(geodec__tasks_run(w->pool, NULL, "held-out points", queries, query_task, &s, err));
    for (int64_t i = 0; i < queries; i++) agree += agrees[i];
    for (int64_t e = 0; e < E; e++) {
        row[e] = share_within(queries, distance, w->o->eps[e]);
        row[E + 2 + e] = share_within(queries, twin, w->o->eps[e]);
    }
    row[E] = geodec_stats_mean(queries, distance);
    row[E + 1] = (double)agree / (double)queries;
    row[2 * E + 2] = geodec_stats_mean(queries, twin);
done:
    geodec_metric_clear(&m);
    geodec_rbf_destroy(field);
    GEODEC_FREE(block, metric, agrees);
    return st;
}

/* ---- all splits of one cloud ------------------------------------------------------------------------------------ */

/* Results of one cloud; every array may be NULL. */
typedef struct figures {
    double *hit, *hit_p10, *hit_p90; /* [S][E] */
    double *distance, *recall;       /* [S] */
    double *twin, *twin_distance;    /* [S][E], [S] */
} figures;

/* The splits of one cloud, or of the clouds of one null. Each task is a split. */
typedef struct splits {
    const world *w;
    int64_t repeats;       /* of each share */
    uint64_t stream;       /* of the first cloud; separates the random streams of the clouds */
    const int64_t *cached; /* [S] */
    int64_t *order;        /* [points] */
    double *result;        /* [tasks][columns] */
    /* the leaky control: the metric of all points, fitted when the first split needs it */
    bool leaks;
    geodec_metric leaky;
    /* a null: x is the surrogate `current` */
    bool null;
    geodec_surrogate kind;
    uint64_t draw; /* of surrogate 0 */
    double *x;     /* [points][n] */
    int64_t current;
} splits;

static geodec_status split_task(void *ctx, int64_t task, geodec_err *err)
{
    splits *p = ctx;
    const int64_t S = p->w->o->n_shares, cloud = task / (S * p->repeats), split_of = task % (S * p->repeats);
    world w = *p->w;
    if (p->null) {
        /* a shuffle adds the column to its stream number, so the numbers of the clouds are hashes */
        if (p->current != cloud)
            GEODEC_PASS(geodec_surrogate_draw(p->kind, w.points, w.n, w.x, w.o->seed,
                                              geodec_rng_id("coverage null", p->draw + (uint64_t)cloud), p->x, err));
        p->current = cloud;
        w.x = p->x;
    }
    if (p->leaks && !p->leaky.points) {
        geodec_metric_options o = w.o->metric;
        o.k = w.k;
        GEODEC_PASS(geodec_metric_fit(w.points, w.n, w.x, &o, w.pool, NULL, &p->leaky, err));
    }
    geodec__choose_order(w.o->seed,
                         geodec_rng_id("coverage split", (p->stream + (uint64_t)cloud) * 4096 + (uint64_t)split_of),
                         w.points, p->order);
    GEODEC_PASS(run_split(&w, p->order, p->cached[split_of / p->repeats], p->leaks ? &p->leaky : NULL,
                          p->result + task * columns(w.o), err));
    return GEODEC_OK;
}

/* Runs all tasks of p; the caller has allocated their results. Splits run one after another, since each uses all
 * threads. */
static geodec_status run_splits(splits *p, int64_t clouds, const char *what, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const world *w = p->w;
    const int64_t width = columns(w->o), tasks = clouds * w->o->n_shares * p->repeats;
    GEODEC_NEW(p->order, w->points);
    GEODEC_NEW(p->result, tasks * width);
    const geodec_sweep_result result = {p->result, 1, width * (int64_t)sizeof *p->result};
    GEODEC_TRY(geodec_sweep_run(w->o->sweep, NULL, w->hooks, what, tasks, 1, split_task, p, &result, 1, err));
done:
    return st;
}

static void splits_clear(splits *p)
{
    geodec_metric_clear(&p->leaky);
    GEODEC_FREE(p->order, p->result, p->x);
}

/* Means and percentiles over the splits of one cloud; result [S][repeats][columns]. */
static geodec_status sum_up(const geodec_coverage_options *o, int64_t repeats, const double *result, figures *out,
                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t S = o->n_shares, E = o->n_eps, width = columns(o);
    double *column = NULL;
    GEODEC_NEW(column, repeats);
    for (int64_t s = 0; s < S; s++) {
        const double *rows = result + s * repeats * width;
        for (int64_t e = 0; e < width; e++) {
            for (int64_t r = 0; r < repeats; r++) column[r] = rows[r * width + e];
            const double mean = geodec_stats_mean(repeats, column);
            if (e == E && out->distance) out->distance[s] = mean;
            if (e == E + 1 && out->recall) out->recall[s] = mean;
            if (e > E + 1 && e < width - 1 && out->twin) out->twin[s * E + e - E - 2] = mean;
            if (e == width - 1 && out->twin_distance) out->twin_distance[s] = mean;
            if (e >= E) continue;
            if (out->hit) out->hit[s * E + e] = mean;
            geodec_stats_sort(repeats, column);
            if (out->hit_p10) out->hit_p10[s * E + e] = geodec_stats_percentile(repeats, column, 0.1);
            if (out->hit_p90) out->hit_p90[s * E + e] = geodec_stats_percentile(repeats, column, 0.9);
        }
    }
done:
    geodec_mem_free(column);
    return st;
}

static geodec_status run_cloud(const world *w, uint64_t stream, const int64_t *cached, bool leaks, const char *what,
                               figures *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    splits p = {.w = w, .repeats = w->o->repeats, .stream = stream, .cached = cached, .leaks = leaks};
    GEODEC_TRY(run_splits(&p, 1, what, err));
    if (!geodec_sweep_partial(w->o->sweep)) GEODEC_TRY(sum_up(w->o, p.repeats, p.result, out, err));
done:
    splits_clear(&p);
    return st;
}

/* ---- nulls ------------------------------------------------------------------------------------------------------- */

/* Where the figures of one null for one size are stored. */
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
    splits p = {.w = w,
                .repeats = w->o->null_repeats,
                .stream = stream * 64 + 1,
                .cached = cached,
                .null = true,
                .kind = to->kind,
                .draw = stream * 4096,
                .current = -1};
    double *block = NULL, *column = NULL;
    if (B == 0) goto done;
    GEODEC_NEW(block, B * S * E + S);
    GEODEC_NEW(column, B);
    GEODEC_NEW(p.x, w->points * w->n);
    GEODEC_TRY(run_splits(&p, B, to->what, err));
    if (geodec_sweep_partial(w->o->sweep)) goto done;
    double *all = block, *distance = all + B * S * E;
    for (int64_t b = 0; b < B; b++) {
        figures f = {.hit = all + b * S * E, .distance = distance};
        GEODEC_TRY(sum_up(w->o, p.repeats, p.result + b * S * p.repeats * columns(w->o), &f, err));
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
    splits_clear(&p);
    GEODEC_FREE(block, column);
    return st;
}

/* Slope of ln distance over ln N for each share; sizes where the distance is zero are left out. */
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
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX) GEODEC_FAIL(GEODEC_RANGE, "points of dimension %lld", (long long)n);
    if (points < 4) GEODEC_FAIL(GEODEC_SCARCE, "%lld points; coverage needs at least 4", (long long)points);
    if (o->n_sizes < 0 || o->n_sizes > GEODEC_COVERAGE_SIZES || o->n_shares < 1 ||
        o->n_shares > GEODEC_COVERAGE_SHARES || o->n_eps < 1 || o->n_eps > GEODEC_COVERAGE_EPS)
        GEODEC_FAIL(GEODEC_RANGE, "%lld sizes, %lld shares, %lld distances", (long long)o->n_sizes,
                    (long long)o->n_shares, (long long)o->n_eps);
    if (o->repeats < 1 || o->repeats > 64 || o->queries < 1 || o->nulls < 0 || o->nulls > 60 ||
        (o->nulls > 0 && (o->null_repeats < 1 || o->null_repeats > 64)))
        GEODEC_FAIL(GEODEC_RANGE, "%lld splits, %lld queries, %lld null clouds of %lld splits", (long long)o->repeats,
                    (long long)o->queries, (long long)o->nulls, (long long)o->null_repeats);
    for (int64_t i = 0; i < o->n_sizes; i++)
        if (o->size[i] <= (i ? o->size[i - 1] : 3) || o->size[i] > points)
            GEODEC_FAIL(GEODEC_RANGE, "sizes must rise from 4 to the %lld points", (long long)points);
    for (int64_t i = 0; i < o->n_shares; i++)
        if (!(o->share[i] > (i ? o->share[i - 1] : 0)) || !(o->share[i] < 1))
            GEODEC_FAIL(GEODEC_RANGE, "cached shares must rise within (0, 1)");
    for (int64_t i = 0; i < o->n_eps; i++)
        if (!(o->eps[i] > (i ? o->eps[i - 1] : 0)) || !isfinite(o->eps[i]))
            GEODEC_FAIL(GEODEC_RANGE, "distances must rise from above 0");
    if (!(o->noise >= 0) || !isfinite(o->noise)) GEODEC_FAIL(GEODEC_RANGE, "a noise of %g", o->noise);
    return GEODEC_OK;
}

static int64_t cache_size(double share, int64_t points)
{
    const int64_t c = (int64_t)floor(share * (double)points + 0.5);
    return c < 1 ? 1 : c > points - 1 ? points - 1 : c;
}

static geodec_status reserve(const geodec_coverage_options *o, int64_t points, geodec_coverage *c, geodec_err *err)
{
    c->sizes = o->n_sizes ? o->n_sizes : 1;
    c->shares = o->n_shares;
    c->n_eps = o->n_eps;
    GEODEC_PASS(geodec_artifact_reserve(&geodec_coverage_kind, c, err));
    for (int64_t i = 0; i < c->sizes; i++) c->size[i] = o->n_sizes ? o->size[i] : points;
    memcpy(c->share, o->share, (size_t)c->shares * sizeof *c->share);
    memcpy(c->eps, o->eps, (size_t)c->n_eps * sizeof *c->eps);
    return GEODEC_OK;
}

static geodec_status run_size(const world *base, int64_t size, int64_t points, const double *point, geodec_coverage *c,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = base->n, N = c->size[size], S = c->shares, E = c->n_eps;
    world w = *base;
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
    const int64_t at = size * S, at_eps = at * E;
    figures f = {.hit = c->hit + at_eps,
                 .hit_p10 = c->hit_p10 + at_eps,
                 .hit_p90 = c->hit_p90 + at_eps,
                 .distance = c->distance + at,
                 .recall = c->recall + at,
                 .twin = c->twin + at_eps,
                 .twin_distance = c->twin_distance + at};
    figures leaked = {.hit = c->leaky + at_eps, .distance = c->leaky_distance + at};
    const uint64_t stream = (uint64_t)size;
    GEODEC_TRY(run_cloud(&w, stream * 64, cached, false, "coverage", &f, err));
    GEODEC_TRY(run_cloud(&w, stream * 64, cached, true, "leaky control", &leaked, err));
    const null_figures gaussian = {GEODEC_SURROGATE_GAUSSIAN, "Gaussian clouds", c->null_mean + at_eps,
                                   c->null_sd + at_eps,       c->z + at_eps,     c->null_distance + at};
    const null_figures second = {w.o->second,           "surrogate clouds",   c->second_mean + at_eps,
                                 c->second_sd + at_eps, c->second_z + at_eps, c->second_distance + at};
    GEODEC_TRY(run_null(&w, stream, cached, f.hit, &gaussian, err));
    GEODEC_TRY(run_null(&w, (uint64_t)(GEODEC_COVERAGE_SIZES + size), cached, f.hit, &second, err));
done:
    GEODEC_FREE(chosen, x);
    return st;
}

geodec_status geodec_coverage_compute(int64_t points, int64_t n, const double *point, const geodec_coverage_options *o,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_coverage *out,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_coverage c = {.n = n, .repeats = o->repeats, .nulls = o->nulls, .noise = o->noise, .second = o->second};
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
        GEODEC_THROW(o->metric.k > 0 ? GEODEC_RANGE : GEODEC_SCARCE,
                     "the smallest cache holds %lld points; a metric in %lld dimensions needs at least %lld (more "
                     "points, a larger share, or a lower dimension)",
                     (long long)smallest, (long long)n, (long long)(o->metric.k > 0 ? wanted + 1 : n + 2));
    c.k = w.k;
    for (int64_t i = 0; i < c.sizes; i++) GEODEC_TRY(run_size(&w, i, points, point, &c, err));
    fit_trend(&c, c.distance, c.trend, c.trend_se);
    fit_trend(&c, c.null_distance, c.null_trend, NULL);
    *out = c;
done:
    if (st != GEODEC_OK) geodec_coverage_clear(&c);
    return st;
}

void geodec_coverage_sizes(geodec_coverage_options *o, bool sweep, int64_t count, int64_t n)
{
    const double need = (double)((o->metric.k > 0 ? o->metric.k : n + 1) + 2) / o->share[0];
    const double least = fmax((double)count / 4, ceil(need));
    o->n_sizes = 0;
    for (int i = 0; sweep && i < 2; i++) {
        const int64_t size = (int64_t)floor(least * pow((double)count / least, 0.5 * i) + 0.5);
        if (size < count && (o->n_sizes == 0 || size > o->size[o->n_sizes - 1])) o->size[o->n_sizes++] = size;
    }
    o->size[o->n_sizes++] = count;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_coverage, m)
#define IN(m) GEODEC_IN(geodec_coverage, m)
static const geodec_field fields[] = {
    {"/size", GEODEC_I64, "L", 0, "1", "N: points of the experiment", 0, AT(size)},
    {"/share", GEODEC_F64, "S", 0, "1", "cached share of the points", 0, AT(share)},
    {"/eps", GEODEC_F64, "E", 0, "1", "g-distances", 0, AT(eps)},
    {"/cached", GEODEC_I64, "L,S", 0, "1", "c: cached points", 0, AT(cached)},
    {"/hit", GEODEC_F64, "L,S,E", 0, "1",
     "share of held-out points with a cached one within eps; metric fitted on the cached points alone", 0, AT(hit)},
    {"/hit_p10", GEODEC_F64, "L,S,E", 0, "1", "10th percentile over the splits", 0, AT(hit_p10)},
    {"/hit_p90", GEODEC_F64, "L,S,E", 0, "1", "90th percentile", 0, AT(hit_p90)},
    {"/distance", GEODEC_F64, "L,S", 0, "1", "mean g-distance to the g-nearest cached point", 0, AT(distance)},
    {"/recall", GEODEC_F64, "L,S", 0, "1", "share where the Euclid-nearest cached point is the g-nearest", 0,
     AT(recall)},
    {"/closed_form", GEODEC_F64, "L,S", 0, "1", "control: 1 - C(N-1-k,c) / C(N-1,c)", 0, AT(closed_form)},
    {"/leaky", GEODEC_F64, "L,S,E", 0, "1",
     "control: hits with the held-out point's metric fitted on all points; repeats the closed form above sqrt(k-1)", 0,
     AT(leaky)},
    {"/leaky_distance", GEODEC_F64, "L,S", 0, "1", "control: its mean g-distance", 0, AT(leaky_distance)},
    {"/null_mean", GEODEC_F64, "L,S,E", 0, "1", "control: hits on Gaussian clouds of the same covariance", 0,
     AT(null_mean)},
    {"/null_sd", GEODEC_F64, "L,S,E", 0, "1", "standard deviation over those clouds", 0, AT(null_sd)},
    {"/z", GEODEC_F64, "L,S,E", 0, "1", "(hit - null_mean) / max(null_sd, one query); 0 with fewer than 2 clouds", 0,
     AT(z)},
    {"/null_distance", GEODEC_F64, "L,S", 0, "1", "control: mean g-distance on Gaussian clouds", 0, AT(null_distance)},
    {"/second_mean", GEODEC_F64, "L,S,E", 0, "1", "control: hits on the second surrogate (attribute second_null)", 1,
     AT(second_mean)},
    {"/second_sd", GEODEC_F64, "L,S,E", 0, "1", "standard deviation over those clouds", 1, AT(second_sd)},
    {"/second_z", GEODEC_F64, "L,S,E", 0, "1", "(hit - second_mean) / max(second_sd, one query)", 1, AT(second_z)},
    {"/second_distance", GEODEC_F64, "L,S", 0, "1", "control: mean g-distance on those clouds", 1, AT(second_distance)},
    {"/trend", GEODEC_F64, "S", 0, "1", "slope of ln distance over ln N; 0 with fewer than 2 sizes", 1, AT(trend)},
    {"/trend_se", GEODEC_F64, "S", 0, "1", "its standard error about the line; 0 with fewer than 3 sizes", 1,
     AT(trend_se)},
    {"/null_trend", GEODEC_F64, "S", 0, "1", "control: the same slope on Gaussian clouds", 1, AT(null_trend)},
    {"/twin", GEODEC_F64, "L,S,E", 0, "1",
     "control: share of held-out points whose state, measured a second time with the noise of the attribute, is within "
     "eps: hits if every state had been seen before",
     4, AT(twin)},
    {"/twin_distance", GEODEC_F64, "L,S", 0, "1", "control: mean g-distance to the second measurement", 4,
     AT(twin_distance)},
    /* not bound: geodec_coverage_task_write */
    {"/task/tolerance", GEODEC_F64, "7", GEODEC_FIELD_OPTIONAL, "rms step", "tolerances of the predicted next state",
     2},
    {"/task/error", GEODEC_F64, "S,5", GEODEC_FIELD_OPTIONAL, "rms step",
     "mean error of the next state: nearest cached successor moved by the difference, copied; controls: the state "
     "itself, a random cached step, a random cached successor",
     2},
    {"/task/hit", GEODEC_F64, "S,5,7", GEODEC_FIELD_OPTIONAL, "1", "share of held-out states within the tolerance", 2},
    {"/task/token", GEODEC_F64, "S,3", GEODEC_FIELD_OPTIONAL, "1",
     "share whose argmax equals that of the nearest cached state; controls: of a random one, the most frequent one", 2},
    {"/task/kl_tolerance", GEODEC_F64, "6", GEODEC_FIELD_OPTIONAL, "nat", "tolerances of the divergence", 3},
    {"/task/kl", GEODEC_F64, "S,3", GEODEC_FIELD_OPTIONAL, "nat",
     "mean KL(p || q), p the model's distribution at the held-out state, q at the nearest cached one; controls: at a "
     "random one, the mean of the cache",
     3},
    {"/task/kl_hit", GEODEC_F64, "S,3,6", GEODEC_FIELD_OPTIONAL, "1", "share of held-out states within the tolerance",
     3},
};

static const geodec_attr attrs[] = {
    {"second_null", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "phase (random Fourier phases along the text) or shuffle (each coordinate permuted on its own)",
     GEODEC_NAMED(geodec_coverage, second, geodec_surrogate_names)},
    {"n", GEODEC_ATTR_I64, 0, "dimension: first principal coordinates", IN(n)},
    {"k", GEODEC_ATTR_I64, 0, "neighbours of the metric", IN(k)},
    {"repeats", GEODEC_ATTR_I64, 0, "random splits", IN(repeats)},
    {"nulls", GEODEC_ATTR_I64, 0, "clouds of each null", IN(nulls)},
    {"noise", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "standard deviation of an error in each coordinate", IN(noise)},
};

static const geodec_extent extents[] = {{"L", IN(sizes)}, {"S", IN(shares)}, {"E", IN(n_eps)}};

const geodec_kind geodec_coverage_kind = {
    .name = "coverage",
    .major = 1,
    .minor = 4,
    .tool = "geodec-coverage",
    .purpose = "how often new points find a cached one, against closed form and Gaussian clouds",
    GEODEC_TABLES(fields, attrs, extents),
};

void geodec_coverage_clear(geodec_coverage *c)
{
    geodec_artifact_clear(&geodec_coverage_kind, c);
    *c = (geodec_coverage){0};
}

void geodec_coverage_say(const geodec_hooks *hooks, const geodec_coverage *v)
{
    const int64_t l = v->sizes - 1, S = v->shares, E = v->n_eps;
    geodec_hooks_log(
        hooks, GEODEC_LOG_INFO, "%lld points, dimension %lld, %lld neighbours, %lld splits, %lld clouds of each null",
        (long long)v->size[l], (long long)v->n, (long long)v->k, (long long)v->repeats, (long long)v->nulls);
    for (int64_t s = 0; s < S; s++) {
        /* the eps at which the measured share is nearest to one half */
        int64_t at = 0;
        for (int64_t e = 1; e < E; e++) {
            const double *h = v->hit + (l * S + s) * E;
            const double d = h[e] - 0.5, best = h[at] - 0.5;
            if (d * d < best * best) at = e;
        }
        const int64_t i = (l * S + s) * E + at;
        geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                         "%2.0f %% cached: mean g-distance %.3g (Gaussian %.3g); within %g: %.1f %% (Gaussian %.1f %%, "
                         "z %.1f; %s %.1f %%, z %.1f; leaky %.1f %%, closed form %.1f %%; the same state measured "
                         "twice %.1f %%)",
                         100 * v->share[s], v->distance[l * S + s], v->null_distance[l * S + s], v->eps[at],
                         100 * v->hit[i], 100 * v->null_mean[i], v->z[i], geodec_surrogate_name(v->second),
                         100 * v->second_mean[i], v->second_z[i], 100 * v->leaky[i], 100 * v->closed_form[l * S + s],
                         100 * v->twin[i]);
        if (v->sizes > 1)
            geodec_hooks_log(hooks, GEODEC_LOG_INFO, "             distance = a N^%.3f (Gaussian N^%.3f)", v->trend[s],
                             v->null_trend[s]);
    }
}
