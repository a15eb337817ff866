#include "chain/metric_internal.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "geometry/pca.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/expm.h"
#include "linalg/knn.h"
#include "linalg/stats.h"
#include "neighbours/search.h"

#include <math.h>
#include <string.h>

static const double eigenvalue_floor = 1e-12; /* of C, in units of tr(C)/n */

geodec_metric_options geodec_metric_defaults(void)
{
    return (geodec_metric_options){.centre = GEODEC_CENTRE_MEAN, .shrink = -1, .clip_max = INFINITY, .sigma_nn = 1};
}

geodec_status geodec__metric_check(int64_t points, int64_t n, geodec_metric_options *o, geodec_err *err)
{
    if (n < 1 || n > GEODEC_RBF_MAX_N) {
        GEODEC_FAIL(GEODEC_RANGE, "metric of dimension %lld (limits: 1..%d)", (long long)n, GEODEC_RBF_MAX_N);
    }
    if (o->k == 0) {
        o->k = 2 * n > 16 ? 2 * n : 16;
        if (o->k >= points) o->k = points - 1; /* a small cloud: every other point is a neighbour */
        if (o->k < 2 || o->k <= n)
            GEODEC_FAIL(GEODEC_SCARCE, "%lld points; a metric in %lld dimensions needs at least %lld",
                        (long long)points, (long long)n, (long long)(n < 2 ? 3 : n + 2));
    }
    if (o->k < 2)
        GEODEC_FAIL(GEODEC_RANGE, "a local covariance needs at least 2 neighbours, not %lld", (long long)o->k);
    if (o->k <= n && !o->force_k) {
        GEODEC_FAIL(GEODEC_RANGE, "k = %lld neighbours cannot span %lld dimensions (--force-k allows it)",
                    (long long)o->k, (long long)n);
    }
    if (points <= o->k) {
        GEODEC_FAIL(GEODEC_RANGE, "%lld points are too few for %lld neighbours", (long long)points, (long long)o->k);
    }
    if (!(o->shrink <= 1) || !(o->ridge >= 0) || !(o->ridge_relative >= 0) || !isfinite(o->ridge + o->ridge_relative)) {
        GEODEC_FAIL(GEODEC_RANGE, "shrinkage %g, ridge %g, relative ridge %g", o->shrink, o->ridge, o->ridge_relative);
    }
    if (!(o->clip_min >= 0) || !(o->clip_max > 0) || !(o->clip_min <= o->clip_max)) {
        GEODEC_FAIL(GEODEC_RANGE, "eigenvalue limits %g to %g", o->clip_min, o->clip_max);
    }
    if (!(o->sigma >= 0) || !isfinite(o->sigma) || !(o->sigma_nn > 0) || !isfinite(o->sigma_nn)) {
        GEODEC_FAIL(GEODEC_RANGE, "sigma %g, multiple %g", o->sigma, o->sigma_nn);
    }
    return GEODEC_OK;
}

/* Points of one slab, whose logarithms are written to log_g [count][n(n+1)/2]. */
typedef struct slab {
    const geodec_metric *m;
    int64_t first;
    double *log_g;
} slab;

/* The metric of one point from its neighbour list. */
static geodec_status fit_point(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const slab *part = ctx;
    const geodec_metric *m = part->m;
    const int64_t p = part->first + task;
    const int64_t n = m->n, k = m->k;
    double *scratch = NULL;
    GEODEC_NEW(scratch, k * n + 3 * n * n + 2 * n + geodec_eig_sym_scratch(n));
    const geodec_metric_options *o = &m->options;
    double *d = scratch, *c = d + k * n, *v = c + n * n, *log_g = v + n * n, *w = log_g + n * n, *mean = w + n,
           *eig = mean + n;
    const double *x = m->point + p * n;
    memset(mean, 0, (size_t)n * sizeof *mean);
    for (int64_t i = 0; i < k; i++) {
        const double *y = m->point + m->knn_index[p * k + i] * n;
        for (int64_t a = 0; a < n; a++) mean[a] += d[i * n + a] = y[a] - x[a];
    }
    if (o->centre == GEODEC_CENTRE_MEAN) {
        for (int64_t a = 0; a < n; a++) mean[a] /= (double)k;
        for (int64_t i = 0; i < k; i++)
            for (int64_t a = 0; a < n; a++) d[i * n + a] -= mean[a];
    }
    const double a = o->shrink < 0 ? geodec_stats_ledoit_wolf(k, n, d, c) : o->shrink;
    geodec_blas_syrk(k, n, 1 / (double)(k - 1), d, n, 0, c, n);
    double trace = 0;
    for (int64_t i = 0; i < n; i++) trace += c[i * n + i];
    const double mu = trace / (double)n;
    if (!isfinite(trace)) GEODEC_THROW(GEODEC_NUMERIC, "the neighbours spread beyond all bounds");
    for (int64_t i = 0; i < n * n; i++) c[i] *= 1 - a;
    for (int64_t i = 0; i < n; i++) c[i * n + i] += a * mu + o->ridge + o->ridge_relative * mu;
    if (!(mu + o->ridge > 0)) {
        GEODEC_THROW(GEODEC_SCARCE, "all its %lld neighbours are equal; a covariance needs different points",
                     (long long)k);
    }
    GEODEC_TRY(geodec_eig_sym_ws(n, c, w, v, eig, err));
    int32_t clipped = 0;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        const double least = eigenvalue_floor * (mu + o->ridge);
        double g = 1 / (w[i] > least ? w[i] : least);
        const double inside = g < o->clip_min ? o->clip_min : (g > o->clip_max ? o->clip_max : g);
        if (!(w[i] > least) || inside != g) clipped++;
        g = inside;
        low = fmin(low, g);
        high = fmax(high, g);
        w[i] = log(g);
    }
    geodec_eig_compose(n, w, v, log_g);
    geodec_sym_pack(n, log_g, part->log_g + task * geodec_sym_packed(n));
    m->condition[p] = high / low;
    m->shrinkage[p] = a;
    m->clipped[p] = clipped;
done:
    geodec_mem_free(scratch);
    return st;
}

/* GEODEC_LIMIT when the tables exceed the memory that can be used (with `matrices`, the matrices and the field's copy
 * of points and logarithms count too). */
static geodec_status fits_memory(int64_t points, int64_t n, int64_t k, bool matrices, geodec_err *err)
{
    const double gib = 1024.0 * 1024 * 1024, packed = matrices ? (double)geodec_sym_packed(n) : 0;
    const double need = (double)points * (2 * 8 * packed + 8.0 * 4 * (double)n + 12.0 * (double)k + 40) / gib;
    const double have = (double)geodec_memory_limit_whole() / gib;
    if (need > 0.9 * have)
        GEODEC_FAIL(GEODEC_LIMIT,
                    "metrics of %lld points in %lld dimensions and their field take %.1f GiB, %.1f can be used here; "
                    "fewer points or dimensions are needed",
                    (long long)points, (long long)n, need, have);
    return GEODEC_OK;
}

/* ---- neighbours ------------------------------------------------------------------------------------------------- */

static geodec_status read_points(void *ctx, int64_t first, int64_t n, double *x, geodec_err *err)
{
    const geodec_metric *m = ctx;
    (void)err;
    memcpy(x, m->point + first * m->n, (size_t)(n * m->n) * sizeof *x);
    return GEODEC_OK;
}

static geodec_status keep_neighbours(void *ctx, int64_t first, int64_t n, const int32_t *index, const double *dist2,
                                     geodec_err *err)
{
    const geodec_metric *m = ctx;
    (void)err;
    memcpy(m->knn_index + first * m->k, index, (size_t)(n * m->k) * sizeof *index);
    memcpy(m->knn_distance + first * m->k, dist2, (size_t)(n * m->k) * sizeof *dist2);
    return GEODEC_OK;
}

/* Neighbours and squared distances, on rank 0. */
static geodec_status find_neighbours(geodec_metric *m, geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    if (geodec_comm_size(m->options.comm) == 1)
        return geodec_knn_search(m->points, m->n, m->point, 0, NULL, m->k, m->knn_index, m->knn_distance, pool, hooks,
                                 err);
    const geodec_neighbours_source source = {m->points, m->n, read_points, m};
    geodec_neighbours_options o = geodec_neighbours_defaults();
    o.k = m->k;
    o.comm = m->options.comm;
    o.memory = INT64_MAX / 2; /* the points are in memory */
    return geodec_neighbours_search(&source, NULL, &o, keep_neighbours, m, pool, hooks, NULL, err);
}

geodec_status geodec__metric_begin(geodec_metric *m, const double *point, bool matrices, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *nearest = NULL;
    const int64_t points = m->points, n = m->n, k = m->k;
    GEODEC_TRY(fits_memory(points, n, k, matrices, err));
    GEODEC_TRY(geodec_artifact_reserve(&geodec_metric_kind, m, err));
    if (matrices) GEODEC_NEW(m->log_g, points * geodec_sym_packed(n));
    GEODEC_NEW(nearest, points);
    memcpy(m->point, point, (size_t)(points * n) * sizeof *point);
    GEODEC_TRY(find_neighbours(m, pool, hooks, err));
    if (geodec_comm_rank(m->options.comm) > 0) goto done;
    for (int64_t i = 0; i < points * k; i++) m->knn_distance[i] = sqrt(m->knn_distance[i]);
    for (int64_t p = 0; p < points; p++) nearest[p] = m->knn_distance[p * k];
    GEODEC_TRY(geodec_stats_median(points, nearest, &m->median_nn, err));
    m->sigma = m->options.sigma > 0 ? m->options.sigma : m->options.sigma_nn * m->median_nn;
    if (!(m->sigma > 0))
        GEODEC_THROW(GEODEC_SCARCE, "half the points have a duplicate; a kernel needs different points");
done:
    geodec_mem_free(nearest);
    return st;
}

geodec_status geodec_metric_fit(int64_t points, int64_t n, const double *point, const geodec_metric_options *options,
                                geodec_pool *pool, const geodec_hooks *hooks, geodec_metric *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {.points = points, .n = n, .options = *options};
    GEODEC_TRY(geodec__metric_check(points, n, &m.options, err));
    m.k = m.options.k;
    GEODEC_TRY(geodec__metric_begin(&m, point, true, pool, hooks, err));
    slab all = {&m, 0, m.log_g};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "local metric of point", points, fit_point, &all, err));
    *out = m;
done:
    if (st != GEODEC_OK) geodec_metric_clear(&m);
    return st;
}

/* ---- slab by slab ----------------------------------------------------------------------------------------------- */

/* What a rank sends to rank 0 of a slab of `count` points: log_g, condition and shrinkage [count], clipped [count]. */
typedef struct answer {
    double *log_g, *condition, *shrinkage;
    int32_t *clipped;
} answer;

static int64_t answer_bytes(int64_t n, int64_t count) { return count * (8 * (geodec_sym_packed(n) + 2) + 4); }

static answer answer_in(void *data, int64_t n, int64_t count)
{
    answer a = {.log_g = data};
    a.condition = a.log_g + count * geodec_sym_packed(n);
    a.shrinkage = a.condition + count;
    a.clipped = (int32_t *)(a.shrinkage + count);
    return a;
}

geodec_status geodec__metric_fit_slab(const geodec_metric *m, int64_t first, int64_t count, double *log_g,
                                      geodec_pool *pool, geodec_err *err)
{
    slab part = {m, first, log_g};
    GEODEC_PASS_MSG(geodec__tasks_run(pool, NULL, "local metric of point", count, fit_point, &part, err),
                    "counted from point %lld", (long long)first);
    return GEODEC_OK;
}

/* Work of ranks above 0: slabs rank, rank + size, .. arrive as neighbour lists and go back as matrices. */
static geodec_status serve(geodec_metric *m, int64_t rows, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_comm *const comm = m->options.comm;
    const int64_t n = m->n, k = m->k;
    char *data = NULL;
    geodec_comm_transfer in, out = {0};
    GEODEC_NEW(data, answer_bytes(n, rows));
    const int64_t step = rows * geodec_comm_size(comm);
    for (int64_t p = rows * geodec_comm_rank(comm); p < m->points; p += step) {
        const int64_t count = m->points - p < rows ? m->points - p : rows;
        const answer a = answer_in(data, n, count);
        GEODEC_TRY(geodec_comm_receive(comm, 0, m->knn_index + p * k, count * k * 4, &in, err));
        GEODEC_TRY(geodec_comm_wait(comm, &in, err));
        GEODEC_TRY(geodec_comm_wait(comm, &out, err));
        GEODEC_TRY(geodec__metric_fit_slab(m, p, count, a.log_g, pool, err));
        memcpy(a.condition, m->condition + p, (size_t)count * sizeof *a.condition);
        memcpy(a.shrinkage, m->shrinkage + p, (size_t)count * sizeof *a.shrinkage);
        memcpy(a.clipped, m->clipped + p, (size_t)count * sizeof *a.clipped);
        GEODEC_TRY(geodec_comm_send(comm, 0, data, answer_bytes(n, count), &out, err));
    }
    GEODEC_TRY(geodec_comm_wait(comm, &out, err));
done:
    geodec_mem_free(data);
    return st;
}

/* Sends the neighbour lists of slab s to its rank. */
static geodec_status order_slab(const geodec_metric *m, int64_t s, int64_t rows, geodec_err *err)
{
    geodec_comm *const comm = m->options.comm;
    const int64_t p = s * rows;
    const int to = (int)(s % geodec_comm_size(comm));
    geodec_comm_transfer t;
    if (to == 0 || p >= m->points) return GEODEC_OK;
    const int64_t count = m->points - p < rows ? m->points - p : rows;
    GEODEC_PASS(geodec_comm_send(comm, to, m->knn_index + p * m->k, count * m->k * 4, &t, err));
    return geodec_comm_wait(comm, &t, err);
}

/* Takes slab s from its rank; log_g [count]. */
static geodec_status take_slab(geodec_metric *m, int from, int64_t p, int64_t count, char *data, double **log_g,
                               geodec_err *err)
{
    geodec_comm *const comm = m->options.comm;
    geodec_comm_transfer t;
    const answer a = answer_in(data, m->n, count);
    GEODEC_PASS(geodec_comm_receive(comm, from, data, answer_bytes(m->n, count), &t, err));
    GEODEC_PASS(geodec_comm_wait(comm, &t, err));
    memcpy(m->condition + p, a.condition, (size_t)count * sizeof *a.condition);
    memcpy(m->shrinkage + p, a.shrinkage, (size_t)count * sizeof *a.shrinkage);
    memcpy(m->clipped + p, a.clipped, (size_t)count * sizeof *a.clipped);
    *log_g = a.log_g;
    return GEODEC_OK;
}

geodec_status geodec_metric_fit_slabs(int64_t points, int64_t n, const double *point,
                                      const geodec_metric_options *options, geodec_metric_sink sink, void *ctx,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_metric *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {.points = points, .n = n, .options = *options};
    char *data = NULL;
    const int size = geodec_comm_size(options->comm);
    GEODEC_TRY(geodec__metric_check(points, n, &m.options, err));
    m.k = m.options.k;
    GEODEC_TRY(geodec__metric_begin(&m, point, false, pool, hooks, err));
    const int64_t row = geodec_sym_packed(n) * (int64_t)sizeof(double), share = (points + size - 1) / size;
    const int64_t fit = GEODEC_METRIC_SLAB / row < points ? GEODEC_METRIC_SLAB / row : points;
    const int64_t rows = size > 1 && share / 4 + 1 < fit ? share / 4 + 1 : fit; /* several slabs for each rank */
    if (geodec_comm_rank(options->comm) > 0) {
        GEODEC_TRY(serve(&m, rows, pool, err));
        *out = m;
        goto done;
    }
    GEODEC_NEW(data, answer_bytes(n, rows));
    for (int64_t s = 0; s < size; s++) GEODEC_TRY(order_slab(&m, s, rows, err));
    for (int64_t s = 0, p = 0; p < points; s++, p += rows) {
        const int64_t count = points - p < rows ? points - p : rows;
        double *log_g = answer_in(data, n, count).log_g;
        GEODEC_TRY(geodec_hooks_progress(hooks, "local metric of point", p, points, err));
        if (s % size == 0)
            GEODEC_TRY(geodec__metric_fit_slab(&m, p, count, log_g, pool, err));
        else
            GEODEC_TRY(take_slab(&m, (int)(s % size), p, count, data, &log_g, err));
        GEODEC_TRY(order_slab(&m, s + size, rows, err));
        if (sink) GEODEC_TRY(sink(ctx, p, count, log_g, err));
    }
    *out = m;
done:
    if (st != GEODEC_OK) geodec_metric_clear(&m);
    geodec_mem_free(data);
    return st;
}

geodec_status geodec_metric_summary(const geodec_metric *m, geodec_metric_medians *out, geodec_err *err)
{
    geodec_metric_medians s = {.nn_distance = m->median_nn};
    GEODEC_PASS(geodec_stats_median(m->points, m->condition, &s.condition, err));
    GEODEC_PASS(geodec_stats_median(m->points, m->shrinkage, &s.shrinkage, err));
    *out = s;
    return GEODEC_OK;
}

geodec_status geodec__metric_control_points(int64_t points, int64_t n, const double *point, uint64_t seed,
                                            geodec_pool *pool, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca_moments moments = {0};
    double *cov = NULL, *w = NULL, *z = NULL;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("metric-control", 0));
    GEODEC_NEW(cov, n * n);
    GEODEC_NEW_EACH(n, w, z);
    GEODEC_TRY(geodec_pca_moments_init(&moments, n, point, err));
    GEODEC_TRY(geodec_pca_moments_add(&moments, points, point, pool, err));
    GEODEC_TRY(geodec_pca_moments_result(&moments, NULL, cov, err));
    GEODEC_TRY(geodec_eig_sym(n, cov, w, cov, err));
    for (int64_t p = 0; p < points; p++) { /* independent along the principal directions, rotated back */
        for (int64_t k = 0; k < n; k++) z[k] = sqrt(fmax(0, w[k])) * geodec_rng_normal(&r);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < n; k++) x[p * n + i] += z[k] * cov[k * n + i];
    }
done:
    geodec_pca_moments_clear(&moments);
    GEODEC_FREE(cov, w, z);
    return st;
}

geodec_status geodec_metric_control(const geodec_metric *m, uint64_t seed, geodec_pool *pool, const geodec_hooks *hooks,
                                    geodec_metric_medians *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric fit = {0};
    geodec_metric_options o = m->options;
    double *x = NULL;
    GEODEC_NEW(x, m->points * m->n);
    GEODEC_TRY(geodec__metric_control_points(m->points, m->n, m->point, seed, pool, x, err));
    o.sigma = m->sigma; /* not used */
    GEODEC_TRY_MSG(geodec_metric_fit_slabs(m->points, m->n, x, &o, NULL, NULL, pool, hooks, &fit, err),
                   "Gaussian control");
    if (geodec_comm_rank(o.comm) == 0) GEODEC_TRY(geodec_metric_summary(&fit, out, err));
done:
    geodec_metric_clear(&fit);
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_metric_at_point(const geodec_metric *m, int64_t p, double *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *l = NULL;
    if (p < 0 || p >= m->points) GEODEC_THROW(GEODEC_RANGE, "point %lld of %lld", (long long)p, (long long)m->points);
    GEODEC_NEW(l, m->n * m->n);
    geodec_sym_unpack(m->n, m->log_g + p * geodec_sym_packed(m->n), l);
    GEODEC_TRY(geodec_expm_sym(m->n, l, g, err));
done:
    geodec_mem_free(l);
    return st;
}

geodec_status geodec_metric_field(const geodec_metric *m, geodec_rbf **out, geodec_err *err)
{
    return geodec_rbf_create(m->points, m->n, m->point, m->log_g, m->sigma, out, err);
}
