/* Trajectories whose answer is known: geodesics of a sphere, straight lines, and a linear system. */
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "geometry/closed_forms.h"
#include "geometry/space_closed.h"
#include "lab/geodesicity/geodesicity.h"
#include "linalg/expm.h"
#include "linalg/lapack.h"
#include "linalg/regression.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 2, SIDE = 29, SITES = SIDE * SIDE, PATHS = 60, LENGTH = 6, TEXTS = 20 };

typedef struct world {
    double site[SITES * N], log_g[SITES * 3], x[PATHS * LENGTH * N];
    int64_t offset[PATHS + 1];
    int32_t text[PATHS];
    geodec_trajectories t;
    geodec_harness_sites f;
    geodec_geodesicity_options o;
} world;

/* The metric of the unit sphere on a grid over [-1.4, 1.4]^2. */
static world *begin(void)
{
    world *w = geodec_mem_new(1, sizeof *w);
    geodec_err err = {0};
    geodec_space_conformal sphere;
    geodec_linalg_init();
    test_ok(geodec_space_conformal_init(&sphere, N, 1, &err), &err);
    for (int i = 0; i < SITES; i++) {
        double g[N * N], l[N * N];
        w->site[i * N] = -1.4 + 0.1 * (i / SIDE);
        w->site[i * N + 1] = -1.4 + 0.1 * (i % SIDE);
        test_ok(sphere.base.at(&sphere.base, w->site + i * N, g, NULL, NULL, &err), &err);
        test_ok(geodec_logm_spd(N, g, l, &err), &err);
        geodec_sym_pack(N, l, w->log_g + i * 3);
    }
    for (int p = 0; p <= PATHS; p++) w->offset[p] = p * LENGTH;
    for (int p = 0; p < PATHS; p++) w->text[p] = p / 3;
    w->t = (geodec_trajectories){.paths = PATHS, .n = N, .offset = w->offset, .text = w->text, .x = w->x};
    w->f = (geodec_harness_sites){.sites = SITES, .site = w->site, .log_g = w->log_g, .sigma = 0.1};
    w->o = geodec_geodesicity_defaults();
    w->o.split.sites = SITES;
    w->o.split.seed = 3;
    w->o.replicates = 200;
    w->o.rtol = 1e-7;
    w->o.planted = 100;
    return w;
}

static void draw(int p, double *x0, double *v0)
{
    geodec_rng r = geodec_rng_stream(7, geodec_rng_id("path", (uint64_t)p));
    const double turn = 6.283185307179586 * geodec_rng_uniform(&r);
    for (int i = 0; i < N; i++) x0[i] = geodec_rng_uniform(&r) - 0.5;
    v0[0] = 0.15 * cos(turn);
    v0[1] = 0.15 * sin(turn);
}

static double error_of(const geodec_geodesicity *g, geodec_geodesicity_predictor p, int m)
{
    return g->error[p][m - 1][0].value;
}

/* States on exact geodesics of the sphere, known in closed form; the field approximates its metric. */
Test(geodesicity, geodesics_of_a_sphere_are_found_to_be_geodesics)
{
    geodec_err err = {0};
    world *w = begin();
    geodec_space_conformal sphere;
    geodec_geodesicity *g = NULL;
    int64_t count;
    test_ok(geodec_space_conformal_init(&sphere, N, 1, &err), &err);
    for (int p = 0; p < PATHS; p++) {
        double x0[N], v0[N];
        draw(p, x0, v0);
        for (int k = 0; k < LENGTH; k++)
            test_ok(closed_geodesic(&sphere, x0, v0, k, w->x + (p * LENGTH + k) * N, &err), &err);
    }
    test_ok(geodec_geodesicity_run(&w->t, &w->f, &w->o, NULL, NULL, &count, &g, &err), &err);
    cr_assert(count == 1 && g->place == -1 && g->ahead == 4 && g->texts > 5 && g->texts < TEXTS);
    for (int m = 1; m <= 4; m++) {
        const double line = error_of(g, GEODEC_PREDICT_LINE, m);
        /* what is left is the field's smoothing, sigma^2 / 2 times second derivatives, and its edge */
        cr_assert_lt(error_of(g, GEODEC_PREDICT_GEODESIC_LOG, m), 0.05 * line, "m %d: %g, line %g", m,
                     error_of(g, GEODEC_PREDICT_GEODESIC_LOG, m), line);
        /* the chord's direction is off by half a step's turn */
        cr_assert_lt(error_of(g, GEODEC_PREDICT_GEODESIC, m), 0.75 * line);
        cr_assert_lt(g->difference[GEODEC_PREDICT_GEODESIC_LOG][m - 1][0].high, 0);
        cr_assert_lt(g->difference[GEODEC_PREDICT_GEODESIC_LOG][m - 1][1].high, 0);
        /* and the controls do not predict it */
        cr_assert_gt(error_of(g, GEODEC_PREDICT_SHUFFLED, m), error_of(g, GEODEC_PREDICT_GEODESIC, m));
        cr_assert_gt(error_of(g, GEODEC_PREDICT_STAY, m), 0.8 * m);
    }
    cr_assert_eq(g->broken[GEODEC_PREDICT_GEODESIC], 0);
    /* the sphere's matrices are multiples of I: rotating them changes nothing */
    cr_assert_float_eq(error_of(g, GEODEC_PREDICT_RANDOM, 2), error_of(g, GEODEC_PREDICT_GEODESIC, 2), 1e-6);
    cr_assert_gt(g->planted, g->starts / 2);
    for (int m = 0; m < 4; m++) {
        cr_assert_lt(g->planted_error[2][m].value, 1e-3);
        cr_assert_gt(g->planted_error[0][m].value, 20 * g->planted_error[2][m].value);
    }
    geodec_mem_free(g);
    geodec_mem_free(w);
}

/* Straight lines: the line is exact, the sphere's geodesics lose; a linear system: the regression on (x, v) is exact.
 */
Test(geodesicity, lines_and_linear_systems_are_not_mistaken)
{
    geodec_err err = {0};
    world *w = begin();
    geodec_geodesicity *g = NULL;
    int64_t count;
    for (int p = 0; p < PATHS; p++) {
        double x0[N], v0[N];
        draw(p, x0, v0);
        for (int k = 0; k < LENGTH; k++)
            for (int i = 0; i < N; i++) w->x[(p * LENGTH + k) * N + i] = x0[i] + k * v0[i];
    }
    test_ok(geodec_geodesicity_run(&w->t, &w->f, &w->o, NULL, NULL, &count, &g, &err), &err);
    cr_assert_lt(error_of(g, GEODEC_PREDICT_LINE, 4), 1e-12);
    cr_assert_gt(g->difference[GEODEC_PREDICT_GEODESIC][3][0].low, 0);
    geodec_mem_free(g);
    for (int p = 0; p < PATHS; p++) { /* a spiral about (0.1, 0): x' = A (x - c) */
        double x0[N], v0[N];
        draw(p, x0, v0);
        double *x = w->x + p * LENGTH * N;
        memcpy(x, x0, sizeof x0);
        for (int k = 1; k < LENGTH; k++) {
            const double *a = x + (k - 1) * N;
            x[k * N] = 0.1 + 0.7 * (a[0] - 0.1) - 0.5 * a[1];
            x[k * N + 1] = 0.5 * (a[0] - 0.1) + 0.7 * a[1];
        }
    }
    w->o.ridge = 1e-9;
    test_ok(geodec_geodesicity_run(&w->t, &w->f, &w->o, NULL, NULL, &count, &g, &err), &err);
    for (int m = 1; m <= 4; m++) cr_assert_lt(error_of(g, GEODEC_PREDICT_LINEAR_X, m), 1e-6);
    cr_assert_gt(error_of(g, GEODEC_PREDICT_GEODESIC, 1), 0.1);
    geodec_mem_free(g);
    geodec_mem_free(w);
}

Test(geodesicity, places_threads_and_refusals)
{
    geodec_err err = {0};
    world *w = begin();
    geodec_geodesicity *g = NULL, *h = NULL;
    geodec_pool *pool = NULL;
    int64_t count;
    for (int i = 0; i < PATHS * LENGTH * N; i++) w->x[i] = sin(0.7 * i) + 0.2 * cos(1.9 * i);
    w->o.starts = 7;
    w->t.places = true;
    test_ok(geodec_geodesicity_run(&w->t, &w->f, &w->o, NULL, NULL, &count, &g, &err), &err);
    cr_assert_eq(count, LENGTH - 2);
    for (int64_t i = 0; i < count; i++) {
        cr_assert(g[i].place == i + 1 && g[i].starts == 7 && g[i].ahead == (count - i < 4 ? count - i : 4));
        cr_assert_eq(g[i].counted[GEODEC_PREDICT_LINE][g[i].ahead - 1], 7);
    }
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_geodesicity_run(&w->t, &w->f, &w->o, pool, NULL, &count, &h, &err), &err);
    cr_assert_eq(memcmp(g, h, (size_t)count * sizeof *g), 0);
    geodec_pool_destroy(pool);
    geodec_mem_free(g);
    geodec_mem_free(h);
    w->x[11] = NAN;
    cr_assert_eq(geodec_geodesicity_run(&w->t, &w->f, &w->o, NULL, NULL, &count, &g, NULL), GEODEC_NUMERIC);
    w->x[11] = 0;
    w->o.ahead = 99;
    cr_assert_eq(geodec_geodesicity_run(&w->t, &w->f, &w->o, NULL, NULL, &count, &g, NULL), GEODEC_RANGE);
    geodec_mem_free(w);
}

Test(geodesicity, the_texts_are_divided)
{
    geodec_geodesicity_options o = geodec_geodesicity_defaults();
    int first = 0, quarter = 0;
    for (int32_t t = 0; t < 400; t += 2) {
        const bool a = geodec_harness_split_held_out(&o.split, t), b = geodec_harness_split_held_out(&o.split, t + 1);
        cr_assert_neq(a, b);
        first += a;
    }
    cr_assert(first > 70 && first < 130);
    o.split.held_out = 0.25;
    for (int32_t t = 0; t < 400; t++) quarter += geodec_harness_split_held_out(&o.split, t);
    cr_assert(quarter > 70 && quarter < 130);
}

Test(regression, plane_and_constant)
{
    geodec_err err = {0};
    const double z[] = {0, 0, 1, 0, 0, 1, 2, 3, -1, 2}, same[] = {3, 3, 3, 3, 3};
    double y[5], map[3], out;
    for (int i = 0; i < 5; i++) y[i] = 4 + 2 * z[2 * i] - 0.5 * z[2 * i + 1];
    test_ok(geodec_regression_fit(5, 2, 1, z, y, 0, map, &err), &err);
    cr_assert(fabs(map[0] - 4) < 1e-12 && fabs(map[1] - 2) < 1e-12 && fabs(map[2] + 0.5) < 1e-12);
    geodec_regression_at(2, 1, map, (double[]){10, 10}, &out);
    cr_assert_float_eq(out, 19, 1e-11);
    test_ok(geodec_regression_fit(5, 1, 1, same, y, 0, map, &err), &err);
    cr_assert_eq(map[1], 0);
    cr_assert_eq(geodec_regression_fit(0, 1, 1, same, y, 0, map, NULL), GEODEC_RANGE);
    /* one input, ridge 1: the slope is halved */
    test_ok(geodec_regression_fit(2, 1, 1, (double[]){-1, 1}, (double[]){-1, 1}, 1, map, &err), &err);
    cr_assert_float_eq(map[1], 0.5, 1e-12);
}
