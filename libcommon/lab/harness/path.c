/* Paths, tensors and propagators of the published manifold. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "geometry/geodesic.h"
#include "lab/harness/manifold.h"
#include "linalg/blas.h"

#include <math.h>
#include <string.h>

geodec_status geodec_harness_unit(const geodec_harness_manifold *m, const double *x, double *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    double *g = NULL;
    GEODEC_NEW(g, n * n);
    GEODEC_TRY(geodec_harness_g_at(m, x, g, err));
    const double q = geodec__norm2(n, g, v);
    if (!(q < 1e-12))
        for (int64_t i = 0; i < n; i++) v[i] /= sqrt(q);
done:
    geodec_mem_free(g);
    return st;
}

geodec_status geodec_harness_distance(const geodec_harness_manifold *m, const double *x, const double *y, double *d,
                                      geodec_err *err)
{
    double mid[GEODEC_PUBLISHED_MAX_N], v[GEODEC_PUBLISHED_MAX_N], g[GEODEC_PUBLISHED_MAX_N * GEODEC_PUBLISHED_MAX_N];
    for (int64_t i = 0; i < m->n; i++) {
        mid[i] = 0.5 * (x[i] + y[i]);
        v[i] = y[i] - x[i];
    }
    const geodec_status st = geodec_harness_g_at(m, mid, g, err);
    if (st == GEODEC_OK) *d = sqrt(fmax(geodec__norm2(m->n, g, v), 0));
    return st;
}

void geodec_harness_geodesic(const geodec_harness_manifold *m, const double *x0, const double *v0, int64_t steps,
                             double dl, double *xs, double *vs)
{
    enum { N = GEODEC_PUBLISHED_MAX_N };
    const int64_t n = m->n;
    double v[N], y[N], k[4][N], u[4][N];
    memcpy(xs, x0, (size_t)n * sizeof *xs);
    memcpy(v, v0, (size_t)n * sizeof *v);
    if (vs) memcpy(vs, v0, (size_t)n * sizeof *vs);
    for (int64_t t = 0; t < steps; t++, xs += n) {
        for (int s = 0; s < 4; s++) {
            const double c = s == 0 ? 0 : (s == 3 ? dl : 0.5 * dl);
            for (int64_t i = 0; i < n; i++) {
                u[s][i] = s == 0 ? v[i] : v[i] + c * k[s - 1][i];
                y[i] = s == 0 ? xs[i] : xs[i] + c * u[s - 1][i];
            }
            geodec_geodesic_accel(n, geodec_harness_gamma_at(m, y), u[s], k[s]);
        }
        for (int64_t i = 0; i < n; i++) {
            xs[n + i] = xs[i] + dl / 6 * (u[0][i] + 2 * u[1][i] + 2 * u[2][i] + u[3][i]);
            v[i] += dl / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
        }
        if (vs) memcpy(vs + (t + 1) * n, v, (size_t)n * sizeof *v);
    }
}

void geodec_harness_riemann(const geodec_harness_manifold *m, const double *x, double h, double *riem, double *scratch)
{
    const int64_t n = m->n, n2 = n * n, n3 = n2 * n;
    const double *gamma = geodec_harness_gamma_at(m, x);
    double *dgamma = scratch, y[GEODEC_PUBLISHED_MAX_N];
    memcpy(y, x, (size_t)n * sizeof *y);
    for (int64_t c = 0; c < n; c++) {
        y[c] = x[c] + h;
        const double *plus = geodec_harness_gamma_at(m, y);
        y[c] = x[c] - h;
        const double *minus = geodec_harness_gamma_at(m, y);
        y[c] = x[c];
        for (int64_t i = 0; i < n3; i++) dgamma[c * n3 + i] = (plus[i] - minus[i]) / (2 * h);
    }
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++)
            for (int64_t c = 0; c < n; c++)
                for (int64_t d = 0; d < n; d++) {
                    double s = 0;
                    for (int64_t e = 0; e < n; e++) {
                        s += gamma[(c * n + e) * n + a] * gamma[(b * n + d) * n + e];
                        s -= gamma[(d * n + e) * n + a] * gamma[(b * n + c) * n + e];
                    }
                    riem[(a * n + b) * n2 + c * n + d] =
                        dgamma[c * n3 + (b * n + d) * n + a] - dgamma[d * n3 + (b * n + c) * n + a] + s;
                }
}

typedef struct nearest_tensor {
    const geodec_harness_manifold *m;
    double *scratch; /* [n^4] */
} nearest_tensor;

static geodec_status nearest_riemann(const void *ctx, const double *x, double *riem, geodec_err *err)
{
    const nearest_tensor *t = ctx;
    (void)err;
    geodec_harness_riemann(t->m, x, 5e-3, riem, t->scratch);
    return GEODEC_OK;
}

geodec_status geodec_harness_propagator(const geodec_harness_manifold *m, const double *xs, const double *vs,
                                        int64_t steps, double dl, double *phi, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    nearest_tensor t = {.m = m};
    GEODEC_NEW(t.scratch, m->n * m->n * m->n * m->n);
    GEODEC_TRY(geodec_harness_propagator_with(m->n, nearest_riemann, &t, xs, vs, steps, dl, phi, err));
done:
    geodec_mem_free(t.scratch);
    return st;
}

geodec_status geodec_harness_propagator_with(int64_t n, geodec_harness_riemann_fn tensor, const void *ctx,
                                             const double *xs, const double *vs, int64_t steps, double dl, double *phi,
                                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n2 = n * n, n4 = n2 * n2, w = 2 * n;
    double *riem = NULL, *a = NULL, *state = NULL;
    GEODEC_NEW(riem, 2 * n4);
    GEODEC_NEW(a, 4 * w * w);
    GEODEC_NEW(state, 2 * w * n);
    double *a2 = a + w * w, *a3 = a2 + w * w, *e = a3 + w * w, *next = state + w * n;
    memset(phi, 0, (size_t)n2 * sizeof *phi);
    for (int64_t i = 0; i < n; i++) phi[i * n + i] = state[i * n + i] = 1;
    GEODEC_TRY(tensor(ctx, xs, riem, err));
    for (int64_t t = 0; t < steps; t++) {
        double *now = riem + (t & 1) * n4, *then = riem + ((t + 1) & 1) * n4, v[GEODEC_PUBLISHED_MAX_N];
        GEODEC_TRY(tensor(ctx, xs + (t + 1) * n, then, err));
        for (int64_t i = 0; i < n; i++) v[i] = 0.5 * (vs[t * n + i] + vs[(t + 1) * n + i]);
        memset(a, 0, (size_t)(w * w) * sizeof *a);
        for (int64_t i = 0; i < n; i++) a[i * w + n + i] = 1;
        for (int64_t k = 0; k < n; k++) /* -K^k_c = -R^k_bcd v^b v^d */
            for (int64_t b = 0; b < n; b++)
                for (int64_t c = 0; c < n; c++)
                    for (int64_t d = 0; d < n; d++) {
                        const int64_t i = ((k * n + b) * n + c) * n + d;
                        a[(n + k) * w + c] -= 0.5 * (now[i] + then[i]) * v[b] * v[d];
                    }
        geodec_blas_mul_small(w, a, a, a2);
        geodec_blas_mul_small(w, a2, a, a3);
        for (int64_t i = 0; i < w * w; i++) e[i] = dl * a[i] + 0.5 * dl * dl * a2[i] + dl * dl * dl / 6 * a3[i];
        for (int64_t i = 0; i < w; i++) e[i * w + i] += 1;
        for (int64_t i = 0; i < w; i++)
            for (int64_t j = 0; j < n; j++) {
                double s = 0;
                for (int64_t k = 0; k < w; k++) s += e[i * w + k] * state[k * n + j];
                next[i * n + j] = s;
            }
        memcpy(state, next, (size_t)(w * n) * sizeof *state);
        memcpy(phi + (t + 1) * n2, state, (size_t)n2 * sizeof *phi);
    }
done:
    GEODEC_FREE(riem, a, state);
    return st;
}
