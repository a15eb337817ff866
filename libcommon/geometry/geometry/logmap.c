#include "geodec/geodesic.h"

#include "base/vec_internal.h"
#include "geometry/geodesic.h"

#include <math.h>
#include <string.h>

enum { MAX_N = 64, MAX_STEPS = GEODEC_LOGMAP_STEPS };

geodec_logmap_options geodec_logmap_defaults(void)
{
    return (geodec_logmap_options){.rtol = 1e-3, .drift_max = 1e-2, .tolerance = 1e-3, .rounds = 12};
}

/* h += (s - h r) (h^T s)^T / (s . h r): the inverse derivative that maps the change r of the miss to the step s. */
static void update(int64_t n, const double *s, const double *r, double *h)
{
    double hr[MAX_N], sh[MAX_N] = {0};
    for (int64_t i = 0; i < n; i++) hr[i] = geodec__dot(n, h + i * n, r);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) sh[j] += s[i] * h[i * n + j];
    const double scale = geodec__dot(n, s, hr);
    if (!(fabs(scale) > 1e-12 * geodec__dot(n, s, s))) return;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) h[i * n + j] += (s[i] - hr[i]) * sh[j] / scale;
}

geodec_status geodec_logmap_by(const geodec_space *s, const geodec_geodesic_options *go, double tolerance, int rounds,
                               const double *x, const double *y, double *w, bool *found, geodec_err *err)
{
    const int64_t n = s->n, end = go->steps;
    double xs[(MAX_STEPS + 1) * MAX_N], vs[(MAX_STEPS + 1) * MAX_N];
    double h[MAX_N * MAX_N] = {0}, best[MAX_N], miss[MAX_N], change[MAX_N], step[MAX_N];
    double length, least = INFINITY;
    *found = false;
    if (n < 1 || n > MAX_N) GEODEC_FAIL(GEODEC_RANGE, "a logarithm in %lld dimensions", (long long)n);
    if (end < 1 || end > MAX_STEPS) GEODEC_FAIL(GEODEC_RANGE, "a logarithm by %lld steps", (long long)end);
    for (int64_t i = 0; i < n; i++) {
        w[i] = y[i] - x[i];
        h[i * n + i] = 1;
    }
    length = geodec__dot(n, w, w);
    for (int round = 0; round < rounds; round++) {
        geodec_path_report report;
        GEODEC_PASS(geodec_geodesic_path(s, go, x, w, xs, vs, NULL, &report, err));
        double size = INFINITY;
        if (report.status != GEODEC_PATH_DRIFT && report.good == end) {
            for (int64_t i = 0; i < n; i++) change[i] = xs[end * n + i] - y[i] - (round > 0 ? miss[i] : 0);
            size = 0;
            for (int64_t i = 0; i < n; i++) size += (xs[end * n + i] - y[i]) * (xs[end * n + i] - y[i]);
        }
        if (!(size < least)) { /* no improvement: half the step from the best point */
            if (round == 0) break;
            for (int64_t i = 0; i < n; i++) w[i] = best[i] + (step[i] *= 0.5);
            continue;
        }
        if (round > 0) update(n, step, change, h);
        least = size;
        for (int64_t i = 0; i < n; i++) miss[i] = xs[end * n + i] - y[i];
        memcpy(best, w, (size_t)n * sizeof *best);
        for (int64_t i = 0; i < n; i++) {
            step[i] = -geodec__dot(n, h + i * n, miss);
            w[i] += step[i];
        }
        if (!geodec__finite(n, w)) break;
        /* the last correction needs no further geodesic, so it is applied too */
        *found = size <= tolerance * tolerance * length;
        if (*found) break;
    }
    return GEODEC_OK;
}

geodec_status geodec_logmap(const geodec_space *s, const geodec_logmap_options *o, const double *x, const double *y,
                            double *w, bool *found, geodec_err *err)
{
    const geodec_geodesic_options go = {
        .steps = 1, .dl = 1, .method = GEODEC_GEODESIC_ADAPTIVE, .rtol = o->rtol, .drift_max = o->drift_max};
    return geodec_logmap_by(s, &go, o->tolerance, o->rounds, x, y, w, found, err);
}
