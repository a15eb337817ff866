/* Charts of known sets: folded by their leading coordinates, and not. */
#include "base/mem.h"
#include "base/rng.h"
#include "geometry/fold.h"
#include "geometry/pca.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 1500, D = 16, SEEDS = 20 };

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
Test(fold, try)
{
    static const struct { const char *name; set_fn set; int n; double noise; } all[] = {
      {"sphere5", sphere5, 5, 0.01}, {"sphere2", sphere2, 2, 0.01}, {"roll", roll, 2, 0.01}, {"cap5", cap5, 5, 0.01}, {"cap5", cap5, 5, 0.1}, {"blob", blob, 5, 0}, {"round blob", round_blob, 5, 0}, {"plane", plane, 2, 0.01}, {"plane", plane, 2, 0.1}, {"plane", plane, 2, 0.3}};
    for (int i = 0; i < 10; i++)
        for (uint64_t s = 1; s < 4; s++) {
            geodec_fold f = fold_of(all[i].set, all[i].n, all[i].noise, s);
            fprintf(stderr, "%s noise %g: determined %d of %d edge on %d pairs %d share %.5f flat %.3f\n", all[i].name, all[i].noise, (int)f.determined, (int)f.points, (int)f.edge_on, (int)f.pairs, f.share, f.flat);
        }
}
