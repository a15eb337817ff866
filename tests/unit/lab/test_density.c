/* Density where the answer is known. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/density/density.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TEXTS = 40, LENGTH = 30, N = TEXTS * LENGTH, D = 3 };
static double x[N * D];
static int32_t sequence[N], position[N];

/* Texts are walks whose steps are small against the space they are in. */
static void walks(double step, double spread)
{
    geodec_rng r = geodec_rng_stream(4, geodec_rng_id("walks", 0));
    for (int t = 0; t < TEXTS; t++) {
        double at[D];
        for (int a = 0; a < D; a++) at[a] = spread * geodec_rng_normal(&r);
        for (int i = 0; i < LENGTH; i++) {
            for (int a = 0; a < D; a++) x[(t * LENGTH + i) * D + a] = at[a] += step * geodec_rng_normal(&r);
            sequence[t * LENGTH + i] = 1000 - t;
            position[t * LENGTH + i] = i;
        }
    }
}

/* Independent points: held-out states lie as far from the library as library states from those of other texts. */
Test(density, independent_states_have_ratio_one)
{
    geodec_rng r = geodec_rng_stream(9, geodec_rng_id("points", 0));
    geodec_density d;
    geodec_err err = {0};
    geodec_density_options o = geodec_density_defaults();
    walks(1, 1);
    for (int i = 0; i < N * D; i++) x[i] = geodec_rng_normal(&r);
    test_ok(geodec_density_run(N, D, x, sequence, position, &o, NULL, NULL, &d, &err), &err);
    cr_assert_eq(d.texts, TEXTS);
    cr_assert_eq(d.held_texts, 12);
    cr_assert_eq(d.online_points, 12 * LENGTH);
    cr_assert(d.ratio.low < 1 && d.ratio.high > 1 && fabs(d.ratio.value - 1) < 0.1, "ratio %g", d.ratio.value);
    cr_assert(fabs(d.dimension.fit - 3) < 0.5);
    cr_assert(d.enrichment.low < 1 && d.enrichment.high > 1);
    cr_assert_lt(fabs(d.z), 4);
    for (int64_t w = 0; w + 2 < d.n_windows; w++) cr_assert_gt(d.within[w], d.online.value); /* fewer candidates */
    geodec_density_clear(&d);
}

/* Walks: the nearest state of the same text is the neighbour in time until it is excluded. */
Test(density, neighbours_in_time_are_left_out)
{
    geodec_density d, e;
    geodec_err err = {0};
    geodec_density_options o = geodec_density_defaults();
    geodec_pool *pool;
    walks(0.05, 3);
    test_ok(geodec_density_run(N, D, x, sequence, position, &o, NULL, NULL, &d, &err), &err);
    cr_assert_lt(d.within[0], 0.12);
    cr_assert_gt(d.within[4], 2 * d.within[0]);
    cr_assert_gt(d.online.value, 3 * d.within[0]);
    cr_assert_eq(d.within_count[6], 0); /* no text is 64 long */
    cr_assert_eq(d.within[6], 0);
    cr_assert_eq(d.published_rule, ceil(d.ratio.value * d.ratio.value));
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_density_run(N, D, x, sequence, position, &o, pool, NULL, &e, &err), &err);
    geodec_pool_destroy(pool);
    cr_assert(d.online.value == e.online.value && d.ratio.high == e.ratio.high && d.z == e.z);
    cr_assert_eq(memcmp(d.within_null, e.within_null, (size_t)d.n_windows * sizeof(double)), 0);
    geodec_density_clear(&d);
    geodec_density_clear(&e);
}

Test(density, refusals)
{
    geodec_density d;
    geodec_err err = {0};
    geodec_density_options o = geodec_density_defaults();
    walks(0.05, 3);
    cr_assert_eq(geodec_density_run(15, D, x, sequence, position, &o, NULL, NULL, &d, &err), GEODEC_SCARCE);
    walks(0.05, 3);
    o.held_out = 1;
    cr_assert_eq(geodec_density_run(N, D, x, sequence, position, &o, NULL, NULL, &d, &err), GEODEC_RANGE);
    o = geodec_density_defaults();
    o.window[1] = 1;
    cr_assert_eq(geodec_density_run(N, D, x, sequence, position, &o, NULL, NULL, &d, &err), GEODEC_RANGE);
    o = geodec_density_defaults();
    x[7] = NAN;
    cr_assert_eq(geodec_density_run(N, D, x, sequence, position, &o, NULL, NULL, &d, &err), GEODEC_NUMERIC);
}

/* One long text is cut into pieces, of which some are held out. */
Test(density, one_text_is_cut)
{
    geodec_density d;
    geodec_err err = {0};
    const geodec_density_options o = geodec_density_defaults();
    walks(0.05, 3);
    for (int i = 0; i < N; i++) sequence[i] = 5, position[i] = i;
    test_ok(geodec_density_run(N, D, x, sequence, position, &o, NULL, NULL, &d, &err), &err);
    cr_assert(d.texts == 8 && d.held_texts == 2 && d.online_points == N / 4);
    cr_assert_eq(d.within_count[6], N / 4);
    geodec_density_clear(&d);
}
