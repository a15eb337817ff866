#include "base/rng.h"
#include "session/price.h"
#include "support/support.h"

#include <criterion/criterion.h>

/* Four experts; the first is in memory. */
Test(price, rows_pay_for_experts_that_no_row_before_uses)
{
    const float first[] = {1, 0.5F, 0.5F, 0}, second[] = {1, 0.5F, 0, 0.25F};
    const uint8_t resident[] = {1, 0, 0, 0};
    float unused[] = {1, 1, 1, 1};
    double distinct = 0, missing = 0;
    geodec_price_add_row(4, first, resident, unused, &distinct, &missing);
    cr_assert_float_eq(distinct, 2, 1e-12);
    cr_assert_float_eq(missing, 1, 1e-12);
    geodec_price_add_row(4, second, resident, unused, &distinct, &missing);
    cr_assert_float_eq(distinct, 2 + 0.25 + 0.25, 1e-12); /* the first expert is used already, the second maybe */
    cr_assert_float_eq(missing, 1 + 0.25 + 0.25, 1e-12);
    cr_assert_float_eq((double)unused[1], 0.25, 1e-7);
    geodec_price_add_row(4, first, NULL, unused, &distinct, &missing);
    cr_assert_float_eq(missing, 1.5, 1e-12, "all are in memory");
}

/* Without routes each expert is as likely as any other: E (1 - (1 - k/E)^n). */
Test(price, equal_probabilities_give_the_closed_form)
{
    enum { E = 32, K = 2 };
    float p[E], unused[E];
    double distinct = 0, missing = 0, none = 1;
    for (int e = 0; e < E; e++) {
        p[e] = (float)K / E;
        unused[e] = 1;
    }
    for (int n = 1; n <= 16; n++) {
        geodec_price_add_row(E, p, NULL, unused, &distinct, &missing);
        none *= 1 - (double)K / E;
        cr_assert_float_eq(distinct, E * (1 - none), 1e-5);
    }
}

Test(price, times_are_split_into_rows_and_experts)
{
    geodec_price_fit f;
    geodec_rng r = geodec_rng_stream(3, 1);
    geodec_price_begin(&f, 12);
    cr_assert_float_eq(geodec_price_pass(&f, 1, 12), 0, 0, "nothing is known");
    geodec_price_observe(&f, 1, 12, 1.7);
    cr_assert_float_eq(geodec_price_pass(&f, 1, 12), 1.7, 1e-9, "the first pass");
    cr_assert(geodec_price_pass(&f, 2, 20) > 1.7);
    for (int i = 0; i < 2000; i++) {
        const int32_t n = 1 + (int32_t)(geodec_rng_uniform(&r) * 8);
        const double experts = n * (6 + 6 * geodec_rng_uniform(&r));
        geodec_price_observe(&f, n, experts, 0.5 + 0.2 * n + 0.1 * experts);
    }
    cr_assert_float_eq(f.row, 0.2, 0.05, "%g", f.row);
    cr_assert_float_eq(f.expert, 0.1, 0.01, "%g", f.expert);
    cr_assert_float_eq(geodec_price_pass(&f, 4, 30), 0.5 + 0.8 + 3, 0.1);
    const double before = geodec_price_pass(&f, 4, 30);
    geodec_price_observe(&f, 4, 30, 1000); /* the machine did something else */
    cr_assert_lt(geodec_price_pass(&f, 4, 30), 1.5 * before);
}
