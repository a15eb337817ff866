/* Points of the published experiments: lists that are given, and choices from the seed. */
#include "base/mem.h"
#include "lab/published/blocks.h"
#include "lab/published/injectivity.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

static geodec_err err;

Test(published_points, blocks_take_a_list_or_points_that_are_free)
{
    static int64_t query[GEODEC_PUBLISHED_BLOCKS_LIST], anchor[GEODEC_PUBLISHED_BLOCKS_LIST];
    static double velocity[2 * GEODEC_PUBLISHED_BLOCKS_LIST];
    uint8_t taken[40] = {0}, before[40];
    int64_t found = 0, anchors = 0;
    test_ok(geodec_blocks_published_queries("7,0,39", 1, 40, query, &found, taken, &err), &err);
    cr_assert(found == 3 && query[0] == 7 && query[1] == 0 && query[2] == 39);
    cr_assert_eq(geodec_blocks_published_queries("40", 1, 40, query, &found, taken, &err), GEODEC_INVAL);
    geodec_err_clear(&err);
    cr_assert_eq(geodec_blocks_published_queries("1.5", 1, 40, query, &found, taken, &err), GEODEC_INVAL);
    geodec_err_clear(&err);
    test_ok(geodec_blocks_published_anchors(NULL, 1, 40, 2, anchor, velocity, &anchors, taken, &err), &err);
    cr_assert_eq(anchors, 16);
    memcpy(before, taken, sizeof taken);
    for (int64_t i = 0; i < anchors; i++) cr_assert(before[anchor[i]]);
    test_ok(geodec_blocks_published_queries(NULL, 1, 40, query, &found, taken, &err), &err);
    cr_assert_eq(found, 24, "the rest of the points");
    for (int64_t i = 0; i < found; i++) cr_assert(!before[query[i]], "no anchor is a query");
}

Test(published_points, injectivity_takes_a_list_or_places_evenly_spread)
{
    double *x = NULL;
    int64_t *index = NULL, n = 0;
    test_ok(geodec_injectivity_published_list(NULL, "--points", 22, 10, &x, &n, &err), &err);
    cr_assert_eq(n, 10);
    for (int64_t i = 0; i < n; i++) cr_assert_eq(x[i], (double)(i * 22 / 10));
    test_ok(geodec_injectivity_published_points(x, n, 22, "--points", &index, &err), &err);
    cr_assert_eq(index[9], 19);
    geodec_mem_free(index);
    index = NULL;
    geodec_mem_free(x);
    x = NULL;
    test_ok(geodec_injectivity_published_list("1,0.5", "--points", 22, 10, &x, &n, &err), &err);
    cr_assert_eq(n, 2);
    cr_assert_eq(geodec_injectivity_published_points(x, n, 22, "--points", &index, &err), GEODEC_INVAL);
    geodec_err_clear(&err);
    geodec_mem_free(x);
    x = NULL;
    cr_assert_eq(geodec_injectivity_published_list("1,x", "--points", 22, 10, &x, &n, &err), GEODEC_INVAL);
    geodec_err_clear(&err);
}
