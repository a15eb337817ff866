#include "lab/published/injectivity.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/chol.h"
#include "linalg/eig.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_N = GEODEC_PUBLISHED_MAX_N, LEVELS = 8, PER = 6, MOST = 12 /* neighbours */, STEPS = 8 };
static const double tau = 0.5, gradient_step = 1e-3, dl = 0.05;
static const double local = 1.6;      /* largest g-distance of a neighbour, where at least 4 are as near */
static const double tolerance = 1e-9; /* of the propagator's error */
static const double grid[LEVELS] = {0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4};

static geodec_status kernel(const geodec_harness_manifold *m, const double *x, const double *y, double *a,
                            geodec_err *err)
{
    double d;
    const geodec_status st = geodec_harness_distance(m, x, y, &d, err);
    if (st == GEODEC_OK) *a = exp(-(d * d) / fmax(4 * tau, 1e-9));
    return st;
}

/* d/dx of A_y, or of -log A_y. */
static geodec_status gradient(const geodec_harness_manifold *m, const double *x, const double *y, bool log_form,
                              double *out, geodec_err *err)
{
    double z[MAX_N], plus = 0, minus = 0;
    memcpy(z, x, (size_t)m->n * sizeof *z);
    for (int64_t i = 0; i < m->n; i++) {
        z[i] = x[i] + gradient_step;
        GEODEC_PASS(kernel(m, z, y, &plus, err));
        z[i] = x[i] - gradient_step;
        GEODEC_PASS(kernel(m, z, y, &minus, err));
        z[i] = x[i];
        if (log_form) {
            plus = -log(fmax(plus, 1e-30));
            minus = -log(fmax(minus, 1e-30));
        }
        out[i] = (plus - minus) / (2 * gradient_step);
    }
    return GEODEC_OK;
}

/* Distances of all points and their order, ties by index. */
static geodec_status sorted(const geodec_harness_manifold *m, int64_t points, const double *point, const double *x,
                            double *d, int64_t *order, geodec_err *err)
{
    for (int64_t j = 0; j < points; j++) {
        GEODEC_PASS(geodec_harness_distance(m, x, point + j * m->n, &d[j], err));
        int64_t at = j;
        for (; at > 0 && d[order[at - 1]] > d[j]; at--) order[at] = order[at - 1];
        order[at] = j;
    }
    return GEODEC_OK;
}

static geodec_status radius_raw(const geodec_harness_manifold *m, int64_t points, const double *point, int64_t anchor,
                                double *raw, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    double *d = NULL, *grad = NULL, cov[MAX_N * MAX_N], w[MAX_N], mean[MAX_N] = {0};
    int64_t *order = NULL, near = 0, first = 0;
    GEODEC_NEW_EACH(points, d, order);
    GEODEC_NEW(grad, MOST * n);
    const double *x = point + anchor * n;
    GEODEC_TRY(sorted(m, points, point, x, d, order, err));
    for (int64_t j = 0; j < points; j++) near += d[j] > 0 && d[j] <= local;
    if (near >= 4) {
        while (d[order[first]] <= 0) first++;
    } else {
        first = 1; /* the point itself */
        near = points - 1;
    }
    const int64_t count = near < MOST ? near : MOST;
    double size = 0;
    for (int64_t q = 0; q < count; q++) {
        const double *y = point + order[first + q] * n;
        double a;
        GEODEC_TRY(kernel(m, x, y, &a, err));
        size += a * a;
        GEODEC_TRY(gradient(m, x, y, false, grad + q * n, err));
        for (int64_t i = 0; i < n; i++) mean[i] += grad[q * n + i] / (double)count;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            double s = 0;
            for (int64_t q = 0; q < count; q++) s += (grad[q * n + i] - mean[i]) * (grad[q * n + j] - mean[j]);
            cov[i * n + j] = s / (double)(count - 1);
        }
    }
    GEODEC_TRY(geodec_eig_values(n, cov, w, err));
    *raw = M_PI / (sqrt(fmax(w[n - 1], 1e-12)) * fmax(sqrt(size), 1e-12));
done:
    GEODEC_FREE(d, order, grad);
    return st;
}

/* The largest of grid [LEVELS] whose mean relative error over the perturbations is at most the tolerance; 0 = none.
 * v0 [n] of unit speed; delta [LEVELS][PER][n] in any length: scaled to that of the level. */
static geodec_status radius_measure(const geodec_harness_manifold *m, const double *x0, const double *v0,
                                    const double *delta, double *radius, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, T = STEPS;
    double *block = NULL, start[MAX_N], g[MAX_N * MAX_N], miss[MAX_N], moved[MAX_N];
    GEODEC_NEW(block, 3 * (T + 1) * n + (T + 1) * n * n);
    double *xs = block, *vs = xs + (T + 1) * n, *ys = vs + (T + 1) * n, *phi = ys + (T + 1) * n;
    geodec_harness_geodesic(m, x0, v0, T, dl, xs, vs);
    GEODEC_TRY(geodec_harness_propagator(m, xs, vs, T, dl, phi, err));
    const double *end = xs + T * n, *map = phi + T * n * n;
    *radius = 0;
    for (int64_t e = 0; e < LEVELS; e++) {
        double sum = 0;
        for (int64_t q = 0; q < PER; q++) {
            const double *u = delta + (e * PER + q) * n;
            const double scale = grid[e] / fmax(sqrt(geodec__dot(n, u, u)), 1e-12);
            for (int64_t i = 0; i < n; i++) start[i] = x0[i] + scale * u[i];
            geodec_harness_geodesic(m, start, v0, T, dl, ys, NULL);
            const double *to = ys + T * n;
            for (int64_t i = 0; i < n; i++) {
                miss[i] = to[i] - end[i] - scale * geodec__dot(n, map + i * n, u);
                moved[i] = to[i] - x0[i];
            }
            GEODEC_TRY(geodec_harness_g_at(m, to, g, err));
            sum += sqrt(fmax(geodec__norm2(n, g, miss), 0)) / fmax(sqrt(fmax(geodec__norm2(n, g, moved), 0)), 1e-9);
        }
        if (sum / (double)PER <= tolerance) *radius = fmax(*radius, grid[e]);
    }
done:
    geodec_mem_free(block);
    return st;
}

static double correlation(int64_t count, const double *x, const double *y, const uint8_t *use)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0, n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (use && !use[i]) continue;
        mx += x[i];
        my += y[i];
        n++;
    }
    for (int64_t i = 0; i < count; i++) {
        if (use && !use[i]) continue;
        const double a = x[i] - mx / n, b = y[i] - my / n;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return n >= 2 && xx > 1e-24 * n && yy > 1e-24 * n ? xy / sqrt(xx * yy) : 0;
}

/* raw, measured [count]; fitted are the measured strictly inside the grid. */
static void calibrate(int64_t count, const double *raw, const double *measured,
                      geodec_injectivity_published_radius_fit *out)
{
    const double low = grid[0], high = grid[LEVELS - 1];
    uint8_t use[4096];
    *out = (geodec_injectivity_published_radius_fit){.total = count};
    if (count < 1 || count > (int64_t)sizeof use) return;
    for (int64_t i = 0; i < count; i++) out->fitted += use[i] = measured[i] > low + 1e-12 && measured[i] < high - 1e-12;
    if (out->fitted < 2) {
        memset(use, 1, (size_t)count);
        out->fitted = count;
    }
    double xx = 0, xy = 0, square = 0;
    int64_t nonzero = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!use[i]) continue;
        xx += raw[i] * raw[i];
        xy += raw[i] * measured[i];
    }
    out->C = xx > 1e-12 ? xy / xx : 0;
    out->r_fit = correlation(count, raw, measured, use);
    out->r_all = correlation(count, raw, measured, NULL);
    for (int64_t i = 0; i < count; i++) {
        const double gap = out->C * raw[i] - measured[i];
        square += gap * gap;
        if (measured[i] <= 1e-6) continue;
        nonzero++;
        out->mape += fabs(gap) / measured[i];
    }
    if (nonzero) out->mape /= (double)nonzero;
    out->rmse = count ? sqrt(square / (double)count) : 0;
}

static double cosine(int64_t n, const double *a, const double *b)
{
    const double na = sqrt(geodec__dot(n, a, a)), nb = sqrt(geodec__dot(n, b, b));
    return na < 1e-12 || nb < 1e-12 ? 0 : fmin(fmax(geodec__dot(n, a, b) / (na * nb), -1), 1);
}

static geodec_status velocity_proxy(const geodec_harness_manifold *m, int64_t points, const double *point,
                                    int64_t query, geodec_published_velocity *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, T = STEPS;
    double *d = NULL, *paths = NULL, g[MAX_N * MAX_N], l[MAX_N * MAX_N], v[3][MAX_N], diff[MAX_N], w[MAX_N];
    int64_t *order = NULL;
    GEODEC_NEW_EACH(points, d, order);
    GEODEC_NEW(paths, 3 * (T + 1) * n);
    const double *x = point + query * n;
    GEODEC_TRY(sorted(m, points, point, x, d, order, err));
    const double *y = point + order[1] * n;
    GEODEC_TRY(gradient(m, x, y, true, v[0], err));
    for (int64_t i = 0; i < n; i++) v[0][i] = -v[0][i];
    GEODEC_TRY(geodec_harness_g_at(m, x, g, err));
    for (int64_t i = 0; i < n; i++) diff[i] = y[i] - x[i];
    for (int64_t i = 0; i < n; i++) v[1][i] = geodec__dot(n, g + i * n, diff) / fmax(2 * tau, 1e-12);
    memcpy(l, g, sizeof *l * (size_t)(n * n));
    for (int64_t i = 0; i < n; i++) l[i * n + i] += 1e-9;
    GEODEC_TRY(geodec_chol_factor(n, l, err));
    geodec_chol_solve(n, l, 1, v[1]);
    memcpy(v[2], diff, sizeof *diff * (size_t)n);
    for (int k = 0; k < 3; k++) {
        GEODEC_TRY(geodec_harness_unit(m, x, v[k], err));
        geodec_harness_geodesic(m, x, v[k], T, dl, paths + k * (T + 1) * n, NULL);
    }
    const double *end = paths + (2 * (T + 1) + T) * n;
    double error[2];
    GEODEC_TRY(geodec_harness_g_at(m, end, g, err));
    for (int64_t i = 0; i < n; i++) w[i] = end[i] - x[i];
    const double length = fmax(sqrt(fmax(geodec__norm2(n, g, w), 0)), 1e-9);
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < n; i++) w[i] = paths[(k * (T + 1) + T) * n + i] - end[i];
        error[k] = sqrt(fmax(geodec__norm2(n, g, w), 0)) / length;
    }
    out->cosine = cosine(n, v[0], v[2]);
    out->local_cosine = cosine(n, v[1], v[2]);
    out->error = error[0];
    out->local_error = error[1];
done:
    GEODEC_FREE(d, order, paths);
    return st;
}

double geodec_injectivity_published_universal(int64_t k, int64_t points, double sigma)
{
    const double d = (double)k, ball = exp(0.5 * d * log(M_PI) - lgamma(0.5 * d + 1));
    return tgamma(1 / d) / sqrt(M_PI) * pow(ball / (double)points, 1 / d) * sigma;
}

/* ---- the whole experiment ---------------------------------------------------------------------------------------- */

void geodec_injectivity_published_clear(geodec_injectivity_published *r)
{
    GEODEC_FREE(r->anchor, r->query, r->raw, r->measured, r->velocity, r->all_raw, r->all_measured);
    *r = (geodec_injectivity_published){0};
}

typedef struct job {
    const geodec_harness_manifold *m;
    const double *point;
    geodec_injectivity_published *r;
    uint64_t seed;
} job;

static geodec_status point_task(void *ctx, int64_t p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *j = ctx;
    const int64_t n = j->m->n;
    double *delta = NULL, v[MAX_N];
    GEODEC_NEW(delta, LEVELS * PER * n);
    geodec_rng g = geodec_rng_stream(j->seed, geodec_rng_id("published-injectivity", (uint64_t)p));
    for (int64_t i = 0; i < n; i++) v[i] = geodec_rng_normal(&g);
    for (int64_t i = 0; i < LEVELS * PER * n; i++) delta[i] = geodec_rng_normal(&g);
    GEODEC_TRY(geodec_harness_unit(j->m, j->point + p * n, v, err));
    GEODEC_TRY(radius_raw(j->m, j->r->points, j->point, p, &j->r->all_raw[p], err));
    GEODEC_TRY(radius_measure(j->m, j->point + p * n, v, delta, &j->r->all_measured[p], err));
done:
    geodec_mem_free(delta);
    return st;
}

static geodec_status query_task(void *ctx, int64_t q, geodec_err *err)
{
    const job *j = ctx;
    return velocity_proxy(j->m, j->r->points, j->point, j->r->query[q], &j->r->velocity[q], err);
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
    job j = {&m, point, &r, seed};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "points", points, point_task, &j, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "queries", queries, query_task, &j, err));
    for (int64_t i = 0; i < anchors; i++) {
        r.raw[i] = r.all_raw[anchor[i]];
        r.measured[i] = measured ? measured[i] : r.all_measured[anchor[i]];
    }
    calibrate(anchors, r.raw, r.measured, &r.fit);
    calibrate(points < 4096 ? points : 4096, r.all_raw, r.all_measured, &r.all);
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
    GEODEC_ABOUT("injectivity-ref", 1, 0, "geodec-published injectivity",
                 "the published radius estimate and initial velocities, and the same with every point as an anchor"),
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
    GEODEC_MOVE(*out, x);
    *n_out = n;
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
