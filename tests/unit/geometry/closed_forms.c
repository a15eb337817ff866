#include "geometry/closed_forms.h"

#include "base/vec_internal.h"

#include <math.h>
#include <string.h>

/* Moebius addition x (+) y of the stereographic model of curvature K. */
static void moebius_add(int64_t n, double k, const double *x, const double *y, double *out)
{
    const double xy = geodec__dot(n, x, y), xx = geodec__dot(n, x, x), yy = geodec__dot(n, y, y);
    const double a = 1 - 2 * k * xy - k * yy, b = 1 + k * xx, den = 1 - 2 * k * xy + k * k * xx * yy;
    for (int64_t i = 0; i < n; i++) out[i] = (a * x[i] + b * y[i]) / den;
}

geodec_status closed_geodesic(const geodec_space_conformal *s, const double *x0, const double *v0, double t, double *x,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->base.n;
    const double k = s->curvature, speed = sqrt(geodec__dot(n, v0, v0)), root = sqrt(fabs(k));
    double y[GEODEC_SPACE_DIM_MAX] = {0}, out[GEODEC_SPACE_DIM_MAX] = {0};
    const double d = 1 + k * geodec__dot(n, x0, x0);
    if (!(d > 0)) GEODEC_THROW(GEODEC_NUMERIC, "%s: the start is outside the chart", s->base.name);
    const double half = speed * t / d; /* lambda |v| t / 2, lambda = 2 / d */
    const double reach = k > 0 ? tan(root * half) / root : k < 0 ? tanh(root * half) / root : half;
    for (int64_t i = 0; i < n; i++) y[i] = speed > 0 ? reach * v0[i] / speed : 0;
    if (k == 0)
        for (int64_t i = 0; i < n; i++) out[i] = x0[i] + v0[i] * t;
    else
        moebius_add(n, k, x0, y, out);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(out[i])) GEODEC_THROW(GEODEC_NUMERIC, "%s: the geodesic leaves the chart", s->base.name);
    memcpy(x, out, (size_t)n * sizeof *x);
done:
    return st;
}

double closed_distance(const geodec_space_conformal *s, const double *x, const double *y)
{
    const int64_t n = s->base.n;
    const double k = s->curvature, root = sqrt(fabs(k));
    double minus[GEODEC_SPACE_DIM_MAX] = {0}, m[GEODEC_SPACE_DIM_MAX] = {0};
    for (int64_t i = 0; i < n; i++) minus[i] = -x[i];
    moebius_add(n, k, minus, y, m);
    const double r = sqrt(geodec__dot(n, m, m));
    return k > 0 ? 2 * atan(root * r) / root : k < 0 ? 2 * atanh(root * r) / root : 2 * r;
}

double closed_fisher_distance(const double x[2], const double y[2])
{
    const double mu = x[0] - y[0], sigma = x[1] - y[1];
    const double z = (0.5 * mu * mu + sigma * sigma) / (2 * x[1] * y[1]);
    return sqrt(2) * log1p(z + sqrt(z * (z + 2))); /* arcosh(1 + z) without cancellation */
}
