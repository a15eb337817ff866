#include "base/mem.h"
#include "geometry/analytic.h"
#include "geometry/geodesic.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct exact {
    analytic_space a;
    int64_t paths, nodes;
    double *x0, *v0, *t, *x, top;
} exact;

static exact load(const char *file, const analytic_space *a)
{
    exact e = {.a = *a};
    int64_t shape[8];
    e.x0 = analytic_read(file, e.a.group, "geo_x0", NULL);
    e.v0 = analytic_read(file, e.a.group, "geo_v0", NULL);
    e.t = analytic_read(file, e.a.group, "geo_t", NULL);
    e.x = analytic_read(file, e.a.group, "geo_x", shape);
    e.paths = shape[0];
    e.nodes = shape[1];
    e.top = fmax(1, test_max_abs(e.x, e.paths * e.nodes * e.a.n));
    return e;
}

static void release(exact *e)
{
    geodec_mem_free(e->x0);
    geodec_mem_free(e->v0);
    geodec_mem_free(e->t);
    geodec_mem_free(e->x);
}

/* Largest distance from the exact paths when the stored step is cut into `refine` parts. */
static double worst(const exact *e, geodec_geodesic_options o, int64_t refine, double *drift)
{
    const int64_t n = e->a.n;
    o.steps = (e->nodes - 1) * refine;
    o.dl = e->t[e->nodes - 1] / (double)o.steps;
    double *xs = geodec_mem_new((o.steps + 1) * n, sizeof *xs), *vs = geodec_mem_new((o.steps + 1) * n, sizeof *vs);
    double w = 0;
    *drift = 0;
    for (int64_t p = 0; p < e->paths; p++) {
        geodec_err err = {0};
        geodec_path_report rep;
        test_ok(geodec_geodesic_path(&e->a.space.base, &o, e->x0 + p * n, e->v0 + p * n, xs, vs, NULL, &rep, &err),
                &err);
        cr_assert_eq(rep.status, GEODEC_PATH_OK, "%s path %lld: status %d, drift %g", e->a.group, (long long)p,
                     (int)rep.status, rep.drift);
        cr_assert_eq(rep.good, o.steps);
        *drift = fmax(*drift, rep.drift);
        for (int64_t k = 0; k < e->nodes; k++)
            w = fmax(w, test_max_abs_diff(xs + k * refine * n, e->x + (p * e->nodes + k) * n, n));
    }
    geodec_mem_free(xs);
    geodec_mem_free(vs);
    return w;
}

Test(geodesic, rk4_converges_with_order_four_to_the_exact_paths)
{
    static analytic_space list[ANALYTIC_MAX];
    int count;
    const char *file = analytic_load(list, &count);
    for (int c = 0; c < count; c++) {
        if (!list[c].curved) continue;
        exact e = load(file, &list[c]);
        double d1, d2;
        const double e1 = worst(&e, geodec_geodesic_defaults(), 2, &d1),
                     e2 = worst(&e, geodec_geodesic_defaults(), 4, &d2);
        const double order = log2(e1 / e2);
        cr_assert(order > 3.7 && order < 4.5, "%s: %g -> %g, order %g", e.a.group, e1, e2, order);
        cr_assert_lt(e2, 1e-5 * e.top, "%s: %g", e.a.group, e2);
        cr_assert_lt(d2, d1 / 8);
        release(&e);
    }
}

Test(geodesic, adaptive_meets_its_tolerance)
{
    static analytic_space list[ANALYTIC_MAX];
    int count;
    const char *file = analytic_load(list, &count);
    for (int c = 0; c < count; c++) {
        if (!list[c].curved) continue;
        exact e = load(file, &list[c]);
        geodec_geodesic_options o = geodec_geodesic_defaults();
        o.method = GEODEC_GEODESIC_ADAPTIVE;
        double drift;
        const double w = worst(&e, o, 1, &drift);
        cr_assert_lt(w, 1e-8 * e.top, "%s: %g", e.a.group, w);
        cr_assert_lt(drift, 1e-8);
        o.rtol = 1e-12;
        const double w2 = worst(&e, o, 1, &drift);
        char dataset[2 * TEST_H5_NAME];
        (void)snprintf(dataset, sizeof dataset, "/%.60s/geo_x", e.a.group);
        goldens_report(file, dataset, w2 / e.top, 1e-11);
        release(&e);
    }
}

Test(geodesic, straight_lines_in_polar_coordinates)
{
    geodec_space s;
    geodec_space_polar_init(&s);
    geodec_geodesic_options o = geodec_geodesic_defaults();
    o.steps = 64, o.dl = 0.025;
    double xs[65 * 2], vs[65 * 2], speed2[65];
    geodec_path_report rep;
    geodec_err err = {0};
    /* from (x, y) = (1, 0) with velocity (0.6, 0.8): dr = 0.6, dtheta = 0.8 */
    test_ok(geodec_geodesic_path(&s, &o, (double[]){1, 0}, (double[]){0.6, 0.8}, xs, vs, speed2, &rep, &err), &err);
    cr_assert_eq(rep.status, GEODEC_PATH_OK);
    for (int k = 0; k <= 64; k++) {
        const double t = 0.025 * k;
        cr_assert_float_eq(xs[2 * k] * cos(xs[2 * k + 1]), 1 + 0.6 * t, 1e-7);
        cr_assert_float_eq(xs[2 * k] * sin(xs[2 * k + 1]), 0.8 * t, 1e-7);
        cr_assert_float_eq(speed2[k], 1, 1e-7);
    }
}

/* Straight into the origin of the polar chart: the path must stop with a status, without a NaN. */
Test(geodesic, breakdown_has_a_status_and_no_nan)
{
    geodec_space s;
    geodec_space_polar_init(&s);
    geodec_geodesic_options o = geodec_geodesic_defaults();
    double xs[17 * 2], vs[17 * 2], speed2[17];
    for (int method = 0; method < 2; method++) {
        geodec_path_report rep;
        geodec_err err = {0};
        o.method = method ? GEODEC_GEODESIC_ADAPTIVE : GEODEC_GEODESIC_RK4;
        test_ok(geodec_geodesic_path(&s, &o, (double[]){1, 0}, (double[]){-1, 0}, xs, vs, speed2, &rep, &err), &err);
        cr_assert_eq(rep.status, GEODEC_PATH_NONFINITE, "%d", (int)rep.status);
        cr_assert(rep.good >= 8 && rep.good < 16, "good = %lld", (long long)rep.good);
        for (int i = 0; i < 34; i++) cr_assert(isfinite(xs[i]) && isfinite(vs[i]));
        for (int k = 0; k <= 16; k++) {
            cr_assert(isfinite(speed2[k]));
            if (k > rep.good) cr_assert_eq(xs[2 * k], xs[2 * rep.good]);
        }
    }
}

static geodec_status left_half(const void *ctx, const double *x, bool *inside, geodec_err *err)
{
    (void)ctx;
    (void)err;
    *inside = x[0] < 0.5;
    return GEODEC_OK;
}

Test(geodesic, statuses_of_drift_and_hull)
{
    geodec_space_conformal s;
    geodec_err err = {0};
    test_ok(geodec_space_conformal_init(&s, 2, 1, &err), &err);
    geodec_geodesic_options o = geodec_geodesic_defaults();
    const double origin[2] = {0, 0}, bad[2] = {0, NAN};
    double xs[17 * 2], vs[17 * 2], v[2] = {1, 0}, none[2] = {0, 0};
    geodec_path_report rep;
    test_ok(geodec_geodesic_unit(&s.base, origin, v, &err), &err);
    cr_assert_float_eq(v[0], 0.5, 1e-15);
    o.inside = left_half;
    test_ok(geodec_geodesic_path(&s.base, &o, origin, v, xs, vs, NULL, &rep, &err), &err);
    cr_assert_eq(rep.status, GEODEC_PATH_LEFT_HULL); /* ends at tan(0.8) = 1.03 */
    cr_assert_eq(rep.good, 16);
    o.inside = NULL;
    o.drift_max = 1e-12;
    test_ok(geodec_geodesic_path(&s.base, &o, origin, v, xs, vs, NULL, &rep, &err), &err);
    cr_assert_eq(rep.status, GEODEC_PATH_DRIFT);
    cr_assert(rep.drift > 1e-12 && rep.drift < 1e-3);
    cr_assert_eq(geodec_geodesic_path(&s.base, &o, bad, v, xs, vs, NULL, &rep, NULL), GEODEC_NUMERIC);
    o.steps = 0;
    cr_assert_eq(geodec_geodesic_path(&s.base, &o, origin, v, xs, vs, NULL, &rep, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_geodesic_unit(&s.base, origin, none, NULL), GEODEC_NUMERIC);
}

Test(geodesic, one_and_three_threads_agree_bit_for_bit)
{
    enum { P = 37, ROW = 17 * 3 };
    static double x0[P * 3], v0[P * 3], xs[2][P * ROW], vs[2][P * ROW], speed2[2][P * 17];
    geodec_path_report rep[2][P];
    geodec_space_conformal s;
    geodec_err err = {0};
    geodec_pool *pool;
    test_ok(geodec_space_conformal_init(&s, 3, 1, &err), &err);
    const geodec_geodesic_options o = geodec_geodesic_defaults();
    for (int i = 0; i < P * 3; i++) x0[i] = 0.01 * ((i * 7) % 31), v0[i] = 0.1 * ((i * 5) % 13) - 0.5;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int t = 0; t < 2; t++)
        test_ok(geodec_geodesic_batch(&s.base, &o, t ? pool : NULL, NULL, P, x0, v0, xs[t], vs[t], speed2[t], NULL,
                                      rep[t], &err),
                &err);
    geodec_pool_destroy(pool);
    cr_assert_eq(memcmp(xs[0], xs[1], sizeof xs[0]), 0);
    cr_assert_eq(memcmp(vs[0], vs[1], sizeof vs[0]), 0);
    cr_assert_eq(memcmp(speed2[0], speed2[1], sizeof speed2[0]), 0);
    for (int p = 0; p < P; p++) cr_assert(rep[0][p].drift == rep[1][p].drift && rep[0][p].good == rep[1][p].good);
}

/* The failing start with the lowest number is reported, for any number of threads. */
Test(geodesic, batch_names_the_first_bad_path)
{
    enum { P = 40 };
    static double x0[P * 2], v0[P * 2], xs[P * 34], vs[P * 34];
    geodec_path_report rep[P];
    geodec_space s;
    geodec_pool *pool;
    geodec_err err = {0};
    char line[256];
    geodec_space_polar_init(&s);
    const geodec_geodesic_options o = geodec_geodesic_defaults();
    for (int p = 0; p < P; p++) x0[2 * p] = p == 11 || p == 30 ? -1 : 1, v0[2 * p] = 0.5;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    cr_assert_eq(geodec_geodesic_batch(&s, &o, pool, NULL, P, x0, v0, xs, vs, NULL, NULL, rep, &err), GEODEC_NUMERIC);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "geodesics 11"), "%s", line);
    geodec_pool_destroy(pool);
}
