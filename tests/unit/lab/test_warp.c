/* The corrected warp where the answer is known. */
#include "base/mem.h"
#include "geometry/closed_forms.h"
#include "geometry/space_closed.h"
#include "lab/warp/warp.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 3, POINTS = 40 };

static void ball(double *point)
{
    for (int i = 0; i < POINTS * N; i++) point[i] = 0.3 * sin(1.7 * i * i + 0.3);
}

static geodec_warp_options options(void)
{
    geodec_warp_options o = geodec_warp_defaults();
    o.facts = 6;
    o.holdouts = 3;
    o.steps = 32;
    o.bootstrap = 50;
    return o;
}

/* Targets lie at the path's length, at the requested angle; distances before are those of the law of cosines. */
Test(warp, targets_on_the_sphere_and_in_flat_space)
{
    for (int k = 0; k < 2; k++) {
        geodec_err err = {0};
        geodec_space_conformal s;
        double point[POINTS * N];
        geodec_warp w = {0};
        geodec_warp_options o = options();
        o.length = 0.4;
        ball(point);
        test_ok(geodec_space_conformal_init(&s, N, k, &err), &err);
        test_ok(geodec_warp_run(&s.base, POINTS, point, &o, NULL, NULL, &w, &err), &err);
        const double want =
            k ? acos(pow(cos(o.length), 2) + pow(sin(o.length), 2) * cos(o.angle)) : 2 * o.length * sin(o.angle / 2);
        for (int64_t f = 0; f < w.facts; f++) {
            const double *q = point + w.query[f] * N;
            cr_assert_lt(fabs(closed_distance(&s, q, w.target + f * N) - o.length), 1e-6);
            /* the metric at the middle is exact in flat space, and of second order in the length on the sphere */
            cr_assert_lt(fabs(w.before[f] - want), k ? 2e-3 * want : 1e-12);
        }
        cr_assert_eq(w.zero_failures, 0);
        geodec_warp_clear(&w);
    }
}

/* Strength 0 is exact; a warp that lengthens in front of the path turns it towards the target, one that shortens,
 * away; holdouts far from it are unchanged; the same results with any number of threads. */
Test(warp, effects)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    const geodec_warp_options o = options();
    geodec_warp w = {0}, two = {0};
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_warp_exact(N, 0, &o, NULL, NULL, &w, &err), &err);
    test_ok(geodec_warp_exact(N, 0, &o, pool, NULL, &two, &err), &err);
    cr_assert_arr_eq(w.after, two.after, (size_t)(w.cells * w.facts) * sizeof *w.after);
    cr_assert_arr_eq(w.spillover, two.spillover, (size_t)(w.cells * w.facts * w.holdouts) * sizeof *w.after);
    cr_assert_eq(w.zero_failures, 0);
    for (int64_t c = 0; c < w.cells; c++) {
        const double alpha = o.alpha[c / 2 / o.widths], width = o.width[c / 2 % o.widths];
        const geodec_warp_cell *cell = &w.cell[c];
        cr_assert_eq(cell->broken, 0);
        if (alpha == 0) {
            cr_assert_eq(cell->reduction.value, 0);
            cr_assert_eq(cell->spill[0].value, 0);
            cr_assert_eq(cell->spill_p95[0].value, 0);
            continue;
        }
        cr_assert_neq(cell->reduction.value, 0);
        if (c % 2 == GEODEC_WARP_QUERY && width == 0.5 && fabs(alpha) < 2)
            cr_assert_eq(cell->reduction.value > 0, alpha < 0);
        cr_assert_leq(cell->reduction.low, cell->reduction.value);
        cr_assert_geq(cell->reduction.high, cell->reduction.value);
        if (cell->spills[3] > 0) cr_assert_leq(cell->spill[3].value, cell->spill[0].value + 0.05);
    }
    geodec_warp_clear(&w);
    geodec_warp_clear(&two);
    geodec_pool_destroy(pool);
}

/* Planted facts are carried: the warp that they were planted with leads to the target, and the distance before is that
 * of another place. The other facts keep their targets. */
Test(warp, planted_facts_are_carried)
{
    for (int k = 0; k < 2; k++) {
        geodec_err err = {0};
        geodec_warp_options o = options();
        geodec_warp plain = {0}, w = {0};
        o.facts = 12;
        o.length = 0.4;
        test_ok(geodec_warp_exact(N, k, &o, NULL, NULL, &plain, &err), &err);
        cr_assert_eq(plain.planted, 0);
        o.planted = 0.6;
        test_ok(geodec_warp_exact(N, k, &o, NULL, NULL, &w, &err), &err);
        cr_assert(w.planted >= 4 && w.planted <= 10, "%d planted", (int)w.planted);
        const int64_t cell = (4 * o.widths + 1) * GEODEC_WARP_PLACES + GEODEC_WARP_QUERY; /* strength -2.1, width .5 */
        int64_t carried = 0;
        for (int64_t f = 0; f < o.facts; f++) {
            if (memcmp(w.target + f * N, plain.target + f * N, N * sizeof *w.target) == 0) {
                cr_assert_eq(w.after[cell * o.facts + f], plain.after[cell * o.facts + f]);
                continue;
            }
            cr_assert_gt(w.before[f], 1e-3 * o.length);
            cr_assert_lt(w.after[cell * o.facts + f], 1e-6 * w.before[f]);
            carried++;
        }
        cr_assert_eq(carried, w.planted);
        cr_assert_gt(w.cell[cell].reduction.value, plain.cell[cell].reduction.value);
        o.planted = 1;
        geodec_warp_clear(&w);
        test_ok(geodec_warp_exact(N, k, &o, NULL, NULL, &w, &err), &err);
        cr_assert_eq(w.planted, o.facts);
        cr_assert_gt(w.cell[cell].reduction.value, 1 - 1e-6);
        geodec_warp_clear(&w);
        geodec_warp_clear(&plain);
    }
}

Test(warp, bad_input_is_refused)
{
    geodec_err err = {0};
    geodec_warp w;
    geodec_warp_options o = options();
    o.alpha[0] = 0.1;
    cr_assert_eq(geodec_warp_exact(N, 0, &o, NULL, NULL, &w, &err), GEODEC_RANGE); /* no control */
    o = options();
    o.width[1] = 0;
    cr_assert_eq(geodec_warp_exact(N, 0, &o, NULL, NULL, &w, &err), GEODEC_RANGE);
    o = options();
    o.facts = 0;
    cr_assert_eq(geodec_warp_exact(N, 0, &o, NULL, NULL, &w, &err), GEODEC_RANGE);
    o = options();
    cr_assert_eq(geodec_warp_exact(1, 0, &o, NULL, NULL, &w, &err), GEODEC_SCARCE);
}
