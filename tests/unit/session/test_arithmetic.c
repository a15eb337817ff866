/* Which arithmetic suits a file: the rule, and the share of a float model. */
#include "session/arithmetic.h"

#include <criterion/criterion.h>

Test(arithmetic, fast_from_half_of_the_bytes_on)
{
    cr_assert_eq(geodec_arithmetic_of_share(0), GEODEC_EXACT);
    cr_assert_eq(geodec_arithmetic_of_share(0.499), GEODEC_EXACT);
    cr_assert_eq(geodec_arithmetic_of_share(0.5), GEODEC_FAST);
    cr_assert_eq(geodec_arithmetic_of_share(1), GEODEC_FAST);
    cr_assert_str_eq(geodec_arithmetic_name(GEODEC_FAST), "fast");
    cr_assert_str_eq(geodec_arithmetic_name(GEODEC_EXACT), "exact");
}
