/* Power from planted curves. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/power/power.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MOST = 4096 };
static geodec_power_trial t[MOST];
static int64_t n;

static void level(double strength, int found, int of)
{
    for (int i = 0; i < of; i++)
        t[n++] = (geodec_power_trial){strength, 10 + 3 * strength + (i % 2 ? 0.5 : -0.5), i < found};
}

static geodec_power fit(double size)
{
    geodec_power p = {.n = 0};
    geodec_err err = {0};
    test_ok(geodec_power_fit(n, t, size, &p, &err), &err);
    return p;
}

Test(power, planted_shares_give_the_least_strength_and_the_power)
{
    n = 0;
    level(1, 10, 10);
    level(0, 0, 10); /* in any order */
    level(0.5, 6, 10);
    geodec_power p = fit(0.75);
    cr_assert_eq(p.levels, 3);
    cr_assert_float_eq(p.least, 0.75, 1e-12); /* halfway from .6 to 1 */
    cr_assert_float_eq(p.power, 0.8, 1e-12);
    cr_assert_float_eq(p.none, 0, 1e-12);
    cr_assert_float_eq(p.slope, 3, 1e-12);
    cr_assert_float_eq(p.spread, 0.5, 1e-12);
    cr_assert(p.slope_low < 3 && p.slope_high > 3);
    /* Wilson's interval of 6 of 10: (0.6 + z^2/20 -+ z sqrt(0.024 + z^2/400)) / (1 + z^2/10) */
    cr_assert_float_eq(p.level[1].low, 0.3127, 5e-4);
    cr_assert_float_eq(p.level[1].high, 0.8318, 5e-4);
    geodec_power_clear(&p);
}

Test(power, where_nothing_was_found_below_the_upper_strength_is_stated)
{
    n = 0;
    level(0, 0, 5);
    level(0.5, 0, 5);
    level(1, 5, 5);
    geodec_power p = fit(1);
    cr_assert_eq(p.least, 1);
    cr_assert_eq(p.power, 1);
    geodec_power_clear(&p);
    p = fit(1.5); /* beyond what was tried: not known */
    cr_assert(isnan(p.power));
    geodec_power_clear(&p);
}

Test(power, a_weak_rule_has_no_least_strength)
{
    n = 0;
    level(0, 1, 20);
    level(1, 9, 20);
    geodec_power p = fit(1);
    cr_assert(isinf(p.least));
    cr_assert_float_eq(p.power, 0.45, 1e-12);
    cr_assert(p.power_low < 0.45 && p.power_high > 0.45 && p.power_high < 0.8);
    cr_assert_float_eq(p.none, 0.05, 1e-12);
    geodec_power_clear(&p);
}

Test(power, shares_that_fall_are_pooled_and_worlds_that_failed_are_not_found)
{
    n = 0;
    level(0.2, 8, 10);
    level(0.4, 2, 10);
    level(0.6, 5, 10);
    level(0.8, 10, 10);
    t[n - 1].found = -1;
    t[n - 1].measured = NAN;
    geodec_power p = fit(0.8);
    for (int k = 0; k < 3; k++) cr_assert_float_eq(p.level[k].fitted, 0.5, 1e-12, "level %d", k);
    cr_assert_float_eq(p.level[3].fitted, 0.9, 1e-12);
    cr_assert_eq(p.failed, 1);
    cr_assert(isnan(p.none));
    cr_assert_float_eq(p.least, 0.6 + 0.2 * 0.3 / 0.4, 1e-12);
    geodec_power_clear(&p);
}

/* Found with the probability of a logistic curve: the least strength is near the true one, and an effect of the stated
 * least strength is found in at least 70 of 100 further worlds. */
Test(power, the_stated_least_strength_is_found_again)
{
    geodec_rng rng = geodec_rng_stream(7, geodec_rng_id("power test", 0));
    for (int curve = 0; curve < 4; curve++) {
        const double half = 0.2 + 0.15 * curve, width = 0.06, truth = half + width * log(4);
        n = 0;
        for (int k = 0; k <= 10; k++)
            for (int i = 0; i < 40; i++) {
                const double s = k / 10.0;
                t[n++] = (geodec_power_trial){s, s, geodec_rng_uniform(&rng) < 1 / (1 + exp(-(s - half) / width))};
            }
        geodec_power p = fit(1);
        cr_assert_float_eq(p.least, truth, 0.06, "%g for %g", p.least, truth);
        int found = 0;
        for (int i = 0; i < 100; i++) found += geodec_rng_uniform(&rng) < 1 / (1 + exp(-(p.least - half) / width));
        cr_assert_geq(found, 70, "%d of 100 at %g", found, p.least);
        geodec_power_clear(&p);
    }
}

Test(power, nothing_is_fitted_to_nothing)
{
    geodec_power p = {.n = 0};
    const geodec_power_trial bad = {NAN, 1, 1};
    cr_assert_eq(geodec_power_fit(0, t, 1, &p, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_power_fit(1, &bad, 1, &p, NULL), GEODEC_RANGE);
}
