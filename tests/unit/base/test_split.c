#include "base/split.h"

#include <criterion/criterion.h>

Test(split, by_document_where_there_are_enough)
{
    const int32_t document[] = {0, 0, 2, 3, 3, 7};
    int32_t unit[6];
    const geodec_split s = geodec_split_rows(6, document, false, unit);
    cr_assert(s.by_document);
    cr_assert_eq(s.units, 4);
    cr_assert_eq(s.gap, 0);
    cr_assert_arr_eq(unit, document, sizeof unit);
    cr_assert_str_eq(geodec_split_name(s.by_document), "document");
    cr_assert_not(geodec_split_rows(6, document, true, unit).by_document, "windows of one text adjoin");
}

/* Blocks of equal size, each except the first after a gap. */
Test(split, blocks_with_gaps)
{
    enum { ROWS = 1000 };
    int32_t unit[ROWS] = {0};
    const geodec_split s = geodec_split_rows(ROWS, unit, false, unit);
    cr_assert_not(s.by_document);
    cr_assert_eq(s.units, GEODEC_SPLIT_BLOCKS);
    cr_assert_eq(s.gap, 15);
    int64_t of[GEODEC_SPLIT_BLOCKS] = {0}, gaps = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        if (unit[i] == GEODEC_SPLIT_NONE) {
            gaps++;
            continue;
        }
        of[unit[i]]++;
        cr_assert(i == 0 || unit[i - 1] == unit[i] || unit[i - 1] == GEODEC_SPLIT_NONE, "no two blocks touch");
        cr_assert(i == 0 || unit[i - 1] == GEODEC_SPLIT_NONE || unit[i] >= unit[i - 1], "in order");
    }
    cr_assert_eq(gaps, 7 * 15);
    for (int b = 0; b < GEODEC_SPLIT_BLOCKS; b++) cr_assert_eq(of[b], b ? 110 : 125);
    const geodec_split large = geodec_split_rows(ROWS, (int32_t[ROWS]){0}, false, unit);
    cr_assert_leq(large.gap, GEODEC_SPLIT_GAP);
}

Test(split, few_rows)
{
    int32_t unit[5] = {0};
    cr_assert_eq(geodec_split_rows(0, unit, false, unit).units, 0);
    const geodec_split s = geodec_split_rows(5, unit, false, unit);
    cr_assert_eq(s.units, 5);
    cr_assert_eq(s.gap, 0);
    for (int32_t i = 0; i < 5; i++) cr_assert_eq(unit[i], i);
}
