/* The serial disk on a virtual clock: order, interruption, drops. */
#include "streaming/serial.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

static geodec_err err;

static geodec_serial *make(void)
{
    geodec_serial *s = NULL;
    test_ok(geodec_serial_create(8, &s, &err), &err);
    return s;
}

static void ends(geodec_serial *s, double until, int32_t slot, double when)
{
    double at = -1;
    cr_assert_eq(geodec_serial_next(s, until, &at), slot);
    if (slot >= 0) cr_assert_float_eq(at, when, 1e-12, "slot %d ends at %g", (int)slot, at);
}

Test(serial, a_demand_interrupts_a_prefetch_which_goes_on_afterwards)
{
    geodec_serial *s = make();
    cr_assert(isinf(geodec_serial_when(s)));
    geodec_serial_put(s, 0, false, 0, 1, 4);
    geodec_serial_put(s, 1, false, 0, 1, 1);
    cr_assert_float_eq(geodec_serial_when(s), 5, 1e-12);
    ends(s, 2, -1, 0);
    geodec_serial_put(s, 2, true, 0, 3, 2); /* 0 has been served for 2 seconds */
    geodec_serial_put(s, 3, true, 0, 3.5, 1);
    ends(s, 100, 2, 5);
    ends(s, 100, 3, 6);
    ends(s, 100, 0, 8);
    ends(s, 100, 1, 9);
    ends(s, 100, -1, 0);
    cr_assert_float_eq(geodec_serial_busy(s), 8, 1e-12);
    geodec_serial_put(s, 4, true, 0, 20, 1); /* after a pause */
    ends(s, 100, 4, 21);
    geodec_serial_destroy(s);
}

Test(serial, a_prefetch_that_is_needed_becomes_the_last_demand)
{
    geodec_serial *s = make();
    geodec_serial_put(s, 0, false, 0, 0, 2);
    geodec_serial_put(s, 1, false, 0, 0, 2);
    geodec_serial_put(s, 2, true, 0, 1, 1);
    geodec_serial_hurry(s, 1, 1);
    ends(s, 100, 2, 2);
    ends(s, 100, 1, 4);
    ends(s, 100, 0, 5);
    geodec_serial_hurry(s, 0, 6); /* not there any more */
    cr_assert(isinf(geodec_serial_when(s)));
    geodec_serial_destroy(s);
}

Test(serial, a_dropped_read_costs_what_it_was_served)
{
    geodec_serial *s = make();
    geodec_serial_put(s, 0, false, 0, 0, 2);
    geodec_serial_put(s, 1, false, 0, 0, 3);
    cr_assert_float_eq(geodec_serial_drop(s, 1, 0.5), 0, 1e-12); /* it waits */
    cr_assert_float_eq(geodec_serial_drop(s, 0, 0.75), 0.75, 1e-12);
    cr_assert_float_eq(geodec_serial_drop(s, 0, 1), 0, 1e-12);
    cr_assert_float_eq(geodec_serial_busy(s), 0.75, 1e-12);
    geodec_serial_put(s, 0, true, 0, 1, 1); /* the slot again */
    geodec_serial_put(s, 0, true, 0, 1, 7); /* it has a read */
    ends(s, 100, 0, 2);
    geodec_serial_put(s, 8, true, 0, 1, 1);
    ends(s, 100, -1, 0);
    geodec_serial_destroy(s);
    geodec_serial_destroy(NULL);
    cr_assert_eq(geodec_serial_create(0, &s, &err), GEODEC_RANGE);
}

Test(serial, a_prefetch_of_more_worth_interrupts_another)
{
    geodec_serial *s = make();
    geodec_serial_put(s, 0, false, 0.5F, 0, 4);
    geodec_serial_put(s, 1, false, 0.9F, 1, 2);
    geodec_serial_put(s, 2, false, 0.5F, 1, 1);
    geodec_serial_put(s, 3, true, 0, 2, 1);
    ends(s, 100, 3, 3);
    ends(s, 100, 1, 4);
    ends(s, 100, 0, 7);
    ends(s, 100, 2, 8);
    geodec_serial_destroy(s);
}
