#include "base/mem.h"
#include "base/rng.h"
#include "geometry/bumps.h"
#include "geometry/curvature.h"
#include "geometry/curvature_internal.h"
#include "geometry/space_closed.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = BUMPS_N, N2 = N * N, N3 = N2 * N, N4 = N3 * N };

/* Each residual is measured: a tensor that violates one symmetry by a known amount has this residual. */
Test(riemann, residuals_are_of_the_tensor_that_is_given)
{
    enum { M = 3, M3 = M * M * M };
    double f[M * M3] = {0};
    geodec_curvature_invariants inv;
#define F(a, b, c, d) f[(a)*M3 + (b)*M * M + (c)*M + (d)]
    F(0, 1, 0, 1) = F(1, 0, 1, 0) = 2;
    F(0, 1, 1, 0) = F(1, 0, 0, 1) = -2;
    geodec__curvature_invariants(M, f, false, &inv);
    cr_assert(inv.check.first_pair == 0 && inv.check.last_pair == 0 && inv.check.exchange == 0 &&
              inv.check.bianchi == 0);
    /* R_1010 and R_0101 moved alike: the exchange of pairs still holds, both antisymmetries are off by 0.5 of 2.5 */
    F(0, 1, 0, 1) += 0.5;
    F(1, 0, 1, 0) += 0.5;
    geodec__curvature_invariants(M, f, false, &inv);
    cr_assert_float_eq(inv.check.last_pair, 0.2, 1e-15);
    cr_assert_float_eq(inv.check.first_pair, 0.2, 1e-15);
    cr_assert_eq(inv.check.exchange, 0);
    /* antisymmetric in the first pair only */
    memset(f, 0, sizeof f);
    F(0, 1, 1, 2) = 1, F(1, 0, 1, 2) = -1;
    geodec__curvature_invariants(M, f, false, &inv);
    cr_assert(inv.check.first_pair == 0 && inv.check.last_pair == 1);
#undef F
}

/* On a metric without symmetry the tensor has all its algebraic symmetries, up to the differencing error. */
Test(riemann, symmetries_and_first_bianchi)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        const bumps b = bumps_make(seed);
        geodec_curvature_invariants inv;
        geodec_err err = {0};
        double riem[N4], ricci[N2], g[N2], low[N4] = {0}, x[N] = {0.1, -0.2, 0.3, 0.05};
        test_ok(geodec_curvature_at(&b.base, x, riem, ricci, &inv, &err), &err);
        cr_assert_gt(inv.norm, 1e-2);
        cr_assert_lt(inv.check.first_pair, 1e-6, "%g", inv.check.first_pair);
        cr_assert_lt(inv.check.last_pair, 1e-15);
        cr_assert_lt(inv.check.exchange, 1e-6);
        cr_assert_lt(inv.check.bianchi, 1e-6);
        /* The symmetries and the first Bianchi identity in coordinates: the first index is lowered with the metric. */
        test_ok(b.base.at(&b.base, x, g, NULL, NULL, &err), &err);
        for (int a = 0; a < N; a++)
            for (int e = 0; e < N; e++)
                for (int k = 0; k < N3; k++) low[a * N3 + k] += g[a * N + e] * riem[e * N3 + k];
        const double tol = 1e-6 * test_max_abs(low, N4);
#define R(i, j, k, l) low[(((i)*N + (j)) * N + (k)) * N + (l)]
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                cr_assert_lt(fabs(ricci[i * N + j] - ricci[j * N + i]), 1e-6 * test_max_abs(ricci, N2));
                for (int k = 0; k < N; k++) {
                    for (int l = 0; l < N; l++) {
                        cr_assert_lt(fabs(R(i, j, k, l) + R(j, i, k, l)), tol);
                        cr_assert_lt(fabs(R(i, j, k, l) + R(i, j, l, k)), 1e-9 * tol);
                        cr_assert_lt(fabs(R(i, j, k, l) - R(k, l, i, j)), tol);
                        cr_assert_lt(fabs(R(i, j, k, l) + R(i, k, l, j) + R(i, l, j, k)), tol);
                    }
                }
            }
        }
#undef R
    }
}

/* A tensor built with a Gamma that belongs to no metric fails the tests that need one: they can fail. */
Test(riemann, symmetry_tests_see_a_wrong_connection)
{
    bumps b = bumps_make(1);
    b.spoil = 0.05;
    geodec_curvature_invariants inv;
    geodec_err err = {0};
    const double x[N] = {0.1, -0.2, 0.3, 0.05};
    test_ok(geodec_curvature_at(&b.base, x, NULL, NULL, &inv, &err), &err);
    cr_assert_gt(inv.check.first_pair, 1e-3);
    cr_assert_gt(inv.check.exchange, 1e-3);
}

/* The invariants do not depend on the chart: the flat plane has none in polar coordinates either. */
Test(riemann, flat_charts_have_zero_curvature)
{
    geodec_space s;
    geodec_space_torus torus;
    geodec_curvature_invariants inv;
    geodec_err err = {0};
    geodec_space_polar_init(&s);
    for (double r = 0.1; r < 10; r *= 2) {
        test_ok(geodec_curvature_at(&s, (double[]){r, 0.3}, NULL, NULL, &inv, &err), &err);
        cr_assert_lt(inv.norm * r * r, 1e-14);
        cr_assert_eq(inv.check.bianchi, 0);
    }
    test_ok(geodec_space_torus_init(&torus, 5, (double[]){1, 2, 3, 4, 5}, &err), &err);
    test_ok(geodec_curvature_at(&torus.base, (double[]){0, 1, 2, 3, 4}, NULL, NULL, &inv, &err), &err);
    cr_assert_eq(inv.norm, 0);
    cr_assert_eq(inv.scalar, 0);
    test_ok(geodec_space_torus_init(&torus, 1, (double[]){2}, &err), &err);
    test_ok(geodec_curvature_at(&torus.base, (double[]){0}, NULL, NULL, &inv, &err), &err);
    cr_assert_eq(inv.sectional_max, 0);
}

Test(riemann, normal_distributions_have_curvature_minus_one_half)
{
    geodec_space s;
    geodec_curvature_invariants inv;
    geodec_err err = {0};
    geodec_space_fisher_init(&s);
    test_ok(geodec_curvature_at(&s, (double[]){3, 0.2}, NULL, NULL, &inv, &err), &err);
    cr_assert_float_eq(inv.scalar, -1, 1e-11);
    cr_assert_float_eq(inv.sectional_max, -0.5, 1e-11);
}

Test(riemann, one_and_three_threads_agree_bit_for_bit)
{
    enum { P = 30 };
    static double x[P * N], ricci[2][P * N2];
    geodec_curvature_invariants inv[2][P];
    const bumps b = bumps_make(9);
    geodec_err err = {0};
    geodec_pool *pool;
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("points", 0));
    for (int i = 0; i < P * N; i++) x[i] = geodec_rng_normal(&r);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int t = 0; t < 2; t++)
        test_ok(geodec_curvature_batch(&b.base, t ? pool : NULL, NULL, P, x, NULL, ricci[t], inv[t], &err), &err);
    geodec_pool_destroy(pool);
    cr_assert_eq(memcmp(ricci[0], ricci[1], sizeof ricci[0]), 0);
    for (int p = 0; p < P; p++) cr_assert(inv[0][p].scalar == inv[1][p].scalar && inv[0][p].norm == inv[1][p].norm);
}
