#include "lab/injectivity/published.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/chol.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

enum { MAX_N = GEODEC_PUBLISHED_MAX_N };

geodec_injectivity_published_radius_options geodec_injectivity_published_radius_defaults(void)
{
    return (geodec_injectivity_published_radius_options){
        .tau = 0.5, .h = 1e-3, .local = 1.6, .most = 12, .dl = 0.05, .steps = 8, .tau_err = 1e-9};
}

static geodec_status kernel(const geodec_harness_manifold *m, const double *x, const double *y, double tau, double *a,
                            geodec_err *err)
{
    double d;
    const geodec_status st = geodec_harness_distance(m, x, y, &d, err);
    if (st == GEODEC_OK) *a = exp(-(d * d) / fmax(4 * tau, 1e-9));
    return st;
}

/* d/dx of A_y, or of -log A_y. */
static geodec_status gradient(const geodec_harness_manifold *m, const double *x, const double *y, bool log_form,
                              const geodec_injectivity_published_radius_options *o, double *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double z[MAX_N], plus = 0, minus = 0;
    memcpy(z, x, (size_t)m->n * sizeof *z);
    for (int64_t i = 0; i < m->n; i++) {
        z[i] = x[i] + o->h;
        GEODEC_TRY(kernel(m, z, y, o->tau, &plus, err));
        z[i] = x[i] - o->h;
        GEODEC_TRY(kernel(m, z, y, o->tau, &minus, err));
        z[i] = x[i];
        if (log_form) {
            plus = -log(fmax(plus, 1e-30));
            minus = -log(fmax(minus, 1e-30));
        }
        out[i] = (plus - minus) / (2 * o->h);
    }
done:
    return st;
}

/* Distances of all points and their order, ties by index. */
static geodec_status sorted(const geodec_harness_manifold *m, int64_t points, const double *point, const double *x,
                            double *d, int64_t *order, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int64_t j = 0; j < points; j++) {
        GEODEC_TRY(geodec_harness_distance(m, x, point + j * m->n, &d[j], err));
        int64_t at = j;
        for (; at > 0 && d[order[at - 1]] > d[j]; at--) order[at] = order[at - 1];
        order[at] = j;
    }
done:
    return st;
}

geodec_status geodec_injectivity_published_radius_raw(const geodec_harness_manifold *m, int64_t points,
                                                      const double *point, int64_t anchor,
                                                      const geodec_injectivity_published_radius_options *o,
                                                      geodec_published_raw *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    double *d = NULL, *grad = NULL, cov[MAX_N * MAX_N], w[MAX_N], mean[MAX_N] = {0};
    int64_t *order = NULL, near = 0, first = 0;
    if (anchor < 0 || anchor >= points || points < 3)
        GEODEC_THROW(GEODEC_RANGE, "anchor %lld is not one of %lld points", (long long)anchor, (long long)points);
    GEODEC_NEW_EACH(points, d, order);
    GEODEC_NEW(grad, o->most * n);
    const double *x = point + anchor * n;
    GEODEC_TRY(sorted(m, points, point, x, d, order, err));
    for (int64_t j = 0; j < points; j++) near += d[j] > 0 && d[j] <= o->local;
    if (near >= 4) {
        while (d[order[first]] <= 0) first++;
    } else {
        first = 1; /* the point itself */
        near = points - 1;
    }
    const int64_t count = near < o->most ? near : o->most;
    double size = 0;
    for (int64_t q = 0; q < count; q++) {
        const double *y = point + order[first + q] * n;
        double a;
        GEODEC_TRY(kernel(m, x, y, o->tau, &a, err));
        size += a * a;
        GEODEC_TRY(gradient(m, x, y, false, o, grad + q * n, err));
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
    out->lambda = fmax(w[n - 1], 1e-12);
    out->size = sqrt(size);
    out->raw = M_PI / (sqrt(out->lambda) * fmax(out->size, 1e-12));
    out->neighbours = count;
done:
    GEODEC_FREE(d, order, grad);
    return st;
}

geodec_status geodec_injectivity_published_radius_measure(const geodec_harness_manifold *m, const double *x0,
                                                          const double *v0, int64_t levels, const double *eps,
                                                          int64_t per, const double *delta,
                                                          const geodec_injectivity_published_radius_options *o,
                                                          double *error, double *radius, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, T = o->steps;
    double *block = NULL, start[MAX_N], g[MAX_N * MAX_N], miss[MAX_N], moved[MAX_N];
    GEODEC_NEW(block, 3 * (T + 1) * n + (T + 1) * n * n);
    double *xs = block, *vs = xs + (T + 1) * n, *ys = vs + (T + 1) * n, *phi = ys + (T + 1) * n;
    geodec_harness_geodesic(m, x0, v0, T, o->dl, xs, vs);
    GEODEC_TRY(geodec_harness_propagator(m, xs, vs, T, o->dl, phi, err));
    const double *end = xs + T * n, *map = phi + T * n * n;
    *radius = 0;
    for (int64_t e = 0; e < levels; e++) {
        double sum = 0;
        for (int64_t q = 0; q < per; q++) {
            const double *u = delta + (e * per + q) * n;
            const double scale = eps[e] / fmax(sqrt(geodec__dot(n, u, u)), 1e-12);
            for (int64_t i = 0; i < n; i++) start[i] = x0[i] + scale * u[i];
            geodec_harness_geodesic(m, start, v0, T, o->dl, ys, NULL);
            const double *to = ys + T * n;
            for (int64_t i = 0; i < n; i++) {
                miss[i] = to[i] - end[i] - scale * geodec__dot(n, map + i * n, u);
                moved[i] = to[i] - x0[i];
            }
            GEODEC_TRY(geodec_harness_g_at(m, to, g, err));
            sum += sqrt(fmax(geodec__norm2(n, g, miss), 0)) / fmax(sqrt(fmax(geodec__norm2(n, g, moved), 0)), 1e-9);
        }
        const double mean = sum / (double)per;
        if (error) error[e] = mean;
        if (mean <= o->tau_err) *radius = fmax(*radius, eps[e]);
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

void geodec_injectivity_published_radius_calibrate(int64_t count, const double *raw, const double *measured, double low,
                                                   double high, geodec_injectivity_published_radius_fit *out)
{
    uint8_t use[4096];
    *out = (geodec_injectivity_published_radius_fit){.total = count};
    if (count < 1 || count > (int64_t)sizeof use) return;
    for (int64_t i = 0; i < count; i++) out->fitted += use[i] = measured[i] > low + 1e-12 && measured[i] < high - 1e-12;
    if (out->fitted < 2) {
        memset(use, 1, (size_t)count);
        out->fitted = count;
    }
    double xx = 0, xy = 0, square = 0;
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
        out->nonzero++;
        out->mape += fabs(gap) / measured[i];
    }
    if (out->nonzero) out->mape /= (double)out->nonzero;
    out->rmse = count ? sqrt(square / (double)count) : 0;
}

static double cosine(int64_t n, const double *a, const double *b)
{
    const double na = sqrt(geodec__dot(n, a, a)), nb = sqrt(geodec__dot(n, b, b));
    return na < 1e-12 || nb < 1e-12 ? 0 : fmin(fmax(geodec__dot(n, a, b) / (na * nb), -1), 1);
}

geodec_status geodec_injectivity_published_velocity_proxy(const geodec_harness_manifold *m, int64_t points,
                                                          const double *point, int64_t query,
                                                          const geodec_injectivity_published_radius_options *o,
                                                          geodec_published_velocity *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, T = o->steps;
    double *d = NULL, *paths = NULL, g[MAX_N * MAX_N], l[MAX_N * MAX_N], v[3][MAX_N], diff[MAX_N], w[MAX_N];
    int64_t *order = NULL;
    if (query < 0 || query >= points || points < 2)
        GEODEC_THROW(GEODEC_RANGE, "query %lld is not one of %lld points", (long long)query, (long long)points);
    GEODEC_NEW_EACH(points, d, order);
    GEODEC_NEW(paths, 3 * (T + 1) * n);
    const double *x = point + query * n;
    GEODEC_TRY(sorted(m, points, point, x, d, order, err));
    out->target = order[1];
    const double *y = point + order[1] * n;
    GEODEC_TRY(gradient(m, x, y, true, o, v[0], err));
    for (int64_t i = 0; i < n; i++) v[0][i] = -v[0][i];
    GEODEC_TRY(geodec_harness_g_at(m, x, g, err));
    for (int64_t i = 0; i < n; i++) diff[i] = y[i] - x[i];
    for (int64_t i = 0; i < n; i++) v[1][i] = geodec__dot(n, g + i * n, diff) / fmax(2 * o->tau, 1e-12);
    memcpy(l, g, sizeof *l * (size_t)(n * n));
    for (int64_t i = 0; i < n; i++) l[i * n + i] += 1e-9;
    GEODEC_TRY(geodec_chol_factor(n, l, err));
    geodec_chol_solve(n, l, 1, v[1]);
    memcpy(v[2], diff, sizeof *diff * (size_t)n);
    for (int k = 0; k < 3; k++) {
        GEODEC_TRY(geodec_harness_unit(m, x, v[k], err));
        geodec_harness_geodesic(m, x, v[k], T, o->dl, paths + k * (T + 1) * n, NULL);
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
