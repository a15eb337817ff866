/* A warped space: closed form in flat space, derivatives by differences in a measured field, no change at strength 0.
 */
#include "base/rng.h"
#include "geometry/geodesic.h"
#include "geometry/rbf.h"
#include "geometry/space_warped.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 4 };

/* g = 4 I: g' = 4 (I + (exp(-alpha b) - 1) v v^T). */
Test(warped, flat_space_in_closed_form)
{
    geodec_err err = {0};
    geodec_space_conformal flat;
    geodec_space_warped s;
    const double c[N] = {0.1, -0.2, 0.3, 0}, w[N] = {3, 0, 4, 0}, x[N] = {0.4, -0.1, 0.2, 0.25}, alpha = 0.9,
                 sigma = 0.7;
    const double v[N] = {0.6, 0, 0.8, 0};
    test_ok(geodec_space_conformal_init(&flat, N, 0, &err), &err);
    test_ok(geodec_space_warped_init(&s, &flat.base, c, w, alpha, sigma, &err), &err);
    double g[N * N], dg[N * N * N], want[N * N * N], r2 = 0;
    test_ok(s.base.at(&s.base, x, g, dg, NULL, &err), &err);
    for (int i = 0; i < N; i++) r2 += (x[i] - c[i]) * (x[i] - c[i]);
    const double b = exp(-r2 / (2 * sigma * sigma)), e = exp(-alpha * b);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) want[i * N + j] = 4 * ((i == j) + (e - 1) * v[i] * v[j]);
    cr_assert_lt(test_max_abs_diff(g, want, N * N), 1e-13);
    for (int a = 0; a < N; a++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                want[(a * N + i) * N + j] = 4 * e * alpha * b * (x[a] - c[a]) / (sigma * sigma) * v[i] * v[j];
    cr_assert_lt(test_max_abs_diff(dg, want, N * N * N), 1e-13);
    cr_assert_eq(geodec_space_warped_init(&s, &flat.base, c, w, NAN, sigma, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_space_warped_init(&s, &flat.base, c, w, 1, 0, &err), GEODEC_RANGE);
}

static geodec_rbf *field(void)
{
    enum { SITES = 12, P = N * (N + 1) / 2 };
    geodec_err err = {0};
    double site[SITES * N], log_g[SITES * P];
    geodec_rng r = geodec_rng_stream(5, 1);
    for (int i = 0; i < SITES * N; i++) site[i] = geodec_rng_normal(&r);
    for (int i = 0; i < SITES * P; i++) log_g[i] = 0.5 * geodec_rng_normal(&r);
    geodec_rbf *f = NULL;
    test_ok(geodec_rbf_create(SITES, N, site, log_g, 0.9, &f, &err), &err);
    return f;
}

Test(warped, derivatives_by_differences)
{
    geodec_err err = {0};
    geodec_rbf *f = field();
    const geodec_space *inner = geodec_rbf_space(f);
    geodec_space_warped s;
    const double c[N] = {0.1, 0.2, -0.1, 0.3}, w[N] = {1, -2, 0.5, 0.3};
    const double x[N] = {0.5, 0.1, -0.4, 0.6};
    test_ok(geodec_space_warped_init(&s, inner, c, w, -1.3, 0.8, &err), &err);
    double dg[N * N * N], fd[N * N * N], g[N * N], gamma[N * N * N], direct[N * N * N];
    test_ok(s.base.at(&s.base, x, g, dg, gamma, &err), &err);
    test_ok(geodec_space_dg_fd(&s.base, x, 1e-4, fd, &err), &err);
    cr_assert_lt(test_max_abs_diff(dg, fd, N * N * N), 1e-6 * test_max_abs(fd, N * N * N));
    test_ok(geodec_space_christoffel(N, g, dg, direct, &err), &err);
    cr_assert_arr_eq(gamma, direct, sizeof gamma);
    /* the warp is felt, and speed is conserved along its geodesics */
    double plain[N * N], xs[33 * N], vs[33 * N];
    test_ok(inner->at(inner, x, plain, NULL, NULL, &err), &err);
    cr_assert_gt(test_max_abs_diff(g, plain, N * N), 0.01);
    geodec_geodesic_options o = geodec_geodesic_defaults();
    o.steps = 32;
    o.dl = 0.05;
    geodec_path_report report;
    double v[N] = {-0.4, 0.3, 0.2, -0.1};
    test_ok(geodec_geodesic_unit(&s.base, x, v, &err), &err);
    test_ok(geodec_geodesic_path(&s.base, &o, x, v, xs, vs, NULL, &report, &err), &err);
    cr_assert_eq(report.status, GEODEC_PATH_OK);
    cr_assert_lt(report.drift, 1e-5);
    geodec_rbf_destroy(f);
}

Test(warped, strength_zero_changes_no_bit)
{
    geodec_err err = {0};
    geodec_rbf *f = field();
    const geodec_space *inner = geodec_rbf_space(f);
    geodec_space_warped s;
    const double c[N] = {0}, w[N] = {1, 1, 1, 1}, x[N] = {0.3, 0.2, 0.1, 0};
    double a[3 * N * N * N], b[3 * N * N * N];
    test_ok(geodec_space_warped_init(&s, inner, c, w, 0, 0.5, &err), &err);
    test_ok(s.base.at(&s.base, x, a, a + N * N, a + N * N + N * N * N, &err), &err);
    test_ok(inner->at(inner, x, b, b + N * N, b + N * N + N * N * N, &err), &err);
    cr_assert_arr_eq(a, b, (N * N + 2 * N * N * N) * sizeof *a);
    /* a path too, with any shortcut of the inner space */
    geodec_path_report report;
    const geodec_geodesic_options o = geodec_geodesic_defaults();
    double v[N] = {0.2, -0.1, 0.3, 0.1}, xs[2][17 * N], vs[2][17 * N];
    test_ok(geodec_geodesic_path(inner, &o, x, v, xs[0], vs[0], NULL, &report, &err), &err);
    test_ok(geodec_geodesic_path(&s.base, &o, x, v, xs[1], vs[1], NULL, &report, &err), &err);
    cr_assert_arr_eq(xs[0], xs[1], sizeof xs[0]);
    /* far away it is the same for any strength */
    const double far[N] = {30, 0, 0, 0};
    test_ok(geodec_space_warped_init(&s, inner, c, w, 5, 0.5, &err), &err);
    test_ok(s.base.at(&s.base, far, a, NULL, NULL, &err), &err);
    test_ok(inner->at(inner, far, b, NULL, NULL, &err), &err);
    cr_assert_arr_eq(a, b, N * N * sizeof *a);
    geodec_rbf_destroy(f);
}
