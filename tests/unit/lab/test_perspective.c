/* Parts of PERSPECTIVE: scans against their counts, hulls of few points. */
#include "lab/perspective/parts.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(perspective_parts, scans_have_the_states_of_the_steps)
{
    geodec_err err = {0};
    for (int64_t n = 2, log = 1; n <= 1024; n *= 2, log++) {
        geodec_parts_scan tree, doubling;
        test_ok(geodec_parts_scan_run(n, false, 3, &tree, &err), &err);
        test_ok(geodec_parts_scan_run(n, true, 3, &doubling, &err), &err);
        cr_assert_leq(tree.error, 1e-13);
        cr_assert_leq(doubling.error, 1e-13);
        cr_assert_eq(tree.work, 2 * n - 2 - log);
        cr_assert_eq(tree.depth, 2 * log - 1);
        cr_assert_eq(doubling.work, n * log - n + 1);
        cr_assert_eq(doubling.depth, log);
    }
    cr_assert_eq(geodec_parts_scan_run(12, true, 3, &(geodec_parts_scan){0}, &err), GEODEC_RANGE);
    geodec_err_clear(&err);
}

Test(perspective_parts, a_hull_has_at_most_the_dimension_of_the_space)
{
    geodec_err err = {0};
    int64_t dimension = 0;
    double outside = 0;
    test_ok(geodec_parts_hull(20, 50, 1, &dimension, &outside, &err), &err);
    cr_assert_eq(dimension, 19);
    cr_assert(outside > 0.5 && outside < 1);
    test_ok(geodec_parts_hull(80, 50, 1, &dimension, &outside, &err), &err);
    cr_assert_eq(dimension, 50);
    cr_assert_float_eq(outside, 0, 1e-6);
    cr_assert_eq(geodec_parts_hull(1, 50, 1, &dimension, &outside, &err), GEODEC_RANGE);
    geodec_err_clear(&err);
}

/* Every part has rows whose keys are its own; values without times do not depend on the number of threads. */
Test(perspective_parts, parts_have_rows)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    char seen[100][32];
    int n = 0;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (const geodec_parts_kind *k = geodec_parts_kinds(); k->name; k++) {
        geodec_parts a = {0}, b = {0};
        test_ok(geodec_parts_measure(k, &(geodec_parts_options){.seed = 1, .quick = true}, &a, &err), &err);
        test_ok(geodec_parts_measure(k, &(geodec_parts_options){.seed = 1, .quick = true, .pool = pool}, &b, &err),
                &err);
        cr_assert_gt(a.n, 0, "%s", k->name);
        cr_assert_eq(a.n, b.n);
        for (int64_t i = 0; i < a.n; i++) {
            cr_assert(isfinite(a.row[i].value) && isfinite(a.row[i].control), "%s", a.row[i].key);
            cr_assert(k->timed || a.row[i].value == b.row[i].value, "%s", a.row[i].key);
            for (int j = 0; j < n; j++) cr_assert_str_neq(seen[j], a.row[i].key);
            cr_assert_lt(n, 100);
            memcpy(seen[n++], a.row[i].key, sizeof seen[0]);
        }
        geodec_parts_free(&a);
        geodec_parts_free(&b);
    }
    geodec_pool_destroy(pool);
}
