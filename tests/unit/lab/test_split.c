/* Helpers that experiments on texts share: ratios of sums by text, seeded choices, the nearest of many. */
#include "base/vec_internal.h"
#include "lab/harness/split.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

Test(split, ratios_by_text_are_those_of_the_texts_sums)
{
    const int32_t text[] = {4, 4, 4, 9, 9, 2};
    const double a[] = {1, 2, 3, 10, 20, 100}, b[] = {1, 1, 1, 2, 2, 5};
    const double sum_a[] = {6, 30, 100}, sum_b[] = {3, 4, 5};
    geodec_err err = {0};
    geodec_harness_text_sums sums = {0};
    geodec_estimate want, got;
    int64_t counted;
    test_ok(geodec_harness_text_sums_reserve(&sums, 6, &err), &err);
    test_ok(geodec_harness_text_sums_ratio(&sums, 50, 1, 2, &got, &counted, &err), &err);
    cr_assert(counted == 0 && got.value == 0 && got.low == 0 && got.high == 0, "no items give 0");
    test_ok(geodec_stats_ratio(3, sum_a, sum_b, 50, 1, 2, &want, &err), &err);
    for (int again = 0; again < 2; again++) { /* the ratio empties the sums */
        for (int i = 0; i < 6; i++) geodec_harness_text_sums_add(&sums, text[i], a[i], b[i]);
        test_ok(geodec_harness_text_sums_ratio(&sums, 50, 1, 2, &got, &counted, &err), &err);
        cr_assert_eq(counted, 6);
        cr_assert(memcmp(&got, &want, sizeof got) == 0);
    }
    geodec_harness_text_sums_clear(&sums);
}

Test(split, a_seeded_choice_keeps_the_order)
{
    int64_t list[100], all[100], count = 100;
    for (int i = 0; i < 100; i++) all[i] = list[i] = 3 * i;
    geodec_harness_thin(list, &count, 100, geodec_rng_stream(1, 1));
    geodec_harness_thin(list, &count, 0, geodec_rng_stream(1, 1));
    cr_assert(count == 100 && memcmp(list, all, sizeof list) == 0, "as many as there are, and 0, keep all");
    geodec_harness_thin(list, &count, 17, geodec_rng_stream(1, 1));
    cr_assert_eq(count, 17);
    for (int i = 0; i < 17; i++) cr_assert(list[i] % 3 == 0 && (i == 0 || list[i] > list[i - 1]));
}

Test(split, the_nearest_are_kept_with_ties_in_order)
{
    const double d[] = {5, 2, 7, 2, 1, 5, 9};
    const int64_t want[] = {4, 1, 3, 0};
    double near[4];
    int64_t index[4], count = 0;
    for (int64_t i = 0; i < 7; i++) {
        geodec__keep_nearest(4, &count, near, index, d[i], i);
        cr_assert_eq(count, i < 4 ? i + 1 : 4);
    }
    cr_assert_arr_eq(index, want, sizeof want);
    for (int i = 0; i < 4; i++) cr_assert_eq(near[i], d[want[i]]);
}
