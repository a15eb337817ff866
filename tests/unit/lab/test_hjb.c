/* Residuals of the geodesic equation: goldens, orders, gradients, Jacobi's equation. */
#include "base/mem.h"
#include "base/rng.h"
#include "chain/metric.h"
#include "geometry/closed_forms.h"
#include "geometry/geodesic.h"
#include "geometry/space_closed.h"
#include "lab/harness/manifold.h"
#include "lab/hjb/hjb.h"
#include "linalg/expm.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void compare(const char *path, const char *name, const double *got, int64_t count)
{
    double *want = test_h5(path, name, NULL, NULL), worst = 0;
    const double floor = 1e-20 * test_max_abs(want, count); /* squares of sums that cancel to rounding */
    for (int64_t i = 0; i < count; i++) worst = fmax(worst, fabs(got[i] - want[i]) / fmax(fabs(want[i]), floor));
    (void)fprintf(stderr, "golden %s%s: worst relative deviation %.2e (limit 1e-07)\n", strrchr(path, '/') + 1, name,
                  worst);
    cr_assert_leq(worst, 1e-7, "%s of %s", name, path);
    geodec_mem_free(want);
}

static void golden(const char *path)
{
    geodec_err err = {0};
    int64_t shape[8];
    double *point = test_h5(path, "/cloud/points", shape, NULL);
    const int64_t points = shape[0], n = shape[1], packed = n * (n + 1) / 2;
    const geodec_harness_options o = geodec_harness_defaults();
    double *g = geodec_mem_new(points * n * n, sizeof *g), *log_g = geodec_mem_new(points * packed, sizeof *g),
           *l = geodec_mem_new(n * n, sizeof *l);
    test_ok(geodec_harness_metric(points, n, point, &o, NULL, NULL, g, NULL, &err), &err);
    for (int64_t p = 0; p < points; p++) {
        test_ok(geodec_logm_spd(n, g + p * n * n, l, &err), &err);
        geodec_sym_pack(n, l, log_g + p * packed);
    }
    static const char *const classes[] = {"geodesic", "nn_walk", "straight"};
    for (int c = 0; c < 3; c++) {
        char name[64];
        geodec_rbf *f = NULL;
        (void)snprintf(name, sizeof name, "/hjb/%s/covariant_acc_sq", classes[c]);
        test_ok(geodec_rbf_create(points, n, point, log_g, test_h5_attr(path, name, "sigma"), &f, &err), &err);
        (void)snprintf(name, sizeof name, "/hjb/%s/xs", classes[c]);
        double *xs = test_h5(path, name, shape, NULL);
        const int64_t paths = shape[0], nodes = shape[1], inner = nodes - 2;
        double *part = geodec_mem_new(2 * paths * inner, sizeof *part), *connection = part + paths * inner;
        for (int64_t p = 0; p < paths; p++) {
            const geodec_residual_parts parts = {.total = part + p * inner, .connection = connection + p * inner};
            test_ok(geodec_residual_path(geodec_rbf_space(f), nodes, xs + p * nodes * n, &parts, &err), &err);
        }
        (void)snprintf(name, sizeof name, "/hjb/%s/covariant_acc_sq", classes[c]);
        compare(path, name, part, paths * inner);
        (void)snprintf(name, sizeof name, "/hjb/%s/connection_sq", classes[c]);
        compare(path, name, connection, paths * inner);
        geodec_mem_free(xs);
        geodec_mem_free(part);
        geodec_rbf_destroy(f);
    }
    geodec_mem_free(point);
    geodec_mem_free(g);
    geodec_mem_free(log_g);
    geodec_mem_free(l);
}
Test(hjb, goldens)
{
    const char *folder = test_shared("golden/ott");
    char pattern[4096];
    (void)snprintf(pattern, sizeof pattern, "%s/*_n[0-9].h5", folder);
    glob_t found = {0};
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (!strstr(found.gl_pathv[i], "sphere_")) golden(found.gl_pathv[i]);
    globfree(&found);
}

/* Exact geodesics of the sphere at steps h and h/2: |r| falls by 16; of a neighbouring geodesic J/eps too, up to
 * O(eps). */
Test(hjb, order_on_the_sphere)
{
    enum { N = 3, NODES = 33 };
    geodec_err err = {0};
    geodec_space_conformal s;
    test_ok(geodec_space_conformal_init(&s, N, 1, &err), &err);
    const double x0[N] = {0.2, -0.1, 0.3}, v0[N] = {0.5, 0.4, -0.2}, eps = 1e-5;
    const double y0[N] = {0.2 + 1e-5, -0.1, 0.3 - 2e-5};
    double worst[2] = {0}, jacobi[2] = {0}, still[2] = {0};
    for (int k = 0; k < 2; k++) {
        const double h = k ? 0.025 : 0.05;
        double xs[NODES * N], ys[NODES * N], total[NODES - 2], q[NODES - 2], j2[NODES - 2];
        for (int t = 0; t < NODES; t++) {
            test_ok(closed_geodesic(&s, x0, v0, t * h, xs + t * N, &err), &err);
            test_ok(closed_geodesic(&s, y0, v0, t * h, ys + t * N, &err), &err);
        }
        const geodec_residual_parts parts = {.total = total};
        test_ok(geodec_residual_path(&s.base, NODES, xs, &parts, &err), &err);
        test_ok(geodec_residual_jacobi(&s.base, NODES, xs, ys, q, j2, &err), &err);
        const int t = k ? 15 : 7; /* the same point of the curve */
        worst[k] = sqrt(total[t]);
        jacobi[k] = sqrt(q[t]) / eps;
        still[k] = sqrt(j2[t]) / eps;
    }
    cr_assert_lt(fabs(log2(worst[0] / worst[1]) - 4), 0.1, "order %g", log2(worst[0] / worst[1]));
    cr_assert_gt(log2(jacobi[0] / jacobi[1]), 3); /* 4, and eps next to it */
    cr_assert_lt(fabs(log2(still[0] / still[1]) - 2), 0.3);
    cr_assert_lt(jacobi[1], 0.01 * still[1]);
}

/* q is the derivative of r: differences of r between two paths that are no geodesics. */
Test(hjb, jacobi_is_the_derivative_of_the_residual)
{
    enum { N = 2, NODES = 5 };
    geodec_err err = {0};
    geodec_space s;
    geodec_space_polar_init(&s);
    double xs[NODES * N], ys[2][NODES * N], q[NODES - 2], e = 1e-5;
    for (int t = 0; t < NODES; t++) {
        xs[2 * t] = 1.5 + 0.2 * t * t;
        xs[2 * t + 1] = 0.3 * t - 0.05 * t * t;
        for (int k = 0; k < 2; k++) {
            ys[k][2 * t] = xs[2 * t] + (k ? -e : e) * cos(t);
            ys[k][2 * t + 1] = xs[2 * t + 1] + (k ? -e : e) * (1 + 0.5 * t);
        }
    }
    test_ok(geodec_residual_jacobi(&s, NODES, xs, ys[0], q, NULL, &err), &err);
    /* |q|_g against components of (r(y+) - r(y-)) / 2, from the closed forms Gamma^r_tt = -r, Gamma^t_rt = 1/r */
    for (int t = 1; t + 1 < NODES; t++) {
        double d[2], g = xs[2 * t] * xs[2 * t];
        for (int a = 0; a < 2; a++) {
            double each[2];
            for (int k = 0; k < 2; k++) {
                const double *y = ys[k] + 2 * t, u = 0.5 * (y[2] - y[-2]), w = 0.5 * (y[3] - y[-1]);
                each[k] = a ? y[3] - 2 * y[1] + y[-1] + 2 / y[0] * u * w : y[2] - 2 * y[0] + y[-2] - y[0] * w * w;
            }
            d[a] = 0.5 * (each[0] - each[1]);
        }
        const double want = d[0] * d[0] + g * d[1] * d[1];
        cr_assert_lt(fabs(q[t - 1] - want), 1e-6 * want, "%g %g", q[t - 1], want);
    }
}

Test(hjb, gradient_of_the_penalty)
{
    enum { N = 3, NODES = 7, SITES = 10, P = 6 };
    geodec_err err = {0};
    double site[SITES * N], log_g[SITES * P], xs[NODES * N], gradient[NODES * N], penalty;
    geodec_rng r = geodec_rng_stream(3, 1);
    geodec_rbf *f = NULL;
    for (int i = 0; i < SITES * N; i++) site[i] = geodec_rng_normal(&r);
    for (int i = 0; i < SITES * P; i++) log_g[i] = geodec_rng_normal(&r);
    for (int i = 0; i < NODES * N; i++) xs[i] = geodec_rng_normal(&r);
    test_ok(geodec_rbf_create(SITES, N, site, log_g, 1.1, &f, &err), &err);
    geodec_space_conformal sphere;
    test_ok(geodec_space_conformal_init(&sphere, N, 1, &err), &err);
    const geodec_space *const spaces[] = {geodec_rbf_space(f), &sphere.base};
    for (int k = 0; k < 2; k++) {
        test_ok(geodec_residual_penalty(spaces[k], NODES, xs, &penalty, gradient, &err), &err);
        double total[NODES - 2], sum = 0;
        const geodec_residual_parts parts = {.total = total};
        test_ok(geodec_residual_path(spaces[k], NODES, xs, &parts, &err), &err);
        for (int t = 0; t < NODES - 2; t++) sum += total[t];
        cr_assert_lt(fabs(sum - penalty), 1e-13 * penalty);
        const double size = test_max_abs(gradient, NODES * N);
        for (int i = 0; i < NODES * N; i++) {
            const double h = 1e-5, x = xs[i];
            double up, down;
            xs[i] = x + h;
            test_ok(geodec_residual_penalty(spaces[k], NODES, xs, &up, NULL, &err), &err);
            xs[i] = x - h;
            test_ok(geodec_residual_penalty(spaces[k], NODES, xs, &down, NULL, &err), &err);
            xs[i] = x;
            cr_assert_lt(fabs((up - down) / (2 * h) - gradient[i]), 1e-6 * size, "space %d, value %d", k, i);
        }
    }
    cr_assert_eq(geodec_residual_penalty(spaces[0], 2, xs, &penalty, NULL, &err), GEODEC_RANGE);
    geodec_rbf_destroy(f);
}

/* The whole experiment on the sphere: geodesics are explained, order 4; walks of random points are not. */
Test(hjb, classes_on_the_sphere)
{
    enum { N = 3, POINTS = 60 };
    geodec_err err = {0};
    geodec_space_conformal s;
    double point[POINTS * N];
    for (int i = 0; i < POINTS * N; i++) point[i] = 0.4 * sin(1.7 * i * i + 0.3);
    test_ok(geodec_space_conformal_init(&s, N, 1, &err), &err);
    geodec_hjb_options o = geodec_hjb_defaults();
    o.paths = 6;
    o.bootstrap = 50;
    geodec_hjb h;
    test_ok(geodec_hjb_run(&s.base, POINTS, point, NULL, 0, NULL, NULL, &o, NULL, NULL, &h, &err), &err);
    cr_assert_lt(fabs(h.order - 4), 0.1, "order %g", h.order);
    const geodec_hjb_row *g = &h.row[GEODEC_HJB_GEODESIC], *w = &h.row[GEODEC_HJB_WALK],
                         *l = &h.row[GEODEC_HJB_STRAIGHT];
    cr_assert_eq(g->paths, 6);
    cr_assert_gt(g->explained.low, 0.9999);
    cr_assert_gt(g->jacobi_explained.value, 0.99);
    cr_assert_lt(w->explained.value, 0.5);
    cr_assert_lt(l->kinetic, 1e-28); /* a straight line of the chart has no second difference, and is no geodesic */
    cr_assert_gt(l->turn.value, 1e-3);
    cr_assert_eq(l->explained.value, 0);
    cr_assert_eq(h.row[GEODEC_HJB_TEXT].paths, 0);
}
