#include "lab/worlds/check.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "geodec/curvature.h"
#include "geometry/geodesic.h"
#include "lab/worlds/worlds_internal.h"

/* Largest tangential acceleration of the geodesics of row i along the first axis of its frame. y [5][ambient], t
 * [n][ambient]. A geodesic that leaves the set within h is left out. */
static geodec_status accelerate(const geodec_world *w, int64_t i, double unit, double *y, double *t, double *largest,
                                geodec_err *err)
{
    const int64_t d = w->ambient;
    const double h = 1e-3 * unit, c[GEODEC__WORLD_N] = {1};
    geodec_world_tangent(w, i, t);
    for (int k = 0; k < 5; k++) {
        const geodec_status st = geodec_world_geodesic(w, i, c, (k - 2) * h, y + k * d, NULL, NULL);
        if (st == GEODEC_NUMERIC) return GEODEC_OK;
        if (st != GEODEC_OK) GEODEC_FAIL(st, "the geodesic of row %lld", (long long)i);
    }
    for (int64_t a = 0; a < w->n; a++) {
        double sum = 0;
        for (int64_t k = 0; k < d; k++)
            sum += t[a * d + k] * (16 * (y[3 * d + k] + y[d + k]) - (y[4 * d + k] + y[k]) - 30 * y[2 * d + k]);
        *largest = fmax(*largest, unit * fabs(sum) / (12 * h * h));
    }
    return GEODEC_OK;
}

/* The fact of a warp by the integrator. */
static geodec_status carried(const geodec_world *w, geodec_world_check *c, geodec_err *err)
{
    const geodec_world_carry *k = &w->shape->carry;
    geodec_geodesic_options o = geodec_geodesic_defaults();
    geodec_path_report report;
    const double v[GEODEC__WORLD_N] = {1};
    double xs[2 * GEODEC__WORLD_N], vs[2 * GEODEC__WORLD_N];
    o.steps = 1;
    o.dl = k->length;
    o.method = GEODEC_GEODESIC_ADAPTIVE;
    o.rtol = 1e-11;
    GEODEC_PASS(geodec_geodesic_path(&k->space, &o, k->query, v, xs, vs, NULL, &report, err));
    if (report.status == GEODEC_PATH_NONFINITE) GEODEC_FAIL(GEODEC_NUMERIC, "the geodesic of the fact breaks down");
    c->before = sqrt(geodec__gap2(w->n, k->end, k->target)) / k->length;
    c->after = sqrt(geodec__gap2(w->n, xs + w->n, k->target)) / k->length;
    return GEODEC_OK;
}

geodec_status geodec_world_check_rows(const geodec_world *w, int64_t rows, geodec_world_check *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_world_check c = {0};
    const geodec_space *s = geodec_world_space(w);
    const double unit = sqrt(w->set_variance);
    double *y = NULL, *t = NULL;
    GEODEC_NEW(y, 5 * w->ambient);
    GEODEC_NEW(t, w->n * w->ambient);
    if (rows > w->points) rows = w->points;
    for (int64_t k = 0; w->shape && k < rows; k++) {
        const int64_t i = k * w->points / rows;
        geodec_curvature_invariants v;
        c.rows++;
        if (w->set != GEODEC_WORLD_FIELD && w->set != GEODEC_WORLD_WARP)
            GEODEC_TRY(accelerate(w, i, unit, y, t, &c.acceleration, err));
        if (!s || w->n > 8) continue; /* the cost of curvature grows as n^5 */
        GEODEC_TRY(geodec_curvature_at(s, w->parameter + i * w->parameters, NULL, NULL, &v, err));
        c.curvature = fmax(c.curvature, fabs(v.scalar - w->scalar[i]) * w->set_variance);
        c.curved++;
    }
    if (w->fact) GEODEC_TRY(carried(w, &c, err));
    *out = c;
done:
    GEODEC_FREE(y, t);
    return st;
}
