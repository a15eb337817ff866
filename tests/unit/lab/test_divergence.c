#include "base/rng.h"
#include "lab/divergence/divergence.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

enum { PAIRS = 120, KINDS = 3 };

/* One kind has the right order but not the scale, one has no information, one is the control. */
Test(divergence, ranks_differences_and_refusals)
{
    geodec_err err = {0};
    static double kl[2 * PAIRS], predicted[KINDS * 2 * PAIRS];
    static int32_t group[PAIRS];
    geodec_rng r = geodec_rng_stream(1, 2);
    geodec_divergence d = {.pairs = PAIRS,
                           .kinds = KINDS,
                           .name = {"order", "noise", "half"},
                           .control = 2,
                           .kl = kl,
                           .predicted = predicted};
    for (int i = 0; i < PAIRS; i++) {
        group[i] = i / 6;
        for (int which = 0; which < 2; which++) {
            double *p = predicted + which * PAIRS + i;
            const double t = kl[which * PAIRS + i] = geodec_rng_uniform(&r);
            p[0] = t / 4;
            p[2 * PAIRS] = geodec_rng_uniform(&r);
            p[4 * PAIRS] = t + 0.6 * geodec_rng_uniform(&r);
        }
    }
    test_ok(geodec_divergence_compute(&d, group, 200, 1, &err), &err);
    for (int which = 0; which < 2; which++) {
        cr_assert(d.rank[0][which].value == 1 && d.rank[0][which].low == 1 && d.rank[0][which].high == 1);
        cr_assert_float_eq(d.ratio[0][which], 4, 1e-12);
        cr_assert_lt(fabs(d.rank[1][which].value), 3 / sqrt(PAIRS));
        cr_assert(d.rank[2][which].low < d.rank[2][which].value && d.rank[2][which].value < d.rank[2][which].high);
        cr_assert_gt(d.difference[0][which].low, 0);
        cr_assert_lt(d.difference[1][which].high, 0);
        cr_assert(d.difference[2][which].value == 0 && d.difference[2][which].high == 0);
    }
    d.pairs = 2;
    cr_assert_eq(geodec_divergence_compute(&d, group, 10, 1, NULL), GEODEC_SCARCE);
    d.pairs = PAIRS;
    kl[5] = NAN;
    cr_assert_eq(geodec_divergence_compute(&d, group, 10, 1, NULL), GEODEC_NUMERIC);
}
