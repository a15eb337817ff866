#include "lab/worlds/field.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

enum { MODES = GEODEC_WORLD_FIELD_MODES, N = GEODEC_SPACE_DIM_MAX };

double geodec_world_field_phi(const geodec_world_field *f, const double *x, double *gradient, double *second)
{
    const int n = f->n;
    double phi = 0;
    memset(gradient, 0, (size_t)n * sizeof *gradient);
    memset(second, 0, (size_t)n * sizeof *second);
    for (int k = 0; k < MODES; k++) {
        const double at = geodec__dot(n, f->wave[k], x) + f->phase[k], c = f->factor / 2 * cos(at),
                     s = f->factor / 2 * sin(at);
        phi += c;
        for (int i = 0; i < n; i++) {
            gradient[i] -= s * f->wave[k][i];
            second[i] -= c * f->wave[k][i] * f->wave[k][i];
        }
    }
    return phi;
}

void geodec_world_field_curvature(const geodec_world_field *f, const double *x, double k[3])
{
    double d[N], h[N];
    const double scale = exp(-2 * geodec_world_field_phi(f, x, d, h)), square = geodec__dot(f->n, d, d);
    k[0] = 0;
    k[1] = INFINITY;
    k[2] = -INFINITY;
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < i; j++) {
            const double plane = -scale * (h[i] + h[j] - d[i] * d[i] - d[j] * d[j] + square);
            k[0] += 2 * plane;
            k[1] = fmin(k[1], plane);
            k[2] = fmax(k[2], plane);
        }
}

/* Gamma^k_ij = delta_ki phi_j + delta_kj phi_i - delta_ij phi_k */
static geodec_status conformal_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                                  geodec_err *err)
{
    const geodec_world_field *f = (const geodec_world_field *)s;
    const int64_t n = s->n;
    double d[N], h[N];
    if (!geodec__finite(n, x)) GEODEC_FAIL(GEODEC_NUMERIC, "%s: the point is not finite", s->name);
    const double e = exp(2 * geodec_world_field_phi(f, x, d, h));
    if (g) {
        memset(g, 0, (size_t)(n * n) * sizeof *g);
        for (int64_t i = 0; i < n; i++) g[i * n + i] = e;
    }
    if (dg) {
        memset(dg, 0, (size_t)(n * n * n) * sizeof *dg);
        for (int64_t a = 0; a < n; a++)
            for (int64_t i = 0; i < n; i++) dg[(a * n + i) * n + i] = 2 * e * d[a];
    }
    if (gamma) {
        memset(gamma, 0, (size_t)(n * n * n) * sizeof *gamma);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double *row = gamma + (i * n + j) * n;
                row[i] += d[j];
                row[j] += d[i];
                for (int64_t k = 0; i == j && k < n; k++) row[k] -= d[k];
            }
    }
    return GEODEC_OK;
}

geodec_status geodec_world_field_init(geodec_world_field *f, int32_t n, bool conformal, double amplitude, double scale,
                                      double strength, uint64_t seed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t packed = (int64_t)n * (n + 1) / 2;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("worlds field", 0));
    *f = (geodec_world_field){0};
    if (n < 2 || n > N) GEODEC_THROW(GEODEC_RANGE, "dimension %d is outside 2..%d", (int)n, (int)N);
    if (!(amplitude >= 0) || !isfinite(amplitude) || !(scale > 0) || !(strength >= 0 && strength <= 1))
        GEODEC_THROW(GEODEC_RANGE, "a field of amplitude %g, scale %g and strength %g", amplitude, scale, strength);
    f->n = n;
    f->conformal = conformal;
    f->factor = strength * amplitude * sqrt(2.0 / MODES);
    for (int k = 0; k < MODES; k++) {
        for (int i = 0; i < n; i++) f->wave[k][i] = geodec_rng_normal(&r) / scale;
        f->phase[k] = 6.28318530717958647693 * geodec_rng_uniform(&r);
    }
    if (conformal) {
        f->space = (geodec_space){.n = n, .name = "conformal field", .at = conformal_at, .fd_step = 1e-4 * scale};
    } else {
        f->space = (geodec_space){.n = n, .name = "table of a field"};
        GEODEC_NEW(f->matrix, MODES * packed);
        for (int k = 0; k < MODES; k++)
            for (int64_t i = 0, at = k * packed; i < n; i++)
                for (int64_t j = i; j < n; j++, at++)
                    f->matrix[at] = geodec_rng_normal(&r) * sqrt((i == j ? 2 : 1) / (double)n);
    }
done:
    return st;
}

void geodec_world_field_clear(geodec_world_field *f)
{
    geodec_mem_free(f->matrix);
    *f = (geodec_world_field){0};
}

/* log g at x, full. */
static void log_at(const geodec_world_field *f, const double *x, double *l)
{
    const int64_t n = f->n, packed = n * (n + 1) / 2;
    memset(l, 0, (size_t)(n * n) * sizeof *l);
    for (int k = 0; k < MODES; k++) {
        const double c = f->factor * cos(geodec__dot(n, f->wave[k], x) + f->phase[k]);
        for (int64_t i = 0, at = 0; i < n; i++)
            for (int64_t j = i; j < n; j++, at++) {
                const double entry = f->conformal ? (i == j) : f->matrix[k * packed + at];
                l[i * n + j] += c * entry;
                if (j > i) l[j * n + i] = l[i * n + j];
            }
    }
}

geodec_status geodec_world_field_matrices(const geodec_world_field *f, int64_t points, const double *x, double *g,
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = f->n;
    double *l = NULL, *w = NULL;
    GEODEC_NEW(l, n * n);
    GEODEC_NEW(w, n);
    for (int64_t p = 0; p < points; p++) {
        log_at(f, x + p * n, l);
        GEODEC_TRY_MSG(geodec_eig_sym(n, l, w, l, err), "point %lld", (long long)p);
        for (int64_t i = 0; i < n; i++) w[i] = exp(w[i]);
        geodec_eig_compose(n, w, l, g + p * n * n);
    }
done:
    GEODEC_FREE(l, w);
    return st;
}
