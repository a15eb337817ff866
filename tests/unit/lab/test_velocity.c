/* Planted surrogates: a linear system that the regression fits, a candidate equal to the answer, one that reads it. */
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "geometry/space_closed.h"
#include "lab/velocity/velocity.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 3, PATHS = 60, LENGTH = 7, SITES = 10 };

typedef struct world {
    double site[SITES * N], log_g[SITES * 6], x[PATHS * LENGTH * N], end[2][PATHS * LENGTH * N];
    int64_t offset[PATHS + 1];
    int32_t text[PATHS];
    geodec_space_constant flat;
    geodec_trajectories t;
    geodec_harness_sites f;
    geodec_harness_split split;
    geodec_velocity_initial_options o;
} world;

/* x' = A x with A a slow turn about an axis, noise in the start; the metric constant. */
static world *begin(void)
{
    world *w = geodec_mem_new(1, sizeof *w);
    geodec_err err = {0};
    const double g[N * N] = {4, 1, 0, 1, 2, 0, 0, 0, 1};
    geodec_linalg_init();
    test_ok(geodec_space_constant_init(&w->flat, N, g, &err), &err);
    for (int p = 0; p < PATHS; p++) {
        geodec_rng r = geodec_rng_stream(2, geodec_rng_id("path", (uint64_t)p));
        double *x = w->x + p * LENGTH * N;
        for (int i = 0; i < N; i++) x[i] = geodec_rng_normal(&r);
        for (int k = 1; k < LENGTH; k++) {
            const double *a = x + (k - 1) * N;
            x[k * N] = 0.2 * a[0] - 0.9 * a[1];
            x[k * N + 1] = 0.9 * a[0] + 0.2 * a[1];
            x[k * N + 2] = -0.8 * a[2];
        }
        w->text[p] = p / 2;
    }
    for (int p = 0; p <= PATHS; p++) w->offset[p] = p * LENGTH;
    for (int i = 0; i < SITES * N; i++) w->site[i] = sin(1.7 * i);
    w->t = (geodec_trajectories){.paths = PATHS, .n = N, .offset = w->offset, .text = w->text, .x = w->x};
    w->f =
        (geodec_harness_sites){.sites = SITES, .site = w->site, .log_g = w->log_g, .sigma = 1, .space = &w->flat.base};
    w->split = geodec_harness_split_defaults();
    w->o = geodec_velocity_initial_defaults();
    w->o.replicates = 100;
    w->o.ridge = 1e-9;
    w->o.starts = 1000;
    return w;
}

Test(velocity, what_is_known_is_found_and_what_leaks_is_caught)
{
    geodec_err err = {0};
    world *w = begin();
    geodec_velocity_initial v, again;
    geodec_velocity_initial_ends ends = {{0}};
    geodec_pool *pool;
    int64_t count, *row = NULL;
    test_ok(geodec_velocity_initial_starts(&w->t, &w->split, &w->o, &count, &row, &err), &err);
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < N; k++) {
            const double *x = w->x + row[i] * N;
            cr_assert(i == 0 || row[i] > row[i - 1]);
            /* token_mean fits the system without the future; next_token is the next state itself */
            w->end[0][i * N + k] = k == 0 ? 0.2 * x[0] - 0.9 * x[1] : k == 1 ? 0.9 * x[0] + 0.2 * x[1] : -0.8 * x[2];
            w->end[1][i * N + k] = x[N + k];
        }
    w->end[0][0] = NAN; /* one start has none */
    ends.end[GEODEC_INITIAL_TOKEN_MEAN] = w->end[0];
    ends.end[GEODEC_INITIAL_NEXT_TOKEN] = w->end[1];
    test_ok(geodec_velocity_initial_run(&w->t, &w->f, &ends, &w->split, &w->o, NULL, NULL, &v, &err), &err);
    cr_assert(v.starts == count && v.texts > 10 && v.texts < PATHS / 2 && v.training > 50);
    const geodec_velocity_initial_surrogate exact[] = {GEODEC_INITIAL_RIDGE_X, GEODEC_INITIAL_RIDGE_XV,
                                                       GEODEC_INITIAL_TOKEN_MEAN, GEODEC_INITIAL_NEXT_TOKEN,
                                                       GEODEC_INITIAL_TARGET};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        for (int norm = 0; norm < 2; norm++) cr_assert_gt(v.cosine[exact[i]][norm].value, 1 - 1e-6);
    cr_assert_eq(v.counted[GEODEC_INITIAL_TOKEN_MEAN][0], count - 1);
    cr_assert_eq(v.counted[GEODEC_INITIAL_EMBEDDING][0], 0);
    for (int s = 0; s < GEODEC_INITIAL_SURROGATES; s++) {
        if (v.counted[s][0] == 0) continue;
        const bool leaks = s == GEODEC_INITIAL_NEXT_TOKEN || s == GEODEC_INITIAL_TARGET;
        if (leaks)
            cr_assert_gt(v.leak[s].low, 0.3);
        else
            cr_assert(v.leak[s].value == 0 && v.leak[s].low == 0 && v.leak[s].high == 0, "%s",
                      geodec_velocity_initial_names[s]);
        if (s != GEODEC_INITIAL_MEAN)
            cr_assert_lt(fabs(v.unrelated[s].value), 0.25, "%s %g", geodec_velocity_initial_names[s],
                         v.unrelated[s].value);
    }
    /* the rotation is about 78 degrees, and the third coordinate reverses: the last step does not predict the next */
    cr_assert_lt(v.cosine[GEODEC_INITIAL_PREVIOUS][0].value, 0.3);
    /* the spiral turns inwards: the direction to its centre predicts part of the step, and the fit predicts more */
    cr_assert(v.cosine[GEODEC_INITIAL_CENTRE][0].value > 0.3 && v.cosine[GEODEC_INITIAL_CENTRE][0].value < 0.95);
    cr_assert_gt(v.gain[GEODEC_INITIAL_RIDGE_X][0].low, 0.05);
    cr_assert_lt(fabs(v.cosine[GEODEC_INITIAL_RANDOM][0].value), 0.25);
    cr_assert_lt(fabs(v.cosine[GEODEC_INITIAL_RIDGE_SHUFFLED][0].value), 0.3);
    cr_assert_float_eq(v.close[GEODEC_INITIAL_TARGET].value, 1, 1e-12);
    cr_assert_gt(v.cosine[GEODEC_INITIAL_NEIGHBOUR][0].value, 0.5);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_velocity_initial_run(&w->t, &w->f, &ends, &w->split, &w->o, pool, NULL, &again, &err), &err);
    geodec_pool_destroy(pool);
    cr_assert_eq(memcmp(&v, &again, sizeof v), 0);
    geodec_mem_free(row);
    geodec_mem_free(w);
}

Test(velocity, refusals)
{
    geodec_err err = {0};
    world *w = begin();
    geodec_velocity_initial v;
    const geodec_velocity_initial_ends ends = {{0}};
    test_ok(geodec_velocity_initial_run(&w->t, &w->f, &ends, &w->split, &w->o, NULL, NULL, &v, &err), &err);
    w->o.ridge = -1;
    cr_assert_eq(geodec_velocity_initial_run(&w->t, &w->f, &ends, &w->split, &w->o, NULL, NULL, &v, NULL),
                 GEODEC_RANGE);
    w->o.ridge = 1e-9;
    w->x[7] = INFINITY;
    cr_assert_eq(geodec_velocity_initial_run(&w->t, &w->f, &ends, &w->split, &w->o, NULL, NULL, &v, NULL),
                 GEODEC_NUMERIC);
    w->x[7] = 0;
    for (int p = 0; p < PATHS; p++) w->text[p] = 3;
    cr_assert_eq(geodec_velocity_initial_run(&w->t, &w->f, &ends, &w->split, &w->o, NULL, NULL, &v, NULL),
                 GEODEC_SCARCE);
    geodec_mem_free(w);
}
