/* Charts of known sets: folded by their leading coordinates, and not. */
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "geometry/fold.h"
#include "geometry/pca.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { POINTS = 500, D = 16, SEEDS = 20, FEW = 5 };

typedef void (*set_fn)(geodec_rng *r, double *y); /* y [D], all zero before */

static void sphere(geodec_rng *r, int n, double least, double *y)
{
    for (;;) {
        double s = 0;
        for (int i = 0; i <= n; i++) y[i] = geodec_rng_normal(r), s += y[i] * y[i];
        for (int i = 0; i <= n; i++) y[i] /= sqrt(s);
        if (y[0] >= least) return;
    }
}
static void sphere5(geodec_rng *r, double *y) { sphere(r, 5, -1, y); }
static void sphere2(geodec_rng *r, double *y) { sphere(r, 2, -1, y); }
static void cap5(geodec_rng *r, double *y) { sphere(r, 5, sqrt(0.5), y); }
static void roll(geodec_rng *r, double *y)
{
    const double a = 1.5 * M_PI * (1 + 2 * geodec_rng_uniform(r));
    y[0] = a * cos(a);
    y[1] = a * sin(a);
    y[2] = 21 * geodec_rng_uniform(r);
    for (int i = 0; i < 3; i++) y[i] /= 10;
}
static void blob(geodec_rng *r, double *y)
{
    for (int i = 0; i < D; i++) y[i] = geodec_rng_normal(r) * (i < 5 ? 1 : 0.3);
}
static void round_blob(geodec_rng *r, double *y)
{
    for (int i = 0; i < D; i++) y[i] = geodec_rng_normal(r) * exp(-0.15 * i);
}
/* The second moments of the spheres, without the sphere. */
static void full5(geodec_rng *r, double *y)
{
    for (int i = 0; i < 6; i++) y[i] = geodec_rng_normal(r) / sqrt(6);
}
static void full2(geodec_rng *r, double *y)
{
    for (int i = 0; i < 3; i++) y[i] = geodec_rng_normal(r) / sqrt(3);
}
static void plane(geodec_rng *r, double *y)
{
    y[0] = 2 * geodec_rng_uniform(r);
    y[1] = geodec_rng_uniform(r);
}

static geodec_fold fold_of(set_fn set, int n, double noise, uint64_t seed)
{
    geodec_err err = {0};
    geodec_pca pca = {0};
    geodec_fold f = {0};
    double *x = geodec_mem_new(POINTS * D, sizeof *x), *y = geodec_mem_new(POINTS * D, sizeof *y);
    geodec_linalg_init();
    for (int i = 0; i < POINTS; i++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("point", (uint64_t)i));
        set(&r, x + i * D);
        for (int j = 0; j < D; j++) x[i * D + j] += noise * geodec_rng_normal(&r);
    }
    test_ok(geodec_pca_from_rows(POINTS, D, x, 1, NULL, &pca, &err), &err);
    test_ok(geodec_pca_project(D, pca.k, pca.basis, pca.mean, POINTS, x, y, NULL, &err), &err);
    test_ok(geodec_fold_measure(POINTS, pca.k, y, n, 0, seed, NULL, NULL, &f, &err), &err);
    geodec_pca_clear(&pca);
    geodec_mem_free(x);
    geodec_mem_free(y);
    return f;
}

/* In how many seeds a fold is found. */
static int found(set_fn set, int n, double noise, int seeds)
{
    int count = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++) {
        const geodec_fold f = fold_of(set, n, noise, seed);
        cr_assert(!f.found || f.testable);
        count += f.found;
    }
    return count;
}

Test(fold, closed_and_rolled_sets_are_found)
{
    cr_assert_eq(found(sphere5, 5, 0.01, SEEDS), SEEDS);
    cr_assert_eq(found(sphere2, 2, 0.01, SEEDS), SEEDS);
    cr_assert_eq(found(roll, 2, 0.01, SEEDS), SEEDS);
}

Test(fold, none_on_clean_sets)
{
    cr_assert_eq(found(cap5, 5, 0.01, SEEDS), 0);
    cr_assert_eq(found(plane, 2, 0.01, SEEDS), 0);
    cr_assert_eq(found(blob, 5, 0, SEEDS), 0);
    cr_assert_eq(found(round_blob, 5, 0, SEEDS), 0);
    cr_assert_eq(found(full5, 5, 0.001, SEEDS), 0);
    cr_assert_eq(found(full2, 2, 0.001, SEEDS), 0);
}

/* Noise of the remaining directions hides the tangent spaces, which is said, and folds nothing. */
Test(fold, noise_does_not_fold)
{
    cr_assert_eq(found(cap5, 5, 0.1, FEW), 0);
    cr_assert_eq(found(plane, 2, 0.1, FEW), 0);
    cr_assert_eq(found(plane, 2, 0.3, FEW), 0);
    cr_assert(!fold_of(plane, 2, 0.3, 1).testable && fold_of(plane, 2, 0.01, 1).testable);
}

Test(fold, refusals_and_threads)
{
    geodec_err err = {0};
    geodec_fold f = {0}, g = {0};
    geodec_pool *pool = NULL;
    double *x = geodec_mem_new(400 * 6, sizeof *x);
    geodec_linalg_init();
    for (int i = 0; i < 400 * 6; i++) x[i] = sin(0.7 * i) + 0.3 * cos(1.3 * i * i);
    cr_assert_eq(geodec_fold_measure(400, 6, x, 6, 0, 1, NULL, NULL, &f, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_fold_measure(geodec_fold_needs(3) - 1, 6, x, 3, 0, 1, NULL, NULL, &f, NULL), GEODEC_SCARCE);
    test_ok(geodec_fold_measure(400, 6, x, 3, 0, 1, NULL, NULL, &f, &err), &err);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_fold_measure(400, 6, x, 3, 0, 1, pool, NULL, &g, &err), &err);
    cr_assert(f.determined == g.determined && f.pairs == g.pairs && f.edge_on == g.edge_on);
    cr_assert_eq(memcmp(&f.share, &g.share, sizeof f.share), 0);
    cr_assert_eq(memcmp(&f.flat, &g.flat, sizeof f.flat), 0);
    geodec_pool_destroy(pool);
    geodec_mem_free(x);
}
