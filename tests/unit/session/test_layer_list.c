/* Lists of layers in words. */
#include "session/layer_list.h"
#include "support/support.h"

#include <criterion/criterion.h>

Test(layer_list, words_become_rising_layers_without_repeats)
{
    geodec_err err = {0};
    static int32_t list[GEODEC_LAYERS_MAX];
    int32_t n = 0;
    test_ok(geodec_layer_list_parse("last,3,0,sink,3", 12, list, &n, &err), &err);
    cr_assert_eq(n, 4);
    cr_assert(list[0] == 0 && list[1] == 3 && list[2] == 8 && list[3] == 12);
    test_ok(geodec_layer_list_parse("all", 5, list, &n, &err), &err);
    cr_assert_eq(n, 6, "the embedding and five blocks");
    for (int32_t i = 0; i < n; i++) cr_assert_eq(list[i], i);
    static const char *const refused[] = {"", ",", "13", "-1", "2x", "first", "1,all"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        cr_assert_eq(geodec_layer_list_parse(refused[i], 12, list, &n, &err), GEODEC_INVAL, "'%s'", refused[i]);
        geodec_err_clear(&err);
    }
}
