#include "base/mem.h"
#include "base/rng.h"
#include "geometry/analytic.h"
#include "geometry/closed_forms.h"
#include "geometry/curvature.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* On constant curvature K: scalar K n (n-1), Ricci (n-1) K g, every sectional curvature K. */
static void check_constant_curvature(const analytic_space *a, const double *g, const double *ricci,
                                     const geodec_curvature_invariants *inv)
{
    const int64_t n = a->n;
    const double k = a->space.conformal.curvature, nn = (double)n, size = fmax(1, fabs(k)), all = nn * (nn - 1) * size;
    cr_assert_float_eq(inv->scalar, k * nn * (nn - 1), 1e-12 * all + 1e-11, "%s: %g", a->group, inv->scalar);
    cr_assert_float_eq(inv->norm, fabs(k) * sqrt(2 * nn * (nn - 1)), 1e-12 * all + 1e-11);
    cr_assert_float_eq(inv->sectional_max, k, 1e-11 * size);
    cr_assert_float_eq(inv->sectional_min, k, 1e-11 * size);
    for (int64_t i = 0; i < n * n; i++)
        cr_assert_float_eq(ricci[i], k * (nn - 1) * g[i], 1e-11 * fmax(1, fabs(k) * (nn - 1)) * test_max_abs(g, n * n));
}

/* g, Gamma and the curvature tensor of every closed form, 1e-12 of the largest entry. */
Test(spaces, golden_metric_christoffel_curvature)
{
    static analytic_space list[ANALYTIC_MAX];
    int count;
    const char *file = analytic_load(list, &count);
    const double tol = 1e-12;
    for (int c = 0; c < count; c++) {
        const analytic_space a = list[c];
        geodec_err err = {0};
        double worst[3] = {0};
        const geodec_space *s = &a.space.base;
        const int64_t n = a.n, n2 = n * n, n3 = n2 * n, n4 = n2 * n2;
        int64_t shape[8];
        double *points = analytic_read(file, a.group, "points", shape), *g = analytic_read(file, a.group, "g", NULL),
               *gamma = analytic_read(file, a.group, "gamma", NULL),
               *riem = analytic_read(file, a.group, "riemann", NULL);
        cr_assert_eq(shape[1], n);
        double *mine = geodec_mem_new(n2 + n3 + n4 + n2, sizeof *mine);
        double *my_gamma = mine + n2, *my_riem = my_gamma + n3, *ricci = my_riem + n4;
        for (int64_t p = 0; p < shape[0]; p++) {
            const double *gp = g + p * n2, *gammap = gamma + p * n3, *riemp = riem + p * n4;
            geodec_curvature_invariants inv;
            test_ok(s->at(s, points + p * n, mine, NULL, my_gamma, &err), &err);
            test_ok(geodec_curvature_at(s, points + p * n, my_riem, ricci, &inv, &err), &err);
            cr_assert_leq(test_max_abs_diff(mine, gp, n2), tol * test_max_abs(gp, n2), "%s: %g of %g", a.group,
                          test_max_abs_diff(mine, gp, n2), test_max_abs(gp, n2));
            cr_assert_leq(test_max_abs_diff(my_gamma, gammap, n3), tol * fmax(1, test_max_abs(gammap, n3)));
            cr_assert_leq(test_max_abs_diff(my_riem, riemp, n4), tol * fmax(1, test_max_abs(riemp, n4)), "%s", a.group);
            worst[0] = fmax(worst[0], test_max_abs_diff(mine, gp, n2) / test_max_abs(gp, n2));
            worst[1] = fmax(worst[1], test_max_abs_diff(my_gamma, gammap, n3) / fmax(1, test_max_abs(gammap, n3)));
            worst[2] = fmax(worst[2], test_max_abs_diff(my_riem, riemp, n4) / fmax(1, test_max_abs(riemp, n4)));
            if (a.curved) check_constant_curvature(&a, mine, ricci, &inv);
            cr_assert_lt(inv.check.first_pair, 1e-11);
            cr_assert_lt(inv.check.exchange, 1e-11);
            cr_assert_lt(inv.check.bianchi, 1e-11);
        }
        static const char *const what[] = {"g", "gamma", "riemann"};
        for (int k = 0; k < 3; k++) {
            char dataset[2 * TEST_H5_NAME];
            (void)snprintf(dataset, sizeof dataset, "/%.60s/%s", a.group, what[k]);
            goldens_report(file, dataset, worst[k], tol);
        }
        geodec_mem_free(points);
        geodec_mem_free(g);
        geodec_mem_free(gamma);
        geodec_mem_free(riem);
        geodec_mem_free(mine);
    }
}

/* The derivatives agree with each other: Gamma with dg (through Cholesky), dg and dGamma with differences. */
Test(spaces, derivatives_are_consistent)
{
    geodec_rng r = geodec_rng_stream(3, geodec_rng_id("spaces", 0));
    for (int c = 0; c < ANALYTIC_SPACES; c++) {
        analytic_space a;
        geodec_err err = {0};
        const geodec_space *s = analytic_case(c, &a);
        analytic_space by_steps = a;
        by_steps.space.base.dgamma = NULL;
        const int64_t n = a.n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
        double *m = geodec_mem_new(3 * n2 + 3 * n3 + 2 * n4, sizeof *m);
        double *g = m, *up = g + n2, *down = up + n2, *dg = down + n2, *gamma = dg + n3, *other = gamma + n3,
               *dgamma = other + n3, *stepped = dgamma + n4;
        for (int t = 0; t < 5; t++) {
            double x[8];
            for (int64_t i = 0; i < n; i++) x[i] = (geodec_rng_uniform(&r) - 0.5) * 0.6;
            if (c == 6) x[0] = 0.5 + geodec_rng_uniform(&r);
            if (c == 8) x[1] = 0.5 + geodec_rng_uniform(&r);
            test_ok(s->at(s, x, g, dg, gamma, &err), &err);
            test_ok(geodec_space_christoffel((int32_t)n, g, dg, other, &err), &err);
            cr_assert_leq(test_max_abs_diff(gamma, other, n3), 1e-13 * fmax(1, test_max_abs(gamma, n3)), "%s", a.group);
            for (int64_t e = 0; e < n; e++) {
                const double x0 = x[e], h = 1e-5, tol = 1e-7 * test_max_abs(g, n2);
                x[e] = x0 + h;
                test_ok(s->at(s, x, up, NULL, NULL, &err), &err);
                x[e] = x0 - h;
                test_ok(s->at(s, x, down, NULL, NULL, &err), &err);
                x[e] = x0;
                for (int64_t i = 0; i < n2; i++)
                    cr_assert_float_eq((up[i] - down[i]) / (2 * h), dg[e * n2 + i], tol, "%s", a.group);
            }
            test_ok(geodec_space_dgamma(s, x, dgamma, &err), &err);
            test_ok(geodec_space_dgamma(&by_steps.space.base, x, stepped, &err), &err);
            cr_assert_leq(test_max_abs_diff(dgamma, stepped, n4), 1e-4 * fmax(1, test_max_abs(dgamma, n4)), "%s",
                          a.group);
        }
        geodec_mem_free(m);
    }
}

Test(spaces, exact_geodesics_and_distances)
{
    static analytic_space list[ANALYTIC_MAX];
    int count;
    const char *file = analytic_load(list, &count);
    int64_t shape[8];
    for (int c = 0; c < count; c++) {
        const analytic_space a = list[c];
        geodec_err err = {0};
        const int64_t n = a.n;
        if (!a.curved) continue;
        double *x0 = analytic_read(file, a.group, "geo_x0", NULL), *v0 = analytic_read(file, a.group, "geo_v0", NULL),
               *t = analytic_read(file, a.group, "geo_t", NULL), *x = analytic_read(file, a.group, "geo_x", shape);
        for (int64_t p = 0; p < shape[0]; p++) {
            for (int64_t k = 0; k < shape[1]; k++) {
                const double *want = x + (p * shape[1] + k) * n;
                double mine[GEODEC_SPACE_DIM_MAX];
                test_ok(closed_geodesic(&a.space.conformal, x0 + p * n, v0 + p * n, t[k], mine, &err), &err);
                cr_assert_lt(test_max_abs_diff(mine, want, n), 1e-12 * fmax(1, test_max_abs(want, n)), "%s", a.group);
                /* unit speed: the distance from the start is the time */
                const double d = closed_distance(&a.space.conformal, x0 + p * n, mine);
                cr_assert_float_eq(d, t[k], 1e-10, "%s: %.15g at %g", a.group, d, t[k]);
            }
        }
        geodec_mem_free(x0);
        geodec_mem_free(v0);
        geodec_mem_free(t);
        geodec_mem_free(x);
    }
    double *pairs = test_h5(file, "/gaussian_fisher/pairs", shape, NULL);
    double *d = test_h5(file, "/gaussian_fisher/distance", NULL, NULL);
    for (int64_t p = 0; p < shape[0]; p++)
        cr_assert_float_eq(closed_fisher_distance(pairs + 4 * p, pairs + 4 * p + 2), d[p], 1e-12 * fmax(1, d[p]));
    geodec_mem_free(pairs);
    geodec_mem_free(d);
}

Test(spaces, refuse_points_outside_the_chart)
{
    geodec_space_conformal ball;
    geodec_space_torus torus;
    geodec_space s;
    double g[4];
    cr_assert_eq(geodec_space_conformal_init(&ball, 2, -1, NULL), GEODEC_OK);
    cr_assert_eq(ball.base.at(&ball.base, (double[]){1, 0.1}, g, NULL, NULL, NULL), GEODEC_NUMERIC);
    cr_assert_eq(ball.base.at(&ball.base, (double[]){NAN, 0}, g, NULL, NULL, NULL), GEODEC_NUMERIC);
    geodec_space_polar_init(&s);
    cr_assert_eq(s.at(&s, (double[]){-1, 0}, g, NULL, NULL, NULL), GEODEC_NUMERIC);
    geodec_space_fisher_init(&s);
    cr_assert_eq(s.at(&s, (double[]){0, 0}, g, NULL, NULL, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_space_conformal_init(&ball, 65, 1, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_space_conformal_init(&ball, 0, 1, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_space_torus_init(&torus, 0, (double[]){1}, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_space_torus_init(&torus, 1, (double[]){-1}, NULL), GEODEC_RANGE);
}
