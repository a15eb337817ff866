/* Geodesics of the set predict the next states of worlds that move along them, and of no others. */
#include "base/mem.h"
#include "base/pool.h"
#include "base/vec_internal.h"
#include "lab/geodesicity/set.h"
#include "lab/worlds/worlds.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { LENGTH = 10, POINTS = 3000, TEXTS = POINTS / LENGTH, AMBIENT = 16, M = 2 };

typedef struct setting {
    geodec_world world;
    int64_t offset[TEXTS + 1];
    int32_t text[TEXTS];
    geodec_trajectories t;
    geodec_geodesicity_set_options o;
    geodec_geodesicity_set f;
} setting;

static setting *run(geodec_world_set set, int n, double share)
{
    geodec_err err = {0};
    setting *s = geodec_mem_new(1, sizeof *s);
    geodec_world_options o = geodec_world_defaults();
    geodec_linalg_init();
    o.set = set;
    o.n = n;
    o.points = POINTS;
    o.ambient = AMBIENT;
    o.noise = 1e-3;
    o.sampling = GEODEC_WORLD_GEODESIC;
    o.text_length = LENGTH;
    o.step = 0.3;
    o.share = share;
    test_ok(geodec_world_make(&o, &s->world, &err), &err);
    for (int k = 0; k <= TEXTS; k++) s->offset[k] = k * LENGTH;
    for (int k = 0; k < TEXTS; k++) s->text[k] = k;
    s->t = (geodec_trajectories){.paths = TEXTS, .n = AMBIENT, .offset = s->offset, .text = s->text, .x = s->world.x};
    s->o = geodec_geodesicity_set_defaults();
    s->o.n = n;
    s->o.ahead = M;
    s->o.replicates = 200;
    test_ok(geodec_geodesicity_set_run(&s->t, &s->o, NULL, NULL, &s->f, &err), &err);
    cr_assert_eq(s->f.broken[GEODEC_SET_LINE], 0);
    cr_assert_lt(s->f.broken[GEODEC_SET_SET], s->f.starts / 20);
    return s;
}

static void end(setting *s)
{
    geodec_world_clear(&s->world);
    geodec_mem_free(s);
}

/* Mean error of the true geodesic from the clean state, m steps ahead, in mean steps, over all held-out starts. */
static double truth(const setting *s, int m)
{
    geodec_err err = {0};
    const geodec_world *w = &s->world;
    double sum = 0, unit = 0, y[AMBIENT];
    for (int64_t i = 0; i < POINTS; i++) {
        if (i % LENGTH == 0 || i % LENGTH + m >= LENGTH) continue;
        if (!geodec_harness_split_on(&s->o.split, (int32_t)(i / LENGTH), true)) continue;
        test_ok(geodec_world_geodesic(w, i, NULL, m * w->step, y, NULL, &err), &err);
        sum += sqrt(geodec__gap2(AMBIENT, y, w->x + (i + m) * AMBIENT));
        unit += sqrt(geodec__gap2(AMBIENT, w->x + i * AMBIENT, w->x + (i + 1) * AMBIENT));
    }
    return sum / unit;
}

/* (line - set) / (line - truth) */
static double recovered(const setting *s, int m)
{
    const double line = s->f.error[GEODEC_SET_LINE][m - 1].value;
    return (line - s->f.error[GEODEC_SET_SET][m - 1].value) / (line - truth(s, m));
}

/* S^5 in 16 dimensions, 3,000 states with noise of 1e-3, half of them held out: at least 80 % of the correctable error.
 */
Test(geodesicity_set, recovers_what_is_there)
{
    setting *s = run(GEODEC_WORLD_SPHERE, 5, 1);
    const geodec_geodesicity_set *f = &s->f;
    for (int m = 1; m <= M; m++) {
        cr_assert_geq(recovered(s, m), 0.8, "%d ahead: %g", m, recovered(s, m));
        cr_assert_gt(f->gain[m - 1].low, 0);
        cr_assert_lt(f->difference[GEODEC_SET_SET][m - 1].high, 0);
        /* the controls have little of it */
        cr_assert_gt(f->error[GEODEC_SET_SHUFFLED][m - 1].value, 3 * f->error[GEODEC_SET_SET][m - 1].value);
        cr_assert_gt(f->error[GEODEC_SET_GAUSSIAN][m - 1].value, f->error[GEODEC_SET_LINE][m - 1].value);
    }
    /* and what is planted */
    cr_assert(f->planted > 50 && f->correctable[0].low > 0);
    cr_assert(f->recovered[0].value > 0.8 && f->recovered[0].value < 1.2, "%g", f->recovered[0].value);
    end(s);
}

/* A set that no linear map of the state and its step continues: the regression gains by its curvature. */
Test(geodesicity_set, improves_a_regression)
{
    setting *s = run(GEODEC_WORLD_TORUS, 2, 1);
    cr_assert_geq(recovered(s, 1), 0.8, "%g", recovered(s, 1));
    cr_assert_gt(s->f.gain[0].low, 0);
    cr_assert_lt(s->f.difference[GEODEC_SET_FITTED][0].high, 0);
    end(s);
}

/* Steps in random directions: no gain, although both ends of a step are on the set. */
Test(geodesicity_set, finds_nothing_where_nothing_is)
{
    setting *s = run(GEODEC_WORLD_SPHERE, 5, 0);
    for (int m = 0; m < M; m++) {
        cr_assert_lt(s->f.gain[m].low, 0);
        cr_assert_gt(s->f.difference[GEODEC_SET_FITTED][m].high, 0);
    }
    /* the power is there: paths that are planted are found */
    cr_assert_gt(s->f.recovered[0].value, 0.8);
    /* the same bytes with threads, and refusals */
    geodec_err err = {0};
    geodec_geodesicity_set again;
    geodec_pool *pool = NULL;
    s->o.starts = 20;
    s->o.training = 100;
    s->o.points = 400;
    s->o.planted = 5;
    test_ok(geodec_geodesicity_set_run(&s->t, &s->o, NULL, NULL, &s->f, &err), &err);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_geodesicity_set_run(&s->t, &s->o, pool, NULL, &again, &err), &err);
    cr_assert_eq(memcmp(&again, &s->f, sizeof again), 0);
    geodec_pool_destroy(pool);
    s->o.points = 40;
    cr_assert_eq(geodec_geodesicity_set_run(&s->t, &s->o, NULL, NULL, &again, NULL), GEODEC_SCARCE);
    s->o.ahead = 99;
    cr_assert_eq(geodec_geodesicity_set_run(&s->t, &s->o, NULL, NULL, &again, NULL), GEODEC_RANGE);
    end(s);
}
