/* Randomised components against the exact ones. */
#include "base/mem.h"
#include "base/rng.h"
#include "geometry/sketch.h"
#include "linalg/blas.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 1500, D = 90 };

/* Columns mixed by a fixed matrix, variances falling by `fall` a direction, mean far from zero. */
static void fill(double fall, double *x)
{
    geodec_rng r = geodec_rng_stream(3, geodec_rng_id("sketch-test", 0));
    for (int i = 0; i < N; i++)
        for (int c = 0; c < D; c++) {
            const double z = geodec_rng_normal(&r) * exp(-fall * c);
            if (c == 0) memset(x + i * D, 0, D * sizeof *x);
            for (int j = 0; j < D; j++) x[i * D + j] += z * cos((j + 0.5) * c * 3.14159265358979 / D);
        }
    for (int i = 0; i < N * D; i++) x[i] += 4;
}

static bool run(const double *x, int64_t width, double share, geodec_pool *pool, geodec_pca *p, double *residual)
{
    geodec_sketch s;
    geodec_err err = {0};
    bool enough = false;
    test_ok(geodec_sketch_init(&s, D, width, x, 7, 1, &err), &err);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t r = 0; r < N; r += 400)
            test_ok(geodec_sketch_add(&s, N - r < 400 ? N - r : 400, x + r * D, pool, &err), &err);
        if (pass == 0) test_ok(geodec_sketch_turn(&s, &err), &err);
    }
    test_ok(geodec_sketch_result(&s, share, p, residual, &enough, &err), &err);
    geodec_sketch_clear(&s);
    return enough;
}

Test(geometry, randomised_components_keep_their_bounds)
{
    static double x[N * D], residual[D];
    const double falls[] = {0.3, 0.1, 0.04};
    for (int f = 0; f < 3; f++) {
        geodec_pca exact, p;
        fill(falls[f], x);
        test_ok(geodec_pca_from_rows(N, D, x, 0.9, NULL, &exact, NULL), NULL);
        const int64_t width = exact.k + 2 * GEODEC_SKETCH_OVERSAMPLE;
        cr_assert(run(x, width, 0.9, NULL, &p, residual), "fall %g", falls[f]);
        cr_assert_float_eq(p.total, exact.total, 1e-10 * exact.total);
        cr_assert_eq(p.values, exact.values);
        cr_assert(p.k >= exact.k && p.k <= exact.k + 2, "%d for %d", (int)p.k, (int)exact.k);
        double sum = 0;
        for (int64_t i = 0; i < p.values; i++) sum += p.eigenvalue[i];
        cr_assert_float_eq(sum, p.total, 1e-9 * p.total);
        for (int64_t i = 0; i < p.k; i++) {
            const double top = exact.eigenvalue[0];
            cr_assert_leq(p.eigenvalue[i], exact.eigenvalue[i] + 1e-12 * top); /* Cauchy */
            double nearest = INFINITY;
            for (int64_t j = 0; j < exact.values; j++)
                nearest = fmin(nearest, fabs(exact.eigenvalue[j] - p.eigenvalue[i]));
            cr_assert_leq(nearest, residual[i] + 1e-12 * top);
            for (int64_t j = 0; j <= i; j++)
                cr_assert_lt(fabs(geodec_blas_dot(D, p.basis + i * D, p.basis + j * D) - (i == j)), 1e-12);
        }
        for (int c = 0; c < D; c++) cr_assert_float_eq(p.mean[c], exact.mean[c], 1e-12 * fabs(exact.mean[c]));
        if (f == 0) /* a steep spectrum: as good as exact */
            for (int64_t i = 0; i < exact.k; i++) {
                cr_assert_float_eq(p.eigenvalue[i], exact.eigenvalue[i], 1e-8 * exact.eigenvalue[i]);
                cr_assert_float_eq(fabs(geodec_blas_dot(D, p.basis + i * D, exact.basis + i * D)), 1, 1e-8);
            }
        geodec_pca_clear(&exact);
        geodec_pca_clear(&p);
    }
}

Test(geometry, randomised_components_of_full_width_are_exact)
{
    static double x[N * D], residual[D];
    geodec_pca exact, p;
    fill(0.02, x);
    test_ok(geodec_pca_from_rows(N, D, x, 0.99, NULL, &exact, NULL), NULL);
    cr_assert(run(x, D, 0.99, NULL, &p, residual));
    cr_assert_eq(p.k, exact.k);
    for (int64_t i = 0; i < D; i++) {
        cr_assert_float_eq(p.eigenvalue[i], exact.eigenvalue[i], 1e-11 * exact.eigenvalue[0]);
        cr_assert_lt(residual[i], 1e-10 * exact.eigenvalue[0]);
    }
    geodec_pca_clear(&exact);
    geodec_pca_clear(&p);
}

Test(geometry, randomised_components_say_when_they_are_too_few)
{
    static double x[N * D];
    geodec_pool *pool = NULL;
    geodec_pca p, q;
    geodec_sketch s;
    fill(0.01, x);
    cr_assert_not(run(x, 30, 0.95, NULL, &p, NULL));
    cr_assert_null(p.basis);
    cr_assert_eq(geodec_sketch_init(&s, D, D + 1, NULL, 1, 1, NULL), GEODEC_RANGE);

    test_ok(geodec_pool_create(3, &pool, NULL), NULL);
    cr_assert(run(x, 60, 0.5, NULL, &p, NULL));
    cr_assert(run(x, 60, 0.5, pool, &q, NULL));
    cr_assert_eq(p.k, q.k);
    cr_assert_arr_eq(p.basis, q.basis, (size_t)(p.k * D) * sizeof *p.basis);
    cr_assert_arr_eq(p.eigenvalue, q.eigenvalue, (size_t)p.values * sizeof *p.eigenvalue);
    geodec_pca_clear(&p);
    geodec_pca_clear(&q);
    for (int i = 0; i < N * D; i++) x[i] = 2; /* no variance */
    test_ok(geodec_sketch_init(&s, D, 20, x, 7, 1, NULL), NULL);
    test_ok(geodec_sketch_add(&s, N, x, NULL, NULL), NULL);
    cr_assert_eq(geodec_sketch_turn(&s, NULL), GEODEC_SCARCE);
    geodec_sketch_clear(&s);
    geodec_pool_destroy(pool);
}
