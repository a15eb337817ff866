/* Lists of numbers: accepted and refused texts. */
#include "base/numbers.h"
#include "support/support.h"

#include <criterion/criterion.h>

Test(numbers, a_list_is_read_in_order_and_its_limits_are_kept)
{
    geodec_err err = {0};
    double x[3] = {0};
    int64_t n = -1;
    test_ok(geodec_numbers_parse("0.5,2,1e0", "--x", 0.5, 2, 3, x, &n, &err), &err);
    cr_assert_eq(n, 3);
    cr_assert(x[0] == 0.5 && x[1] == 2 && x[2] == 1);
    static const char *const refused[] = {"",    ",",       "1,",  "1,,2", "1;2", "1 2",
                                          "0.4", "1,2.001", "nan", "inf",  "one", "1,1,1,1"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        cr_assert_eq(geodec_numbers_parse(refused[i], "--x", 0.5, 2, 3, x, &n, &err), GEODEC_INVAL, "'%s'", refused[i]);
        geodec_err_clear(&err);
    }
}
