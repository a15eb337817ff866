#include "lab/harness/manifold.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/knn.h"

#include <math.h>
#include <string.h>

geodec_harness_options geodec_harness_defaults(void)
{
    return (geodec_harness_options){.k = 8, .ridge = 1e-3, .clip_min = 1e-3, .clip_max = 1e3, .sigma = 0.6, .h = 1e-2};
}

/* ---- metric ------------------------------------------------------------------------------------------------------ */

static geodec_status local_metric(int64_t n, int64_t k, const double *point, const int32_t *index, int64_t p,
                                  const geodec_harness_options *o, double *g, double *scratch, geodec_err *err)
{
    double *d = scratch, *c = d + k * n, *w = c + n * n, *eig = w + n;
    for (int64_t i = 0; i < k; i++)
        for (int64_t a = 0; a < n; a++) d[i * n + a] = point[index[p * k + i] * n + a] - point[p * n + a];
    geodec_blas_syrk(k, n, 1 / (double)(k > 1 ? k - 1 : 1), d, n, 0, c, n);
    for (int64_t i = 0; i < n; i++) c[i * n + i] += o->ridge;
    /* inverse and clipping in one step: the eigenvalues of g are the reciprocals of those of C */
    GEODEC_PASS(geodec_eig_sym_ws(n, c, w, c, eig, err));
    for (int64_t i = 0; i < n; i++) w[i] = fmin(fmax(1 / w[i], o->clip_min), o->clip_max);
    geodec_eig_compose(n, w, c, g);
    return GEODEC_OK;
}

typedef struct fit {
    const geodec_harness_options *o;
    geodec_harness_manifold *m;
    const double *point;
    const int32_t *index;
    int64_t n, k;
    double *g;
} fit;

static geodec_status metric_task(void *ctx, int64_t p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const fit *f = ctx;
    const int64_t n = f->n;
    double *scratch = NULL;
    GEODEC_NEW(scratch, f->k * n + n * n + n + geodec_eig_sym_scratch(n));
    GEODEC_TRY(local_metric(n, f->k, f->point, f->index, p, f->o, f->g + p * n * n, scratch, err));
done:
    geodec_mem_free(scratch);
    return st;
}

geodec_status geodec_harness_metric(int64_t points, int64_t n, const double *point, const geodec_harness_options *o,
                                    geodec_pool *pool, const geodec_hooks *hooks, double *g, int32_t *index,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *own = NULL;
    if (n < 1 || n > GEODEC_PUBLISHED_MAX_N || o->k < 1 || points <= o->k || !(o->ridge > 0) || !(o->clip_min > 0) ||
        !(o->clip_max >= o->clip_min)) {
        GEODEC_THROW(GEODEC_RANGE, "published metric of %lld points, dimension %lld, %lld neighbours",
                     (long long)points, (long long)n, (long long)o->k);
    }
    if (!index) GEODEC_NEW(own, points * o->k);
    fit f = {.o = o, .point = point, .index = index ? index : own, .n = n, .k = o->k, .g = g};
    GEODEC_TRY(geodec_knn_search(points, n, point, 0, NULL, o->k, index ? index : own, NULL, pool, hooks, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "published metric of point", points, metric_task, &f, err));
done:
    geodec_mem_free(own);
    return st;
}

/* ---- the manifold ------------------------------------------------------------------------------------------------ */

static geodec_status space_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                              geodec_err *err)
{
    const geodec_harness_manifold *m = (const geodec_harness_manifold *)(const void *)s;
    if (dg) GEODEC_FAIL(GEODEC_UNSUPPORTED, "the published manifold has no derivative of its metric");
    for (int64_t i = 0; i < m->n; i++)
        if (!isfinite(x[i])) GEODEC_FAIL(GEODEC_NUMERIC, "a point that is not finite");
    if (g) GEODEC_PASS(geodec_harness_g_at(m, x, g, err));
    if (gamma) memcpy(gamma, geodec_harness_gamma_at(m, x), (size_t)(m->n * m->n * m->n) * sizeof *gamma);
    return GEODEC_OK;
}

/* Allocates the arrays and sets the space; the caller fills g and gamma of the samples. */
static geodec_status begin(geodec_harness_manifold *m, int64_t samples, int64_t n, const double *point, double sigma,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *m = (geodec_harness_manifold){.samples = samples, .n = n, .sigma = sigma};
    if (samples < 1 || n < 1 || n > GEODEC_PUBLISHED_MAX_N || !(sigma >= 0) || !isfinite(sigma)) {
        GEODEC_THROW(GEODEC_RANGE, "published manifold of %lld samples, dimension %lld, sigma %g", (long long)samples,
                     (long long)n, sigma);
    }
    m->space = (geodec_space){.n = (int32_t)n, .name = "published manifold", .at = space_at, .fd_step = 5e-3};
    GEODEC_NEW(m->g, samples * n * n);
    GEODEC_NEW(m->gamma, samples * n * n * n);
    GEODEC_NEW_COPY(m->point, point, samples * n);
done:
    return st;
}

typedef struct fitted_at {
    const geodec_harness_field *f;
    double *scratch;
} fitted_at;

static geodec_status fitted_metric(const void *ctx, const double *x, double *g, geodec_err *err)
{
    const fitted_at *c = ctx;
    return geodec_harness_field_at(c->f, x, g, c->scratch, err);
}

static geodec_status sample_task(void *ctx, int64_t p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const fit *f = ctx;
    geodec_harness_manifold *m = f->m;
    const int64_t n = m->n;
    fitted_at at = {.f = &m->fitted};
    double *scratch = NULL;
    GEODEC_NEW(at.scratch, geodec_harness_field_scratch(n));
    GEODEC_NEW(scratch, geodec_harness_field_christoffel_scratch(n));
    GEODEC_TRY(fitted_metric(&at, m->point + p * n, m->g + p * n * n, err));
    GEODEC_TRY(geodec_harness_field_christoffel(n, fitted_metric, &at, m->point + p * n, m->g + p * n * n, f->o->h,
                                                m->gamma + p * n * n * n, scratch, err));
done:
    GEODEC_FREE(at.scratch, scratch);
    return st;
}

geodec_status geodec_harness_manifold_fit(int64_t points, int64_t n, const double *point,
                                          const geodec_harness_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                          geodec_harness_manifold *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(begin(m, points, n, point, o->sigma, err));
    if (!(o->sigma > 0) || !(o->h > 0)) GEODEC_THROW(GEODEC_RANGE, "sigma %g, step %g", o->sigma, o->h);
    GEODEC_NEW(m->g_raw, points * n * n);
    GEODEC_TRY(geodec_harness_metric(points, n, point, o, pool, hooks, m->g_raw, NULL, err));
    GEODEC_TRY(geodec_harness_field_init(&m->fitted, points, n, point, m->g_raw, o->sigma, false, err));
    fit f = {.o = o, .m = m};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "published symbols of point", points, sample_task, &f, err));
    GEODEC_TRY(geodec_harness_field_init(&m->accessor, points, n, point, m->g, o->sigma, true, err));
done:
    if (st != GEODEC_OK) geodec_harness_manifold_clear(m);
    return st;
}

geodec_status geodec_harness_manifold_table(int64_t samples, int64_t n, const double *point, const double *g,
                                            const double *gamma, double sigma, geodec_harness_manifold *m,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(begin(m, samples, n, point, sigma, err));
    memcpy(m->g, g, (size_t)(samples * n * n) * sizeof *g);
    memcpy(m->gamma, gamma, (size_t)(samples * n * n * n) * sizeof *gamma);
    if (sigma > 0) GEODEC_TRY(geodec_harness_field_init(&m->accessor, samples, n, point, g, sigma, true, err));
done:
    if (st != GEODEC_OK) geodec_harness_manifold_clear(m);
    return st;
}

void geodec_harness_manifold_clear(geodec_harness_manifold *m)
{
    GEODEC_FREE(m->point, m->g, m->gamma, m->g_raw);
    geodec_harness_field_clear(&m->fitted);
    geodec_harness_field_clear(&m->accessor);
    *m = (geodec_harness_manifold){0};
}

static geodec_status fitted_space_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_harness_fitted *f = (const geodec_harness_fitted *)(const void *)s;
    double *scratch = NULL;
    if (dg || gamma) GEODEC_THROW(GEODEC_UNSUPPORTED, "the published field has no derivative of its own");
    GEODEC_NEW(scratch, geodec_harness_field_scratch(s->n));
    GEODEC_TRY(geodec_harness_field_at(f->field, x, g, scratch, err));
done:
    geodec_mem_free(scratch);
    return st;
}

void geodec_harness_fitted_init(geodec_harness_fitted *f, const geodec_harness_manifold *m, double h)
{
    *f = (geodec_harness_fitted){
        .space = {.n = (int32_t)m->n, .name = "published field", .at = fitted_space_at, .fd_step = h},
        .field = &m->fitted};
}

geodec_status geodec_harness_g_at(const geodec_harness_manifold *m, const double *x, double *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    double *scratch = NULL;
    if (m->sigma > 0) {
        GEODEC_NEW(scratch, geodec_harness_field_scratch(n));
        GEODEC_TRY(geodec_harness_field_at(&m->accessor, x, g, scratch, err));
    } else {
        memcpy(g, m->g + geodec_harness_field_nearest(m->samples, n, m->point, x) * n * n, (size_t)(n * n) * sizeof *g);
    }
done:
    geodec_mem_free(scratch);
    return st;
}

const double *geodec_harness_gamma_at(const geodec_harness_manifold *m, const double *x)
{
    return m->gamma + geodec_harness_field_nearest(m->samples, m->n, m->point, x) * m->n * m->n * m->n;
}

/* ---- in a metric artifact ---------------------------------------------------------------------------------------- */

/* Tables unchanged, so that later stages compute with the same bits. The table of the kind is the metric's and does not
 * bind these optional additions. */
geodec_status geodec_harness_manifold_metric(const geodec_harness_manifold *m, const geodec_harness_options *o,
                                             geodec_pool *pool, const geodec_hooks *hooks, geodec_metric *out,
                                             geodec_err *err)
{
    geodec_metric_options options = geodec_metric_defaults();
    if (!m->g_raw) GEODEC_FAIL(GEODEC_INVAL, "a manifold made from tables has no metric before smoothing");
    options.k = o->k;
    options.clip_min = o->clip_min;
    options.clip_max = o->clip_max;
    options.sigma = m->sigma;
    options.centre = GEODEC_CENTRE_POINT;
    GEODEC_PASS(geodec_metric_from_matrices(GEODEC_METRIC_PUBLISHED, m->samples, m->n, m->point, m->g_raw, &options,
                                            pool, hooks, out, err));
    out->options.ridge = o->ridge;
    return GEODEC_OK;
}

geodec_status geodec_harness_manifold_write(const geodec_harness_manifold *m, double h, geodec_artifact *a,
                                            geodec_err *err)
{
    GEODEC_PASS(geodec_artifact_write(a, "/published/g_raw", m->g_raw, err));
    GEODEC_PASS(geodec_artifact_write(a, "/published/g", m->g, err));
    GEODEC_PASS(geodec_artifact_write(a, "/published/gamma", m->gamma, err));
    GEODEC_PASS(geodec_artifact_put_f64(a, "published_h", h, err));
    return GEODEC_OK;
}

geodec_status geodec_harness_manifold_read(const geodec_artifact *a, const geodec_metric *metric,
                                           geodec_harness_manifold *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *g_raw = NULL, *g = NULL, *gamma = NULL;
    if (metric->kind != GEODEC_METRIC_PUBLISHED || !geodec_artifact_has(a, "/published/g_raw") ||
        !geodec_artifact_has(a, "/published/g") || !geodec_artifact_has(a, "/published/gamma")) {
        GEODEC_THROW(GEODEC_FORMAT, "%s: no published manifold; make it with geodec-published metric",
                     geodec_artifact_path(a));
    }
    GEODEC_TRY(geodec_artifact_read(a, "/published/g_raw", &g_raw, err));
    GEODEC_TRY(geodec_artifact_read(a, "/published/g", &g, err));
    GEODEC_TRY(geodec_artifact_read(a, "/published/gamma", &gamma, err));
    GEODEC_TRY(
        geodec_harness_manifold_table(metric->points, metric->n, metric->point, g, gamma, metric->sigma, m, err));
    st = geodec_harness_field_init(&m->fitted, m->samples, m->n, m->point, g_raw, m->sigma, false, err);
    if (st != GEODEC_OK) {
        geodec_harness_manifold_clear(m);
        goto done;
    }
    GEODEC_MOVE(m->g_raw, g_raw);
done:
    GEODEC_FREE(g_raw, g, gamma);
    return st;
}
