#include "geometry/space_warped.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "geometry/rbf_internal.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

/* out = v a v^T (into the basis whose rows are v), or v^T a v (back). */
static void rotate(int64_t n, bool back, const double *v, const double *a, double *out, double *tmp)
{
    for (int64_t i = 0; i < n; i++) {
        double *t = tmp + i * n;
        memset(t, 0, (size_t)n * sizeof *t);
        for (int64_t k = 0; k < n; k++) {
            const double c = back ? v[k * n + i] : v[i * n + k], *row = a + k * n;
            for (int64_t j = 0; j < n; j++) t[j] += c * row[j];
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) { /* symmetric */
            double s = 0;
            for (int64_t k = 0; k < n; k++) s += tmp[i * n + k] * (back ? v[k * n + j] : v[j * n + k]);
            out[i * n + j] = out[j * n + i] = s;
        }
}

/* alpha b(x) */
static double strength(const geodec_space_warped *s, const double *x)
{
    double r2 = 0;
    for (int64_t i = 0; i < s->base.n; i++) r2 += (x[i] - s->centre[i]) * (x[i] - s->centre[i]);
    return s->alpha * exp(-r2 / (2 * s->sigma * s->sigma));
}

static const double NEGLIGIBLE = 1e-18;

/* Without a warp at these points the inner space's method is used, so that the bits are the same. */
static geodec_status warped_path(const geodec_space *space, int64_t points, const double *x, const double *v,
                                 double *speed2, double *accel, bool *done_here, geodec_err *err)
{
    const geodec_space_warped *s = (const geodec_space_warped *)(const void *)space;
    *done_here = false;
    if (!s->inner->path) return GEODEC_OK;
    for (int64_t i = 0; i < points; i++)
        if (fabs(strength(s, x + i * space->n)) >= NEGLIGIBLE) return GEODEC_OK;
    return s->inner->path(s->inner, points, x, v, speed2, accel, done_here, err);
}

static geodec_status warped_at(const geodec_space *space, const double *x, double *g, double *dg, double *gamma,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_space_warped *s = (const geodec_space_warped *)(const void *)space;
    const int64_t n = space->n, n2 = n * n, n3 = n2 * n;
    double *work = NULL, d[GEODEC_SPACE_DIM_MAX], l[GEODEC_SPACE_DIM_MAX];
    const double b = strength(s, x), inverse = 1 / (s->sigma * s->sigma);
    if (!(fabs(b) >= NEGLIGIBLE)) return s->inner->at(s->inner, x, g, dg, gamma, err);
    const bool derivative = dg || gamma;
    GEODEC_NEW(work, 7 * n2 + (derivative ? 2 * n3 : 0) + geodec_eig_sym_scratch(n));
    double *g0 = work, *v0 = g0 + n2, *v1 = v0 + n2, *log_g = v1 + n2, *tmp = log_g + n2, *f0 = tmp + n2, *f1 = f0 + n2,
           *dg0 = f1 + n2, *out = dg0 + n3, *eig = derivative ? out + n3 : dg0;
    GEODEC_TRY(s->inner->at(s->inner, x, g0, derivative ? dg0 : NULL, NULL, err));
    GEODEC_TRY(geodec_eig_sym_ws(n, g0, d, v0, eig, err));
    if (!(d[0] > 0)) GEODEC_THROW(GEODEC_NUMERIC, "the metric below a warp is not positive definite");
    for (int64_t i = 0; i < n; i++) l[i] = log(d[i]);
    geodec_eig_compose(n, l, v0, log_g);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            log_g[i * n + j] -= b * (s->direction[i] * s->direction[j]);
            f0[i * n + j] = 1 / geodec__expdiff_dd2(l[i], l[j]); /* divided differences of log at exp(l) */
        }
    GEODEC_TRY(geodec_eig_sym_ws(n, log_g, l, v1, eig, err));
    for (int64_t i = 0; i < n; i++) d[i] = exp(l[i]);
    geodec_eig_compose(n, d, v1, g0);
    if (!geodec__finite(n2, g0)) GEODEC_THROW(GEODEC_NUMERIC, "a warp of strength %g overflows", s->alpha);
    if (derivative) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) f1[i * n + j] = geodec__expdiff_dd2(l[i], l[j]);
        for (int64_t a = 0; a < n; a++) {
            double *u = dg0 + a * n2;
            rotate(n, false, v0, u, u, tmp);
            for (int64_t i = 0; i < n2; i++) u[i] *= f0[i];
            rotate(n, true, v0, u, u, tmp);
            const double c = b * (x[a] - s->centre[a]) * inverse;
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) u[i * n + j] += c * (s->direction[i] * s->direction[j]);
            rotate(n, false, v1, u, u, tmp);
            for (int64_t i = 0; i < n2; i++) u[i] *= f1[i];
            rotate(n, true, v1, u, u, tmp);
        }
        if (gamma) GEODEC_TRY(geodec_space_christoffel(space->n, g0, dg0, out, err));
    }
    if (g) memcpy(g, g0, (size_t)n2 * sizeof *g);
    if (dg) memcpy(dg, dg0, (size_t)n3 * sizeof *dg);
    if (gamma) memcpy(gamma, out, (size_t)n3 * sizeof *gamma);
done:
    geodec_mem_free(work);
    return st;
}

geodec_status geodec_space_warped_init(geodec_space_warped *s, const geodec_space *inner, const double *centre,
                                       const double *direction, double alpha, double sigma, geodec_err *err)
{
    const int64_t n = inner->n;
    geodec_space_warped o = {.inner = inner, .alpha = alpha, .sigma = sigma};
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX || !isfinite(alpha) || !(sigma > 0) || !isfinite(sigma) ||
        !geodec__finite(n, centre) || !geodec__finite(n, direction))
        GEODEC_FAIL(GEODEC_RANGE, "a warp of strength %g, width %g in dimension %lld", alpha, sigma, (long long)n);
    const double length = sqrt(geodec__dot(n, direction, direction));
    memcpy(o.centre, centre, (size_t)n * sizeof *centre);
    for (int64_t i = 0; i < n; i++) o.direction[i] = length > 0 ? direction[i] / length : 0;
    o.base = (geodec_space){.n = inner->n,
                            .name = "warped space",
                            .at = warped_at,
                            .path = warped_path,
                            .fd_step = inner->fd_step > 0 ? fmin(inner->fd_step, 1e-3 * sigma) : 1e-3 * sigma};
    *s = o;
    return GEODEC_OK;
}
