#include "artifact/size.h"

#include <criterion/criterion.h>

static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "N,n", 0, "1", "points", 0, .member = {0}},
    {"/log", GEODEC_F32, "N,P", GEODEC_FIELD_STREAM, "1", "grows", 0, .member = {0}},
    {"/pair", GEODEC_I32, "C,2", 0, "1", "a fixed axis", 0, .member = {0}},
    {"/more", GEODEC_U8, "N,N", GEODEC_FIELD_OPTIONAL, "1", "left out unless named", 0, .member = {0}},
};
static const geodec_kind kind = {
    .name = "sized", .major = 1, .tool = "test", .purpose = "a test", .fields = fields, .n_fields = 4};

Test(size, is_that_of_the_table)
{
    geodec_err err = {0};
    geodec_size s;
    const geodec_size_dim dims[] = {{"N", 1000}, {"n", 3}, {"P", 6}, {"C", 5}};
    cr_assert_eq(geodec_size_of(&kind, 4, dims, NULL, &s, &err), GEODEC_OK);
    cr_assert_eq(s.fields, 1000 * 3 * 8 + 1000 * 6 * 4 + 5 * 2 * 4);
    cr_assert_eq(s.buffers, s.fields, "small fields are held whole");
    cr_assert_eq(geodec_size_of(&kind, 4, dims, "/other /more", &s, &err), GEODEC_OK);
    cr_assert_eq(s.fields, 24000 + 24000 + 40 + 1000000);
}

Test(size, buffers_are_limited)
{
    geodec_err err = {0};
    geodec_size s;
    const geodec_size_dim dims[] = {{"N", 1000000}, {"n", 3}, {"P", 6}, {"C", 5}};
    cr_assert_eq(geodec_size_of(&kind, 4, dims, NULL, &s, &err), GEODEC_OK);
    cr_assert_eq(s.buffers, (4 << 20) + (256 << 10) + 40);
}

Test(size, needs_every_dimension)
{
    geodec_err err = {0};
    geodec_size s;
    const geodec_size_dim dims[] = {{"N", 1000}, {"n", 3}, {"P", 6}};
    cr_assert_eq(geodec_size_of(&kind, 3, dims, NULL, &s, &err), GEODEC_INVAL);
    const geodec_size_dim large[] = {{"N", INT64_C(1) << 50}, {"n", 3}, {"P", 6}, {"C", 1}};
    cr_assert_eq(geodec_size_of(&kind, 4, large, NULL, &s, &err), GEODEC_LIMIT);
}
