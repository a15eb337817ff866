#include "shf/shf.h"

#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/metric.h"
#include "geometry/pca.h"
#include "geometry/space_closed.h"
#include "shf/residual.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_MAX = 16, CANDIDATES = 4, NODES_LEAST = 3 };

struct geodec_shf {
    geodec_shf_options o;
    char recipe[128];
    geodec_pca pca;
    geodec_rbf *field; /* NULL when flat */
    geodec_space_torus plane;
    const geodec_space *space;
};

geodec_shf_options geodec_shf_defaults(void) { return (geodec_shf_options){.n = 4, .sites = 192, .stride = 8}; }

geodec_status geodec_shf_create(const geodec_shf_options *o, geodec_shf **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_shf *s = NULL;
    const int64_t k = 2 * o->n > 16 ? 2 * o->n : 16;
    if (o->n < 1 || o->n > N_MAX || o->sites <= k || o->stride < 1)
        GEODEC_THROW(GEODEC_RANGE, "penalty in dimension %lld, %lld sites, one token in %lld", (long long)o->n,
                     (long long)o->sites, (long long)o->stride);
    GEODEC_NEW(s, 1);
    s->o = *o;
    (void)snprintf(s->recipe, sizeof s->recipe, "shf n=%lld sites=%lld stride=%lld %s seed=%llu", (long long)o->n,
                   (long long)o->sites, (long long)o->stride, o->flat ? "flat" : "metric", (unsigned long long)o->seed);
    double length[N_MAX];
    for (int i = 0; i < N_MAX; i++) length[i] = 1;
    if (o->flat) GEODEC_TRY(geodec_space_torus_init(&s->plane, (int32_t)o->n, length, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_shf_destroy(s);
    return st;
}

void geodec_shf_destroy(geodec_shf *s)
{
    if (!s) return;
    geodec_pca_clear(&s->pca);
    geodec_rbf_destroy(s->field);
    geodec_mem_free(s);
}

const char *geodec_shf_recipe(const geodec_shf *s) { return s->recipe; }

/* node [n] = basis (x - mean) */
static void project(const geodec_shf *s, int64_t d, const float *x, double *node)
{
    for (int64_t i = 0; i < s->o.n; i++) {
        double a = 0;
        for (int64_t j = 0; j < d; j++) a += s->pca.basis[i * d + j] * ((double)x[j] - s->pca.mean[j]);
        node[i] = a;
    }
}

/* A seeded choice of at most `most` different states after blocks: x [*count][d]. */
static geodec_status choose_states(const geodec_shf *s, int32_t boundaries, int64_t rows, int64_t d, const float *state,
                                   int64_t most, double *x, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t all = (boundaries - 1) * rows, tried = all < 2 * most ? all : 2 * most;
    int64_t *index = NULL, kept = 0;
    GEODEC_NEW(index, tried);
    GEODEC_TRY(geodec__choose_subset(s->o.seed, geodec_rng_id("shf states", 0), all, tried, index, err));
    for (int64_t i = 0; i < tried && kept < most; i++) {
        const float *from = state + (rows + index[i]) * d; /* boundary 0 is left out: equal tokens have equal states
                                                            * there */
        double *to = x + kept * d;
        bool seen = false;
        for (int64_t j = 0; j < d; j++) to[j] = (double)from[j];
        for (int64_t k = 0; k < kept && !seen; k++) seen = memcmp(x + k * d, to, (size_t)d * sizeof *to) == 0;
        kept += !seen;
    }
    *count = kept;
done:
    geodec_mem_free(index);
    return st;
}

/* sum |Dc s|^2 over the inner nodes; its derivative by every node is added to gradient [nodes][n] times `factor`. */
static double squared_steps(int64_t n, int64_t nodes, const double *path, double factor, double *gradient)
{
    double sum = 0;
    for (int64_t l = 1; l + 1 < nodes; l++)
        for (int64_t i = 0; i < n; i++) {
            const double c = 0.5 * (path[(l + 1) * n + i] - path[(l - 1) * n + i]);
            sum += c * c;
            if (!gradient) continue;
            gradient[(l + 1) * n + i] += factor * c;
            gradient[(l - 1) * n + i] -= factor * c;
        }
    return sum;
}

static geodec_status fit_field(geodec_shf *s, int64_t points, const double *point, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {0};
    geodec_metric_options o = geodec_metric_defaults();
    GEODEC_TRY(geodec_metric_fit(points, s->o.n, point, &o, NULL, NULL, &m, err));
    GEODEC_TRY(geodec_metric_field(&m, &s->field, err));
done:
    geodec_metric_clear(&m);
    return st;
}

geodec_status geodec_shf_prepare(void *ctx, int64_t step, int32_t boundaries, int64_t rows, int64_t d,
                                 const float *state, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_shf *s = ctx;
    const int64_t n = s->o.n, nodes = boundaries - 1, most = CANDIDATES * s->o.sites;
    double *x = NULL, *point = NULL;
    int64_t count = 0;
    if (nodes < NODES_LEAST || rows < 1 || n > d)
        GEODEC_THROW(GEODEC_RANGE, "a penalty on geodesics needs at least %d blocks and %lld dimensions", NODES_LEAST,
                     (long long)n);
    GEODEC_NEW(x, most * d);
    GEODEC_NEW(point, most * n);
    GEODEC_TRY(choose_states(s, boundaries, rows, d, state, most, x, &count, err));
    geodec_pca_clear(&s->pca);
    geodec_rbf_destroy(s->field);
    s->field = NULL;
    GEODEC_TRY_MSG(geodec_pca_from_rows(count, d, x, 1, NULL, &s->pca, err), "states of the probe at step %lld",
                   (long long)step);
    if (s->pca.k < n) GEODEC_THROW(GEODEC_NUMERIC, "the probe's states span %lld dimensions", (long long)s->pca.k);
    GEODEC_TRY(geodec_pca_project(d, n, s->pca.basis, s->pca.mean, count, x, point, NULL, err));
    if (!s->o.flat) GEODEC_TRY(fit_field(s, count < s->o.sites ? count : s->o.sites, point, err));
    s->space = s->o.flat ? &s->plane.base : geodec_rbf_space(s->field);
done:
    GEODEC_FREE(x, point);
    return st;
}

geodec_status geodec_shf_apply(void *ctx, int32_t boundaries, int64_t n_seq, int64_t len, int64_t d,
                               const float *const *state, double scale, float *cotangent, double *value,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_shf *s = ctx;
    const int64_t n = s->o.n, nodes = boundaries - 1, rows = n_seq * len;
    double *path = NULL, *gradient, total = 0;
    GEODEC_NEW(path, 2 * nodes * n);
    gradient = path + nodes * n;
    if (!s->space) GEODEC_THROW(GEODEC_INVAL, "the penalty was not prepared");
    for (int64_t r = 0; r < rows; r++) {
        if (r % len % s->o.stride != s->o.stride - 1) continue;
        double p;
        for (int64_t l = 0; l < nodes; l++) project(s, d, state[l + 1] + r * d, path + l * n);
        GEODEC_TRY(geodec_residual_penalty(s->space, nodes, path, &p, gradient, err));
        const double steps = squared_steps(n, nodes, path, 0, NULL);
        if (!(steps > 0) || !isfinite(p / steps)) continue; /* a stream that does not move has no direction */
        p /= steps;
        total += (double)s->o.stride * p;
        for (int64_t i = 0; i < nodes * n; i++) gradient[i] /= steps;
        (void)squared_steps(n, nodes, path, -p / steps, gradient);
        const double unit = scale * (double)s->o.stride;
        for (int64_t l = 0; l < nodes; l++) {
            float *to = cotangent + ((l + 1) * rows + r) * d;
            for (int64_t i = 0; i < n; i++) {
                const double a = unit * gradient[l * n + i];
                for (int64_t j = 0; j < d; j++) to[j] += (float)(a * s->pca.basis[i * d + j]);
            }
        }
    }
    *value = total;
done:
    geodec_mem_free(path);
    return st;
}
