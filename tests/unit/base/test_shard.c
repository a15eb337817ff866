#include "base/shard.h"
#include "support/support.h"

#include <criterion/criterion.h>

Test(shard, slices_cover_everything_once_in_order)
{
    for (int64_t n = 1; n < 40; n++)
        for (int64_t m = 1; m <= 48; m++) { /* also more slices than items */
            int64_t next = 0;
            for (int64_t i = 1; i <= m; i++) {
                int64_t first, end;
                geodec_err err = {0};
                test_ok(geodec_shard_range((geodec_shard){i, m}, n, &first, &end, &err), &err);
                cr_assert_eq(first, next);
                cr_assert(end - first == n / m || end - first == n / m + 1);
                cr_assert_eq(end, n * i / m);
                next = end;
            }
            cr_assert_eq(next, n);
        }
}

Test(shard, limits)
{
    int64_t first, end;
    geodec_shard s;
    cr_assert_eq(geodec_shard_range((geodec_shard){0, 0}, 0, &first, &end, NULL), GEODEC_OK);
    cr_assert(first == 0 && end == 0);
    cr_assert_eq(geodec_shard_range((geodec_shard){256, 256}, INT64_MAX, &first, &end, NULL), GEODEC_OK);
    cr_assert_eq(end, INT64_MAX);
    cr_assert_eq(geodec_shard_range((geodec_shard){1, 2}, 1, &first, &end, NULL), GEODEC_OK);
    cr_assert(first == 0 && end == 0);
    cr_assert_eq(geodec_shard_range((geodec_shard){256, 256}, 0, &first, &end, NULL), GEODEC_OK);
    cr_assert(first == 0 && end == 0);
    cr_assert_eq(geodec_shard_range((geodec_shard){3, 2}, 9, &first, &end, NULL), GEODEC_INVAL);
    cr_assert_eq(geodec_shard_parse(NULL, &s, NULL), GEODEC_OK);
    cr_assert(s.index == 0 && s.count == 0);
    cr_assert_eq(geodec_shard_parse("17/256", &s, NULL), GEODEC_OK);
    cr_assert(s.index == 17 && s.count == 256);
    cr_assert_eq(geodec_shard_parse("1/99999999999999999999", &s, NULL), GEODEC_INVAL);
    cr_assert_eq(geodec_shard_parse("-1/2", &s, NULL), GEODEC_INVAL);
}
