/* Penalties and biases of logits against their formulas. */
#include "base/mem.h"
#include "decode/penalty.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

Test(penalty, formulas_by_hand)
{
    geodec_err err = {0};
    geodec_penalty *p = NULL;
    const int32_t text[] = {5, 1, 1, 2}, more[] = {1, 3};
    geodec_penalty_options o = {.repeat = 2, .frequency = 0.25, .presence = 0.5, .window = 5};
    o.n_bias = 2;
    o.bias[0] = (geodec_logit_bias){4, 10};
    o.bias[1] = (geodec_logit_bias){0, -INFINITY};
    float row[6] = {1, 3, -2, 0, 1, 7};
    test_ok(geodec_penalty_create(&o, 6, &p, &err), &err);
    for (int again = 0; again < 2; again++) { /* nothing is left of the first call */
        const float start[6] = {1, 3, -2, 0, 1, 7};
        for (int i = 0; i < 6; i++) row[i] = start[i];
        geodec_penalty_apply(p, text, 4, more, 2, row); /* the window of 5 leaves out the 5 */
        cr_assert_eq(row[0], -INFINITY);
        cr_assert_float_eq(row[1], 3.0 / 2 - 3 * 0.25 - 0.5, 1e-6);
        cr_assert_float_eq(row[2], -2.0 * 2 - 0.25 - 0.5, 1e-6);
        cr_assert_float_eq(row[3], 0.0 - 0.25 - 0.5, 1e-6);
        cr_assert_eq(row[4], 11);
        cr_assert_eq(row[5], 7);
    }
    geodec_penalty_destroy(p);
    o.bias[0].id = 6;
    cr_assert_eq(geodec_penalty_create(&o, 6, &p, &err), GEODEC_INVAL);
    o = (geodec_penalty_options){.repeat = 1, .window = 64};
    test_ok(geodec_penalty_create(&o, 6, &p, &err), &err);
    cr_assert_null(p);
    geodec_penalty_apply(p, text, 4, more, 2, row);
}
