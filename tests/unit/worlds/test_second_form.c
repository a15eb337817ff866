/* The curvature of a set, measured on worlds whose curvature is known. */
#include "base/mem.h"
#include "chain/second_form.h"
#include "lab/worlds/worlds.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static geodec_world_options options(geodec_world_set set, int32_t n, int64_t points, uint64_t seed)
{
    geodec_world_options o = geodec_world_defaults();
    o.set = set;
    o.n = n;
    o.ambient = 40;
    o.points = points;
    o.noise = 1e-3;
    o.seed = seed;
    return o;
}

static geodec_second_form measured(const geodec_world *w, int64_t samples, uint64_t seed, bool control)
{
    geodec_second_form s = {0};
    geodec_err err = {0};
    const geodec_cloud cloud = {.points = w->points, .k = w->ambient, .k_int = w->n, .sequence = w->sequence};
    geodec_second_form_options o = geodec_second_form_defaults();
    o.n = w->n;
    o.samples = samples;
    o.seed = seed;
    o.control = control;
    test_ok(geodec_second_form_compute(&cloud, w->ambient, w->x, &o, NULL, NULL, &s, &err), &err);
    return s;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over the centres inside of |estimate - truth| / |truth|; the share whose sign is right, where the truth is at
 * least a quarter of its median size. */
static void against(const geodec_world *w, const geodec_second_form *s, double *error, double *signs)
{
    double off[64];
    int count = 0, clear = 0, right = 0;
    for (int64_t c = 0; c < s->centres; c++) {
        const double truth = w->scalar[s->index[c]], got = s->at[c].scalar;
        if (!isfinite(got) || s->at[c].offset > 0.25) continue;
        off[count++] = fabs(got - truth) / fabs(truth);
        if (fabs(truth) < 0.25 * fabs(w->scalar[s->index[0]])) continue;
        clear++;
        right += (got > 0) == (truth > 0);
    }
    cr_assert_geq(count, 24);
    qsort(off, (size_t)count, sizeof *off, rising);
    *error = off[count / 2];
    *signs = (double)right / clear;
}

/* 3000 points in 40 dimensions with noise 1e-3: within 15 % of the closed form, with its sign. */
Test(second_form, closed_forms_of_worlds, .timeout = 120)
{
    const struct {
        const char *name;
        geodec_world_set set;
        int32_t n;
        double cap, tube;
    } sets[] = {{"S^5, a cap", GEODEC_WORLD_SPHERE, 5, 1.2, 0},
                {"S^2", GEODEC_WORLD_SPHERE, 2, 0, 0},
                {"S^3 x R", GEODEC_WORLD_PRODUCT, 4, 0, 0},
                {"H^3", GEODEC_WORLD_HYPERBOLIC, 3, 0, 0},
                {"torus", GEODEC_WORLD_TORUS, 2, 0, 0.4}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        geodec_world w = {0};
        geodec_err err = {0};
        geodec_world_options o = options(sets[i].set, sets[i].n, 3000, 1);
        o.cap = sets[i].cap;
        if (sets[i].tube > 0) o.tube = sets[i].tube;
        test_ok(geodec_world_make(&o, &w, &err), &err);
        geodec_second_form s = measured(&w, 48, 1, false);
        double error, signs;
        against(&w, &s, &error, &signs);
        cr_assert_lt(error, 0.15, "%s: error %g at the median point", sets[i].name, error);
        cr_assert_gt(signs, 0.85, "%s: %g of the signs", sets[i].name, signs);
        cr_assert_float_eq(s.noise, 1e-3, 4e-4, "%s: noise %g", sets[i].name, s.noise);
        geodec_second_form_clear(&s);
        geodec_world_clear(&w);
    }
}

/* Noise with the covariance of a cap of S^5: no curvature, within three standard errors in 18 of 20 seeds. */
Test(second_form, noise_is_flat, .timeout = 120)
{
    int within = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        geodec_world w = {0};
        geodec_err err = {0};
        geodec_world_options o = options(GEODEC_WORLD_GAUSSIAN, 3, 800, seed);
        o.null_of = GEODEC_WORLD_SPHERE;
        o.cap = 1.2;
        test_ok(geodec_world_make(&o, &w, &err), &err);
        geodec_second_form s = measured(&w, 32, seed, false);
        within += fabs(s.pool.mean) < 3 * s.pool.mean_se;
        geodec_second_form_clear(&s);
        geodec_world_clear(&w);
    }
    cr_assert_geq(within, 18, "%d of 20", within);
}

/* Four times as many points: the error of a fit falls. The control stands beside, and every thread gives the bytes. */
Test(second_form, consistent_and_deterministic, .timeout = 120)
{
    double error[2];
    for (int i = 0; i < 2; i++) {
        geodec_world w = {0};
        geodec_err err = {0};
        const geodec_world_options o = options(GEODEC_WORLD_TORUS, 2, i ? 4000 : 500, 2);
        double signs;
        test_ok(geodec_world_make(&o, &w, &err), &err);
        geodec_second_form s = measured(&w, 48, 2, i == 0), again;
        against(&w, &s, error + i, &signs);
        if (i == 0) {
            geodec_pool *pool;
            const geodec_cloud cloud = {.points = w.points, .k = 40, .k_int = 2, .sequence = w.sequence};
            geodec_second_form_options so = geodec_second_form_defaults();
            so.n = 2, so.samples = 48, so.seed = 2;
            test_ok(geodec_pool_create(3, &pool, &err), &err);
            test_ok(geodec_second_form_compute(&cloud, 40, w.x, &so, pool, NULL, &again, &err), &err);
            cr_assert_arr_eq(s.without, again.without, (size_t)(s.centres * s.groups) * sizeof *s.without);
            cr_assert_eq(s.control.mean, again.control.mean);
            cr_assert_gt(s.control_k, 0);
            cr_assert_lt(fabs(s.control.mean), 4 * s.control.mean_se);
            geodec_second_form_clear(&again);
            geodec_pool_destroy(pool);
        }
        geodec_second_form_clear(&s);
        geodec_world_clear(&w);
    }
    cr_assert_lt(error[1], 0.5 * error[0], "%g at 4000 points, %g at 500", error[1], error[0]);
}

Test(second_form, too_few_points)
{
    geodec_world w = {0};
    geodec_err err = {0};
    geodec_second_form s = {0};
    const geodec_world_options o = options(GEODEC_WORLD_SPHERE, 5, 100, 3);
    test_ok(geodec_world_make(&o, &w, &err), &err);
    const geodec_cloud cloud = {.points = 100, .k = 40, .k_int = 5, .sequence = w.sequence};
    geodec_second_form_options so = geodec_second_form_defaults();
    cr_assert_eq(geodec_second_form_compute(&cloud, 40, w.x, &so, NULL, NULL, &s, &err), GEODEC_SCARCE);
    so.n = 13;
    cr_assert_eq(geodec_second_form_compute(&cloud, 40, w.x, &so, NULL, NULL, &s, &err), GEODEC_RANGE);
    geodec_world_clear(&w);
}
