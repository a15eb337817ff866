#include "base/clock.h"
#include "base/needs.h"
#include "base/pilot.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Value of a row; 0 if there is none of this name. */
static double value_of(const geodec_needs *n, const char *name)
{
    for (int i = 0; i < n->n; i++)
        if (strcmp(n->row[i].name, name) == 0) return n->row[i].value;
    return 0;
}

Test(needs, parts_sum_up)
{
    geodec_needs n = {.threads = 4};
    geodec_needs_size(&n, "points", 1000);
    geodec_needs_memory(&n, "inputs", 3e6);
    geodec_needs_memory(&n, "results", 5e6);
    geodec_needs_time(&n, "load", 2, 0);
    geodec_needs_time(&n, "field", 1, 8); /* 1 + 8 / 4 */
    cr_assert_eq(n.memory, 8e6);
    cr_assert_eq(n.seconds, 2 + 3);
    cr_assert_eq(n.processor, 2 + 9);
    cr_assert_eq(value_of(&n, "points"), 1000);
    cr_assert_eq(value_of(&n, "memory.results"), 5e6);
    cr_assert_eq(value_of(&n, "seconds.field"), 3);
    cr_assert_eq(value_of(&n, "nothing"), 0);
}

Test(needs, without_threads_there_is_one_and_rows_are_limited)
{
    geodec_needs n = {0};
    for (int i = 0; i < 2 * GEODEC_NEEDS_ROWS; i++) geodec_needs_time(&n, "x", 0, 1);
    cr_assert_eq(n.seconds, 2 * GEODEC_NEEDS_ROWS, "all count in the sum");
    cr_assert_eq(n.n, GEODEC_NEEDS_ROWS);
}

/* Spins for about 2 ms, and 0.5 ms an item. The clock is that of the processor, so other work does not matter. */
static int64_t largest;
static geodec_status spin(void *ctx, int64_t items, geodec_err *err)
{
    const double until = geodec_clock_process_seconds() + 2e-3 + 5e-4 * (double)items;
    (void)ctx, (void)err;
    largest = items > largest ? items : largest;
    while (geodec_clock_process_seconds() < until) continue;
    return GEODEC_OK;
}

Test(pilot, separates_the_fixed_part)
{
    geodec_err err = {0};
    geodec_pilot p;
    largest = 0;
    cr_assert_eq(geodec_pilot_run(spin, NULL, 2, 100000, 0.15, &p, &err), GEODEC_OK);
    /* the times are set by the clock itself; what a trial takes beyond them is microseconds */
    cr_assert(fabs(p.item - 5e-4) < 1e-4, "%g", p.item);
    cr_assert(fabs(p.fixed - 2e-3) < 1e-3, "%g", p.fixed);
    cr_assert_geq(p.spent, 0.15);
    cr_assert_eq(p.items, largest, "the longest trial is the last");
    cr_assert_lt(p.items, 1000);
}

Test(pilot, stops_at_all_items)
{
    geodec_err err = {0};
    geodec_pilot p;
    largest = 0;
    cr_assert_eq(geodec_pilot_run(spin, NULL, 1, 3, 10, &p, &err), GEODEC_OK);
    cr_assert_eq(largest, 3);
    cr_assert_eq(geodec_pilot_run(spin, NULL, 5, 5, 10, &p, &err), GEODEC_OK);
    cr_assert_eq(p.items, 5, "all at once: no fixed part is known");
    cr_assert_eq(p.fixed, 0);
}

static geodec_status refuse(void *ctx, int64_t items, geodec_err *err)
{
    (void)ctx;
    GEODEC_FAIL(GEODEC_SCARCE, "%lld items", (long long)items);
}

Test(pilot, passes_errors_on)
{
    geodec_err err = {0};
    geodec_pilot p;
    cr_assert_eq(geodec_pilot_run(refuse, NULL, 1, 3, 1, &p, &err), GEODEC_SCARCE);
}

Test(pilot, a_watch_stops_the_stage_and_counts_only_its_reports)
{
    geodec_err err = {0};
    geodec_pilot_watch w;
    double before, rest;
    const geodec_hooks h = geodec_pilot_watch_hooks(&w, "rows", 0.02, NULL);
    int64_t done = 0;
    cr_assert_eq(geodec_hooks_progress(&h, "other", 0, 10, &err), GEODEC_OK);
    while (geodec_hooks_progress(&h, "rows", done, 1000, &err) == GEODEC_OK) {
        done += 10;
        (void)spin(NULL, 0, &err); /* 2 ms for 10 of 1000 rows: 0.2 s in all */
    }
    geodec_pilot_watch_result(&w, &before, &rest);
    cr_assert_lt(done, 200);
    cr_assert_not(w.asked);
    cr_assert(fabs(rest - 0.2) < 0.04, "%g", rest);
    cr_assert_lt(before, 0.01);
}
