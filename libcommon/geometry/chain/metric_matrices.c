/* Metrics with given matrices: other kinds of metric, and the test spaces. */
#include "base/names_internal.h"
#include "chain/metric_internal.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "chain/metric.h"
#include "chain/metric_space.h"
#include "geometry/pca.h"
#include "linalg/chol.h"
#include "linalg/eig.h"
#include "linalg/expm.h"

#include <math.h>
#include <string.h>

const char *const geodec_metric_type_names[] = {
    [GEODEC_METRIC_MAHALANOBIS] = "mahalanobis",
    [GEODEC_METRIC_FISHER] = "fisher",
    [GEODEC_METRIC_BLEND] = "blend",
    [GEODEC_METRIC_EUCLIDEAN] = "euclidean",
    [GEODEC_METRIC_FLAT] = "flat",
    [GEODEC_METRIC_PUBLISHED] = "published",
    [GEODEC_METRIC_SPHERE] = "sphere",
    [GEODEC_METRIC_HYPERBOLIC] = "hyperbolic",
    [GEODEC_METRIC_POLAR] = "polar",
    [GEODEC_METRIC_GAUSSIAN_FISHER] = "gaussian-fisher",
    [GEODEC_METRIC_KINDS] = NULL,
};

const char *geodec_metric_type_name(geodec_metric_type kind)
{
    return geodec__names_at(geodec_metric_type_names, GEODEC_METRIC_KINDS, (int)kind);
}

geodec_status geodec_metric_type_find(const char *name, geodec_metric_type *kind, geodec_err *err)
{
    const int i = geodec__names_find(geodec_metric_type_names, GEODEC_METRIC_KINDS, name);
    if (i == GEODEC_METRIC_KINDS) GEODEC_FAIL(GEODEC_NOTFOUND, "no metric of kind '%s'", name);
    *kind = (geodec_metric_type)i;
    return GEODEC_OK;
}

typedef struct log_job {
    geodec_metric *m;
    const double *g;
} log_job;

static geodec_status log_point(void *ctx, int64_t p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const log_job *j = ctx;
    geodec_metric *m = j->m;
    const int64_t n = m->n;
    const double *g = j->g + p * n * n;
    double *w = NULL, *log_g;
    double low = INFINITY, high = -INFINITY;
    GEODEC_NEW(w, n + 2 * n * n + geodec_eig_sym_scratch(n));
    double *v = w + n;
    log_g = v + n * n;
    if (!geodec__finite(n * n, g)) GEODEC_THROW(GEODEC_NUMERIC, "the metric is not finite");
    const double size = geodec__largest(n * n, g);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < i; k++)
            if (!(fabs(g[i * n + k] - g[k * n + i]) <= 1e-9 * size))
                GEODEC_THROW(GEODEC_NUMERIC, "the metric is not symmetric");
    GEODEC_TRY(geodec_eig_sym_ws(n, g, w, v, log_g + n * n, err));
    for (int64_t i = 0; i < n; i++) {
        const double inside = fmin(fmax(w[i], m->options.clip_min), m->options.clip_max);
        if (!(inside > 0)) GEODEC_THROW(GEODEC_NUMERIC, "the metric has the eigenvalue %g", w[i]);
        m->clipped[p] += inside != w[i];
        low = fmin(low, inside);
        high = fmax(high, inside);
        w[i] = log(inside);
    }
    geodec_eig_compose(n, w, v, log_g);
    geodec_sym_pack(n, log_g, m->log_g + p * geodec_sym_packed(n));
    m->condition[p] = high / low;
done:
    geodec_mem_free(w);
    return st;
}

static geodec_status check_options(int64_t points, int64_t n, geodec_metric_options *o, geodec_err *err)
{
    if (points < 2) GEODEC_FAIL(GEODEC_SCARCE, "%lld points; a metric needs at least 2", (long long)points);
    if (n < 1 || n > GEODEC_RBF_MAX_N)
        GEODEC_FAIL(GEODEC_RANGE, "metric of dimension %lld (limits: 1..%d) at %lld points", (long long)n,
                    GEODEC_RBF_MAX_N, (long long)points);
    if (o->k == 0) o->k = 2 * n > 16 ? 2 * n : 16;
    if (o->k >= points) o->k = points - 1;
    if (o->k < 1 || !(o->clip_min >= 0) || !(o->clip_max > 0) || !(o->clip_min <= o->clip_max) || !(o->sigma >= 0) ||
        !isfinite(o->sigma) || !(o->sigma_nn > 0) || !isfinite(o->sigma_nn)) {
        GEODEC_FAIL(GEODEC_RANGE, "%lld neighbours, eigenvalue limits %g to %g, sigma %g, multiple %g", (long long)o->k,
                    o->clip_min, o->clip_max, o->sigma, o->sigma_nn);
    }
    o->shrink = 0;
    o->ridge = o->ridge_relative = 0;
    return GEODEC_OK;
}

geodec_status geodec_metric_from_matrices(geodec_metric_type kind, int64_t points, int64_t n, const double *point,
                                          const double *g, const geodec_metric_options *options, geodec_pool *pool,
                                          const geodec_hooks *hooks, geodec_metric *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {.kind = kind, .points = points, .n = n, .options = *options};
    GEODEC_TRY(check_options(points, n, &m.options, err));
    m.k = m.options.k;
    GEODEC_TRY(geodec__metric_begin(&m, point, true, pool, hooks, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "metric of point", points, log_point, &(log_job){&m, g}, err));
    *out = m;
done:
    if (st != GEODEC_OK) geodec_metric_clear(&m);
    return st;
}

/* ---- test spaces ------------------------------------------------------------------------------------------------ */

/* Uniform in the ball of the given radius. */
static void in_ball(geodec_rng *r, int64_t n, double radius, double *x)
{
    double length = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = geodec_rng_normal(r);
        length += x[i] * x[i];
    }
    const double scale = radius * pow(geodec_rng_uniform(r), 1 / (double)n) / sqrt(length);
    for (int64_t i = 0; i < n; i++) x[i] *= scale;
}

static void place(geodec_metric_type kind, int64_t n, double curvature, geodec_rng *r, double *x)
{
    switch (kind) {
    case GEODEC_METRIC_SPHERE:
        in_ball(r, n, 1 / sqrt(curvature), x);
        break;
    case GEODEC_METRIC_HYPERBOLIC:
        in_ball(r, n, 0.6 / sqrt(-curvature), x);
        break;
    case GEODEC_METRIC_POLAR:
        x[0] = 1 + 2 * geodec_rng_uniform(r);
        x[1] = 2 * geodec_rng_uniform(r);
        break;
    case GEODEC_METRIC_GAUSSIAN_FISHER:
        x[0] = 2 * geodec_rng_uniform(r) - 1;
        x[1] = 0.5 + 1.5 * geodec_rng_uniform(r);
        break;
    default:
        for (int64_t i = 0; i < n; i++) x[i] = geodec_rng_uniform(r);
    }
}

static geodec_status init_exact(geodec_metric_type kind, int64_t n, double curvature, geodec_metric_space *s,
                                geodec_err *err)
{
    if (kind == GEODEC_METRIC_FLAT) {
        double side[GEODEC_SPACE_DIM_MAX];
        for (int64_t i = 0; i < n && i < GEODEC_SPACE_DIM_MAX; i++) side[i] = 1 + 0.5 * (double)i;
        GEODEC_PASS(geodec_space_torus_init(&s->exact.torus, (int32_t)n, side, err));
        s->space = &s->exact.torus.base;
    } else {
        GEODEC_PASS(geodec__metric_space_exact(kind, n, curvature, s, err));
    }
    return GEODEC_OK;
}

geodec_status geodec_metric_test_space(geodec_metric_type kind, int64_t points, int64_t n, double curvature,
                                       uint64_t seed, const geodec_metric_options *options, geodec_pool *pool,
                                       const geodec_hooks *hooks, geodec_metric *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_space s = {0};
    double *x = NULL, *g = NULL;
    if (kind == GEODEC_METRIC_SPHERE && curvature == 0) curvature = 1;
    if (kind == GEODEC_METRIC_HYPERBOLIC && curvature == 0) curvature = -1;
    GEODEC_TRY(init_exact(kind, n, curvature, &s, err));
    GEODEC_NEW(x, points * n);
    GEODEC_NEW(g, points * n * n);
    for (int64_t p = 0; p < points; p++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("test space", (uint64_t)p));
        place(kind, n, curvature, &r, x + p * n);
        GEODEC_TRY(s.space->at(s.space, x + p * n, g + p * n * n, NULL, NULL, err));
    }
    GEODEC_TRY(geodec_metric_from_matrices(kind, points, n, x, g, options, pool, hooks, out, err));
    out->curvature = curvature;
done:
    GEODEC_FREE(x, g);
    return st;
}

geodec_status geodec_metric_constant(int64_t points, int64_t n, const double *x, bool covariance, geodec_pool *pool,
                                     double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca_moments moments = {0};
    double *g = NULL, *cov = NULL;
    GEODEC_NEW(g, points * n * n);
    if (covariance) {
        GEODEC_NEW(cov, n * n);
        GEODEC_TRY(geodec_pca_moments_init(&moments, n, x, err));
        GEODEC_TRY(geodec_pca_moments_add(&moments, points, x, pool, err));
        GEODEC_TRY(geodec_pca_moments_result(&moments, NULL, cov, err));
        GEODEC_TRY_MSG(geodec_chol_factor(n, cov, err), "covariance of all points");
        geodec_chol_inverse(n, cov, g);
    } else {
        for (int64_t i = 0; i < n; i++) g[i * n + i] = 1;
    }
    for (int64_t p = 1; p < points; p++) memcpy(g + p * n * n, g, (size_t)(n * n) * sizeof *g);
    *out = g;
    g = NULL;
done:
    geodec_pca_moments_clear(&moments);
    GEODEC_FREE(g, cov);
    return st;
}
