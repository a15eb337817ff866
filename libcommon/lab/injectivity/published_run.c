/* The published experiment as a whole, and its artifact. */
#include "lab/injectivity/published.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "base/rng.h"
#include "base/tasks.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LEVELS = 8, PER = 6, MAX_N = GEODEC_PUBLISHED_MAX_N };
static const double grid[LEVELS] = {0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4};

void geodec_injectivity_published_clear(geodec_injectivity_published *r)
{
    GEODEC_FREE(r->anchor, r->query, r->raw, r->measured, r->velocity, r->all_raw, r->all_measured);
    *r = (geodec_injectivity_published){0};
}

typedef struct job {
    const geodec_harness_manifold *m;
    const double *point;
    geodec_injectivity_published *r;
    geodec_injectivity_published_radius_options o;
    uint64_t seed;
} job;

static geodec_status point_task(void *ctx, int64_t p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *j = ctx;
    const int64_t n = j->m->n;
    geodec_published_raw raw;
    double *delta = NULL, v[MAX_N];
    GEODEC_NEW(delta, LEVELS * PER * n);
    geodec_rng g = geodec_rng_stream(j->seed, geodec_rng_id("published-injectivity", (uint64_t)p));
    for (int64_t i = 0; i < n; i++) v[i] = geodec_rng_normal(&g);
    for (int64_t i = 0; i < LEVELS * PER * n; i++) delta[i] = geodec_rng_normal(&g);
    GEODEC_TRY(geodec_harness_unit(j->m, j->point + p * n, v, err));
    GEODEC_TRY(geodec_injectivity_published_radius_raw(j->m, j->r->points, j->point, p, &j->o, &raw, err));
    j->r->all_raw[p] = raw.raw;
    GEODEC_TRY(geodec_injectivity_published_radius_measure(j->m, j->point + p * n, v, LEVELS, grid, PER, delta, &j->o,
                                                           NULL, &j->r->all_measured[p], err));
done:
    geodec_mem_free(delta);
    return st;
}

static geodec_status query_task(void *ctx, int64_t q, geodec_err *err)
{
    const job *j = ctx;
    return geodec_injectivity_published_velocity_proxy(j->m, j->r->points, j->point, j->r->query[q], &j->o,
                                                       &j->r->velocity[q], err);
}

geodec_status geodec_injectivity_published_run(int64_t points, int64_t n, const double *point, int64_t anchors,
                                               const int64_t *anchor, const double *measured, int64_t queries,
                                               const int64_t *query, uint64_t seed, geodec_pool *pool,
                                               const geodec_hooks *hooks, geodec_injectivity_published *out,
                                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_injectivity_published r = {.anchors = anchors, .queries = queries, .points = points};
    geodec_harness_manifold m = {0};
    const geodec_harness_options o = geodec_harness_defaults();
    if (anchors < 2 || queries < 1 || anchors > 4096)
        GEODEC_THROW(GEODEC_RANGE, "%lld anchors and %lld queries: 2 and 1 are needed", (long long)anchors,
                     (long long)queries);
    for (int64_t i = 0; i < anchors + queries; i++) {
        const int64_t p = i < anchors ? anchor[i] : query[i - anchors];
        if (p < 0 || p >= points)
            GEODEC_THROW(GEODEC_RANGE, "point %lld is not one of %lld", (long long)p, (long long)points);
    }
    GEODEC_NEW_EACH(anchors, r.raw, r.measured);
    GEODEC_NEW(r.velocity, queries);
    GEODEC_NEW_EACH(points, r.all_raw, r.all_measured);
    GEODEC_NEW_COPY(r.anchor, anchor, anchors);
    GEODEC_NEW_COPY(r.query, query, queries);
    GEODEC_TRY(geodec_harness_manifold_fit(points, n, point, &o, pool, hooks, &m, err));
    job j = {&m, point, &r, geodec_injectivity_published_radius_defaults(), seed};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "points", points, point_task, &j, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "queries", queries, query_task, &j, err));
    for (int64_t i = 0; i < anchors; i++) {
        r.raw[i] = r.all_raw[anchor[i]];
        r.measured[i] = measured ? measured[i] : r.all_measured[anchor[i]];
    }
    geodec_injectivity_published_radius_calibrate(anchors, r.raw, r.measured, grid[0], grid[LEVELS - 1], &r.fit);
    geodec_injectivity_published_radius_calibrate(points < 4096 ? points : 4096, r.all_raw, r.all_measured, grid[0],
                                                  grid[LEVELS - 1], &r.all);
    for (int64_t q = 0; q < queries; q++) {
        r.cosine += r.velocity[q].cosine / (double)queries;
        r.error += r.velocity[q].error / (double)queries;
        r.local_cosine += r.velocity[q].local_cosine / (double)queries;
        r.local_error += r.velocity[q].local_error / (double)queries;
    }
    GEODEC_MOVE(*out, r);
done:
    geodec_harness_manifold_clear(&m);
    geodec_injectivity_published_clear(&r);
    return st;
}

typedef struct report {
    geodec_injectivity_published r;
    double mape, all_mape, nn[4], held_out[3]; /* errors in percent */
} report;
#define AT(m) GEODEC_AT(report, r.m)
#define IN(m) GEODEC_IN(report, m)

static const geodec_field fields[] = {
    {"/anchor", GEODEC_I64, "A", 0, "1", "points of the published run", 0, AT(anchor)},
    {"/raw", GEODEC_F64, "A", 0, "1", "rho_raw there", 0, AT(raw)},
    {"/measured", GEODEC_F64, "A", 0, "activation", "radius measured there (given)", 0, AT(measured)},
    {"/query", GEODEC_I64, "Q", 0, "1", "points at which the initial velocity was evaluated", 0, AT(query)},
    {"/cosine", GEODEC_F64, "Q", 0, "1", "of -grad(-log A) and the direction to the nearest point", 0,
     GEODEC_OF_ROW(geodec_published_velocity, cosine)},
    {"/all_raw", GEODEC_F64, "P", 0, "1", "rho_raw at every point", 0, AT(all_raw)},
    {"/all_measured", GEODEC_F64, "P", 0, "activation", "radius at every point, our own directions", 0,
     AT(all_measured)},
};
static const geodec_attr attrs[] = {
    {"C", GEODEC_ATTR_F64, 0, "calibration on the unsaturated anchors", IN(r.fit.C)},
    {"r_fit", GEODEC_ATTR_F64, 0, "correlation on them, in sample", IN(r.fit.r_fit)},
    {"r_all", GEODEC_ATTR_F64, 0, "correlation on all anchors", IN(r.fit.r_all)},
    {"mape", GEODEC_ATTR_F64, 0, "mean |error| / radius over anchors with a radius above 1e-6, percent", IN(mape)},
    {"rmse", GEODEC_ATTR_F64, 0, "root mean square error", IN(r.fit.rmse)},
    {"all_C", GEODEC_ATTR_F64, 0, "the same figures with every point as an anchor", IN(r.all.C)},
    {"all_r_fit", GEODEC_ATTR_F64, 0, "correlation on the points whose radius lies inside the grid", IN(r.all.r_fit)},
    {"all_r_all", GEODEC_ATTR_F64, 0, "correlation on all points", IN(r.all.r_all)},
    {"all_mape", GEODEC_ATTR_F64, 0, "mean |error| / radius, percent", IN(all_mape)},
    {"held_out_r", GEODEC_ATTR_F64, 0, "every point by C of the others: correlation", IN(held_out[0])},
    {"held_out_mape", GEODEC_ATTR_F64, 0, "the same: mean |error| / radius, percent", IN(held_out[1])},
    {"constant_mape", GEODEC_ATTR_F64, 0, "control: the mean of the others in place of the estimate, percent",
     IN(held_out[2])},
    {"cosine_mean", GEODEC_ATTR_F64, 0, "initial velocity by the gradient: mean cosine", IN(r.cosine)},
    {"error_mean", GEODEC_ATTR_F64, 0, "its mean relative error of the endpoint", IN(r.error)},
    {"local_cosine_mean", GEODEC_ATTR_F64, 0, "the form that is y - x itself: mean cosine", IN(r.local_cosine)},
    {"local_error_mean", GEODEC_ATTR_F64, 0, "its mean relative error", IN(r.local_error)},
    {"universal", GEODEC_ATTR_F64, 0, "Gamma(1/n)/sqrt(pi) (V_n/N)^(1/n) sigma", IN(nn[0])},
    {"nearest", GEODEC_ATTR_F64, 0, "mean Euclidean distance of a point to its nearest", IN(nn[1])},
    {"nearest_closed_form", GEODEC_ATTR_F64, 0, "control: that of a normal cloud, closed form for many points",
     IN(nn[2])},
    {"nearest_null", GEODEC_ATTR_F64, 0, "control: that of normal clouds of the same covariance, measured", IN(nn[3])},
    {"fitted", GEODEC_ATTR_I64, 0, "unsaturated anchors", IN(r.fit.fitted)},
    {"all_fitted", GEODEC_ATTR_I64, 0, "points whose radius lies inside the grid", IN(r.all.fitted)},
};
static const geodec_extent extents[] = {{"A", IN(r.anchors)}, {"Q", IN(r.queries)}, {"P", IN(r.points)}};

const geodec_kind geodec_injectivity_published_kind = {
    .name = "injectivity-ref",
    .major = 1,
    .minor = 0,
    .tool = "geodec-injectivity --mode ref",
    .purpose = "the published radius estimate and initial velocities, and the same with every point as an anchor",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"Q", sizeof(geodec_published_velocity), offsetof(report, r.velocity), false},
};

geodec_status geodec_injectivity_published_write(const geodec_injectivity_published *r, const double nn[4],
                                                 const double held_out[3], geodec_artifact *a, geodec_err *err)
{
    const report all = {.r = *r,
                        .mape = 100 * r->fit.mape,
                        .all_mape = 100 * r->all.mape,
                        .nn = {nn[0], nn[1], nn[2], nn[3]},
                        .held_out = {held_out[0], 100 * held_out[1], 100 * held_out[2]}};
    return geodec_artifact_save(a, &all, err);
}

/* Numbers separated by commas; NULL text: `count` numbers 0, points/count, .. */
geodec_status geodec_injectivity_published_list(const char *text, const char *option, int64_t points, int64_t count,
                                                double **out, int64_t *n_out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    int64_t n = 1;
    if (!text) n = count < points ? count : points;
    for (const char *p = text; p && *p; p++) n += *p == ',';
    GEODEC_NEW(x, n);
    if (text) GEODEC_TRY(geodec_numbers_parse(text, option, -DBL_MAX, DBL_MAX, n, x, &n, err));
    for (int64_t i = 0; !text && i < n; i++) x[i] = (double)(i * points / n);
    *out = x;
    *n_out = n;
    x = NULL;
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_injectivity_published_points(const double *x, int64_t n, int64_t points, const char *option,
                                                  int64_t **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *y = NULL;
    GEODEC_NEW(y, n);
    for (int64_t i = 0; i < n; i++) {
        if (x[i] < 0 || x[i] >= (double)points || x[i] != floor(x[i]))
            GEODEC_THROW(GEODEC_INVAL, "%s: %g is none of %lld points", option, x[i], (long long)points);
        y[i] = (int64_t)x[i];
    }
    GEODEC_MOVE(*out, y);
done:
    geodec_mem_free(y);
    return st;
}
