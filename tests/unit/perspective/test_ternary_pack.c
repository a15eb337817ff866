/* Encodings: the published layout, every byte, row sizes, hostile bytes; the quantiser against closed forms. */
#include "base/mem.h"
#include "base/rng.h"
#include "support/support.h"
#include "ternary/ternary.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { BASE3 = GEODEC_TERNARY_BASE3, BITS2 = GEODEC_TERNARY_BITS2, MOST = 3000 };

Test(perspective_ternary_pack, rows_have_the_published_sizes)
{
    cr_assert_eq(geodec_ternary_row_bytes(BASE3, 4096), 832);
    cr_assert_eq(geodec_ternary_row_bytes(BITS2, 4096), 1024);
    cr_assert_eq(geodec_ternary_row_bytes(BASE3, 11008), 2240);
    cr_assert_eq(geodec_ternary_row_bytes(BITS2, 11008), 2752);
    cr_assert_eq(geodec_ternary_row_bytes(BASE3, 320), 64);
    cr_assert_eq(geodec_ternary_row_bytes(BASE3, 321), 128);
    cr_assert_eq(geodec_ternary_row_bytes(3, 321), 0);
    cr_assert_str_eq(geodec_ternary_name(BASE3), "base3");
    cr_assert_str_eq(geodec_ternary_name(BITS2), "bits2");
    cr_assert_str_eq(geodec_ternary_name(0), "?");
    cr_assert_eq(geodec_ternary_shape(BASE3, 1, 1, NULL), GEODEC_OK);
    cr_assert_eq(geodec_ternary_shape(0, 1, 1, NULL), GEODEC_INVAL);
    cr_assert_eq(geodec_ternary_shape(BASE3, 0, 1, NULL), GEODEC_LIMIT);
    cr_assert_eq(geodec_ternary_shape(BASE3, 1, GEODEC_TERNARY_COLUMNS + 1, NULL), GEODEC_LIMIT);
}

/* The bytes by the definition in exact arithmetic: column j + 64 k of a block is digit k of byte j. */
static uint8_t byte_of(int encoding, const int8_t *t, int64_t cols, int64_t block, int j)
{
    const int columns = encoding == BASE3 ? 320 : 256;
    int v = 0, power = encoding == BASE3 ? 81 : 1;
    for (int k = 0; k < columns / 64; k++) {
        const int64_t col = block * columns + 64 * k + j;
        v += power * (col < cols ? t[col] + 1 : 1);
        power = encoding == BASE3 ? power / 3 : 4 * power;
    }
    return (uint8_t)(encoding == BASE3 ? ceil(256.0 * v / 243) : v); /* 256 v / 243 is no integer but 0 */
}

static void random_row(int8_t *t, int64_t cols, uint64_t seed)
{
    for (int64_t i = 0; i < cols; i++) t[i] = (int8_t)((int)(geodec_rng_at(seed, 1, (uint64_t)i) % 3) - 1);
}

Test(perspective_ternary_pack, random_rows_have_the_defined_bytes_and_come_back)
{
    static int8_t t[MOST], back[MOST];
    static uint8_t row[1024];
    static const int64_t sizes[] = {1, 63, 64, 65, 255, 256, 257, 319, 320, 321, 640, 641, 2999};
    for (int e = BASE3; e <= BITS2; e++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const int64_t cols = sizes[s], bytes = geodec_ternary_row_bytes(e, cols);
            random_row(t, cols, s);
            geodec_ternary_pack(e, t, cols, row);
            for (int64_t i = 0; i < bytes; i++)
                cr_assert_eq(row[i], byte_of(e, t, cols, i / 64, (int)(i % 64)), "encoding %d, %lld columns, byte %lld",
                             e, (long long)cols, (long long)i);
            memset(back, 7, sizeof back);
            geodec_ternary_unpack(e, row, cols, back);
            cr_assert(memcmp(back, t, (size_t)cols) == 0);
            cr_assert_eq(back[cols], 7);
            int64_t nonzeros = -1, want = 0;
            for (int64_t i = 0; i < cols; i++) {
                cr_assert_eq(geodec_ternary_get(e, row, i), t[i] + 1);
                want += t[i] != 0;
            }
            const geodec_ternary_matrix m = {.encoding = e, .rows = 1, .cols = cols, .data = row};
            geodec_err err = {0};
            test_ok(geodec_ternary_check(&m, &nonzeros, &err), &err);
            cr_assert_eq(nonzeros, want);
        }
}

/* All 243 patterns of five digits and all 81 of four, at every place of a column. */
Test(perspective_ternary_pack, every_pattern_has_its_own_byte)
{
    for (int e = BASE3; e <= BITS2; e++) {
        const int planes = e == BASE3 ? 5 : 4, patterns = e == BASE3 ? 243 : 81;
        bool used[256] = {false};
        for (int p = 0; p < patterns; p++) {
            int8_t t[320], back[320];
            uint8_t row[64];
            int digits[5], rest = p;
            for (int k = planes - 1; k >= 0; k--, rest /= 3) digits[k] = rest % 3;
            for (int i = 0; i < 64 * planes; i++) t[i] = (int8_t)(digits[i / 64] - 1);
            geodec_ternary_pack(e, t, 64 * planes, row);
            cr_assert_not(used[row[0]], "pattern %d", p);
            used[row[0]] = true;
            geodec_ternary_unpack(e, row, 64 * planes, back);
            cr_assert(memcmp(t, back, (size_t)(64 * planes)) == 0, "pattern %d", p);
            if (e == BASE3) cr_assert(geodec_ternary_byte(p) == row[0] && geodec_ternary_digits(row[0]) == p);
        }
        for (int b = 0; b < 256; b++) { /* the others are refused */
            uint8_t row[64];
            int64_t n = 0;
            memset(row, b, sizeof row);
            const geodec_ternary_matrix m = {.encoding = e, .rows = 1, .cols = 64 * planes, .data = row};
            cr_assert_eq(geodec_ternary_check(&m, &n, NULL), used[b] ? GEODEC_OK : GEODEC_FORMAT, "byte %d", b);
        }
    }
}

Test(perspective_ternary_pack, one_code_is_replaced)
{
    static int8_t t[MOST];
    static uint8_t row[1024], want[1024];
    const int64_t cols = 700;
    for (int e = BASE3; e <= BITS2; e++) {
        random_row(t, cols, 3);
        geodec_ternary_pack(e, t, cols, row);
        for (int64_t i = 0; i < cols; i++) {
            const int code = (t[i] + 2) % 3;
            geodec_ternary_put(e, row, i, code);
            t[i] = (int8_t)(code - 1);
            geodec_ternary_pack(e, t, cols, want);
            cr_assert(memcmp(row, want, (size_t)geodec_ternary_row_bytes(e, cols)) == 0);
        }
    }
}

Test(perspective_ternary_pack, columns_beyond_the_last_are_zero_or_refused)
{
    int8_t t[300] = {0};
    uint8_t row[128];
    int64_t n = 0;
    geodec_err err = {0};
    char line[256];
    for (int e = BASE3; e <= BITS2; e++) {
        const geodec_ternary_matrix m = {.encoding = e, .rows = 1, .cols = 300, .data = row};
        geodec_ternary_pack(e, t, 300, row);
        test_ok(geodec_ternary_check(&m, &n, &err), &err);
        geodec_ternary_put(e, row, 300, 2);
        cr_assert_eq(geodec_ternary_check(&m, &n, &err), GEODEC_FORMAT);
        cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "row 0: column 300"), "%s", line);
        geodec_err_clear(&err);
    }
}
