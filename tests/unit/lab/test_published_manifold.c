/* The published manifold against the goldens' `ref` datasets. */
#include "base/mem.h"
#include "lab/harness/manifold.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void metric(const char *path)
{
    geodec_err err = {0};
    int64_t shape[8];
    double *point = test_h5(path, "/cloud/points", shape, NULL), *knn = test_h5(path, "/metric/knn_index", NULL, NULL);
    const int64_t points = shape[0], n = shape[1], k = 8;
    double *g = geodec_mem_new(points * n * n, sizeof *g);
    int32_t *index = geodec_mem_new(points * k, sizeof *index);
    const geodec_harness_options o = geodec_harness_defaults();
    test_ok(geodec_harness_metric(points, n, point, &o, NULL, NULL, g, index, &err), &err);
    for (int64_t i = 0; i < points * k; i++) cr_assert_eq(index[i], (int32_t)knn[i]);
    goldens_compare(path, "/metric/g_raw", points * n * n, g, 1e-9);
    geodec_harness_manifold m;
    test_ok(geodec_harness_manifold_fit(points, n, point, &o, NULL, NULL, &m, &err), &err);
    goldens_compare(path, "/metric/g_smooth", points * n * n, m.g, 1e-9);
    goldens_compare(path, "/gamma/ref_fd", points * n * n * n, m.gamma, 1e-7);
    geodec_harness_manifold_clear(&m);
    geodec_mem_free(point);
    geodec_mem_free(knn);
    geodec_mem_free(g);
    geodec_mem_free(index);
}
Test(published, metric_and_symbols) { goldens_each(metric); }

static void paths(const char *path)
{
    geodec_err err = {0};
    int64_t shape[8], r_shape[8];
    double *point = test_h5(path, "/cloud/points", shape, NULL);
    const int64_t points = shape[0], n = shape[1], n2 = n * n;
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_harness_manifold m;
    test_ok(geodec_harness_manifold_fit(points, n, point, &o, NULL, NULL, &m, &err), &err);

    double *x0 = test_h5(path, "/geodesic/x0", shape, NULL), *v0 = test_h5(path, "/geodesic/v0", NULL, NULL);
    const int64_t count = shape[0], steps = (int64_t)test_h5_attr(path, "/geodesic", "T");
    const double dl = test_h5_attr(path, "/geodesic", "dl");
    double *xs = geodec_mem_new(count * (steps + 1) * n, sizeof *xs), *vs = geodec_mem_new(count * (steps + 1) * n, 8);
    double *phi = geodec_mem_new(count * (steps + 1) * n2, sizeof *phi);
    for (int64_t i = 0; i < count; i++) {
        double *x = xs + i * (steps + 1) * n, *v = vs + i * (steps + 1) * n;
        double unit[GEODEC_PUBLISHED_MAX_N];
        memcpy(unit, v0 + i * n, (size_t)n * sizeof *unit);
        test_ok(geodec_harness_unit(&m, x0 + i * n, unit, &err), &err);
        cr_assert(test_max_abs_diff(unit, v0 + i * n, n) <= 1e-9); /* the golden's velocities have unit speed */
        geodec_harness_geodesic(&m, x0 + i * n, v0 + i * n, steps, dl, x, v);
        test_ok(geodec_harness_propagator(&m, x, v, steps, dl, phi + i * (steps + 1) * n2, &err), &err);
    }
    goldens_compare(path, "/geodesic/ref_xs", count * (steps + 1) * n, xs, 1e-8);
    goldens_compare(path, "/geodesic/ref_vs", count * (steps + 1) * n, vs, 1e-8);
    goldens_compare(path, "/propagator/ref_phi", count * (steps + 1) * n2, phi, 1e-6);

    double *at = test_h5(path, "/riemann/points", r_shape, NULL), *riem = geodec_mem_new(r_shape[0] * n2 * n2, 8),
           *scratch = geodec_mem_new(n2 * n2, sizeof *scratch);
    for (int64_t i = 0; i < r_shape[0]; i++) geodec_harness_riemann(&m, at + i * n, 5e-3, riem + i * n2 * n2, scratch);
    goldens_compare(path, "/riemann/ref", r_shape[0] * n2 * n2, riem, 1e-6);

    /* the accessor, which smooths the smoothed samples again, at the lookup's queries */
    double *query = test_h5(path, "/lookup/queries", shape, NULL), *g = geodec_mem_new(shape[0] * n2, sizeof *g);
    for (int64_t i = 0; i < shape[0]; i++) test_ok(geodec_harness_g_at(&m, query + i * n, g + i * n2, &err), &err);
    goldens_compare(path, "/lookup/g_query", shape[0] * n2, g, 1e-9);
    geodec_harness_manifold_clear(&m);
    double *const all[] = {point, x0, v0, xs, vs, phi, at, riem, scratch, query, g};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
}
Test(published, paths_and_tensors) { goldens_each(paths); }

/* The cause of the harness's figures: its "Riemann tensor" contains no derivative. */
Test(published, riemann_is_quadratic_inside_a_cell)
{
    enum { P = 12, N = 3 };
    geodec_err err = {0};
    double point[P * N], riem[N * N * N * N], half[N * N * N * N], scratch[N * N * N * N];
    for (int i = 0; i < P * N; i++) point[i] = sin(1.7 * i * i + 0.3);
    geodec_harness_options o = geodec_harness_defaults();
    geodec_harness_manifold m;
    test_ok(geodec_harness_manifold_fit(P, N, point, &o, NULL, NULL, &m, &err), &err);
    geodec_harness_riemann(&m, point, 1e-6, riem, scratch);
    for (int64_t i = 0; i < P * N * N * N; i++) m.gamma[i] *= 0.5;
    geodec_harness_riemann(&m, point, 1e-6, half, scratch);
    const double size = test_max_abs(riem, N * N * N * N);
    cr_assert_gt(size, 0);
    for (int i = 0; i < N * N * N * N; i++) cr_assert(fabs(half[i] - 0.25 * riem[i]) <= 1e-12 * size);
    geodec_harness_manifold_clear(&m);
}

Test(published, bad_input_is_refused)
{
    geodec_err err = {0};
    double point[6] = {0, 0, 1, 0, 0, 1}, g[12];
    geodec_harness_options o = geodec_harness_defaults();
    cr_assert_eq(geodec_harness_metric(3, 2, point, &o, NULL, NULL, g, NULL, &err), GEODEC_RANGE);
    o.k = 2;
    test_ok(geodec_harness_metric(3, 2, point, &o, NULL, NULL, g, NULL, &err), &err);
    geodec_harness_manifold m;
    o.sigma = 0;
    cr_assert_eq(geodec_harness_manifold_fit(3, 2, point, &o, NULL, NULL, &m, &err), GEODEC_RANGE);
    o.sigma = 0.6;
    test_ok(geodec_harness_manifold_fit(3, 2, point, &o, NULL, NULL, &m, &err), &err);
    const double nowhere[2] = {NAN, 0};
    cr_assert_eq(geodec_harness_g_at(&m, nowhere, g, &err), GEODEC_NUMERIC);
    cr_assert_eq(m.space.at(&m.space, point, NULL, g, NULL, &err), GEODEC_UNSUPPORTED);
    geodec_harness_manifold_clear(&m);
}
