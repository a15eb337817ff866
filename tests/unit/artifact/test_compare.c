/* Verification and comparison of artifacts. */
#include "artifact/compare.h"
#include "base/f16.h"
#include "base/mem.h"
#include "io/format.h"
#include "io/h5.h"
#include "sample.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static geodec_err err;
static void setup(void) { geodec_io_init(); }
TestSuite(compare, .init = setup);

#define NAN_OK GEODEC_FIELD_NONFINITE
static const geodec_field partial_fields[] = {
    {"/x", GEODEC_F64, "N", GEODEC_FIELD_OPTIONAL | NAN_OK, "1", "x", 0},
    {"/k", GEODEC_I64, "N", GEODEC_FIELD_OPTIONAL, "1", "k", 0},
    {"/s", GEODEC_F32, "", GEODEC_FIELD_OPTIONAL | NAN_OK, "1", "s", 0},
};
static const geodec_field strict_fields[] = {
    {"/x", GEODEC_F64, "N", GEODEC_FIELD_OPTIONAL, "1", "x", 0},
    {"/s", GEODEC_F32, "", GEODEC_FIELD_OPTIONAL, "1", "s", 0},
};
static const geodec_attr partial_attrs[] = {
    {"v", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL | NAN_OK, "v"},
    {"i", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "i"},
    {"t", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "t"},
};
static const geodec_attr strict_attrs[] = {{"v", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "v"}};
static const geodec_kind kind_c = {.name = "c",
                                   .tool = "t",
                                   .purpose = "p",
                                   .fields = partial_fields,
                                   .n_fields = 3,
                                   .attrs = partial_attrs,
                                   .n_attrs = 3};
static const geodec_kind strict = {.name = "c",
                                   .tool = "t",
                                   .purpose = "p",
                                   .fields = strict_fields,
                                   .n_fields = 2,
                                   .attrs = strict_attrs,
                                   .n_attrs = 1};

/* NULL members are left out. */
static geodec_artifact *make(const char *name, int64_t n, const double *x, const int64_t *k, const float *s)
{
    const geodec_provenance p = {.tool = "t"};
    geodec_artifact *a = NULL;
    const char *path = test_tmp(name);
    test_ok(geodec_artifact_create(&kind_c, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "N", n, &err), &err);
    if (x) test_ok(geodec_artifact_write(a, "/x", x, &err), &err);
    if (k) test_ok(geodec_artifact_write(a, "/k", k, &err), &err);
    if (s) test_ok(geodec_artifact_write(a, "/s", s, &err), &err);
    if (x) test_ok(geodec_artifact_put_f64(a, "v", x[0], &err), &err);
    if (k) test_ok(geodec_artifact_put_i64(a, "i", k[0], &err), &err);
    test_ok(geodec_artifact_put_str(a, "t", name, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&kind_c, path, &a, &err), &err);
    return a;
}

Test(compare, tolerances_and_places)
{
    const double x[4] = {1, -2, 0, 1e6}, y[4] = {1, -2.001, -0.0, 1e6 + 1};
    geodec_artifact *a = make("a", 4, x, NULL, NULL), *b = make("b", 4, y, NULL, NULL);
    geodec_diff d;
    test_ok(geodec_artifact_diff_field(a, b, "/x", 0, 0, NULL, &d, &err), &err);
    cr_assert(d.state == GEODEC_DIFF_VALUES && d.n == 4 && d.n_beyond == 2 && d.first == 1);
    cr_assert(d.a == -2 && d.b == -2.001 && d.max_abs == 1);
    cr_assert_float_eq(d.max_rel, 0.001 / 2.001, 1e-12);
    test_ok(geodec_artifact_diff_field(a, b, "/x", 1e-5, 0, NULL, &d, &err), &err);
    cr_assert(d.n_beyond == 1 && d.first == 1, "1e6 + 1 is within, -2.001 is not");
    test_ok(geodec_artifact_diff_field(a, b, "/x", 1e-5, 0.01, NULL, &d, &err), &err);
    cr_assert(d.state == GEODEC_DIFF_SAME && d.n_beyond == 0 && d.max_abs == 1);
    cr_assert_eq(geodec_artifact_diff_field(a, b, "/nonsense", 0, 0, NULL, &d, &err), GEODEC_INVAL);
    geodec_artifact_close(a);
    geodec_artifact_close(b);
}

Test(compare, special_values_shapes_and_presence)
{
    const double x[3] = {NAN, INFINITY, 1}, y[3] = {NAN, INFINITY, NAN}, z[3] = {NAN, -INFINITY, 1};
    const float s = NAN;
    geodec_artifact *a = make("a", 3, x, NULL, &s), *b = make("b", 3, y, NULL, NULL), *c = make("c", 3, z, NULL, &s);
    geodec_artifact *e = make("e", 2, x, NULL, NULL);
    geodec_diff d;
    test_ok(geodec_artifact_diff_field(a, a, "/x", 0, 0, NULL, &d, &err), &err);
    cr_assert(d.state == GEODEC_DIFF_SAME && d.n == 3);
    test_ok(geodec_artifact_diff_field(a, b, "/x", 1e9, 1e9, NULL, &d, &err), &err);
    cr_assert(d.n_beyond == 1 && d.first == 2 && isinf(d.max_abs));
    test_ok(geodec_artifact_diff_field(a, c, "/x", 1e9, 1e9, NULL, &d, &err), &err);
    cr_assert(d.n_beyond == 1 && d.first == 1);
    test_ok(geodec_artifact_diff_field(a, e, "/x", 0, 0, NULL, &d, &err), &err);
    cr_assert_eq(d.state, GEODEC_DIFF_SHAPE);
    test_ok(geodec_artifact_diff_field(a, b, "/s", 0, 0, NULL, &d, &err), &err);
    cr_assert_eq(d.state, GEODEC_DIFF_ONLY_A);
    test_ok(geodec_artifact_diff_field(b, a, "/s", 0, 0, NULL, &d, &err), &err);
    cr_assert_eq(d.state, GEODEC_DIFF_ONLY_B);
    test_ok(geodec_artifact_diff_field(a, c, "/s", 0, 0, NULL, &d, &err), &err);
    cr_assert(d.state == GEODEC_DIFF_SAME && d.n == 1, "a scalar NaN equals NaN");
    test_ok(geodec_artifact_diff_field(a, b, "/k", 0, 0, NULL, &d, &err), &err);
    cr_assert_eq(d.state, GEODEC_DIFF_ABSENT);
    test_ok(geodec_artifact_diff_attr(a, b, "v", 0, 0, &d, &err), &err);
    cr_assert_eq(d.state, GEODEC_DIFF_SAME, "NaN equals NaN");
    test_ok(geodec_artifact_diff_attr(a, b, "t", 0, 0, &d, &err), &err);
    cr_assert_eq(d.state, GEODEC_DIFF_VALUES);
    geodec_artifact_close(a);
    geodec_artifact_close(b);
    geodec_artifact_close(c);
    geodec_artifact_close(e);
}

Test(compare, integers_beyond_doubles)
{
    const int64_t j[2] = {INT64_C(9007199254740993), 5}, k[2] = {INT64_C(9007199254740992), 5};
    geodec_artifact *a = make("a", 2, NULL, j, NULL), *b = make("b", 2, NULL, k, NULL);
    geodec_diff d;
    test_ok(geodec_artifact_diff_field(a, b, "/k", 0, 0, NULL, &d, &err), &err);
    cr_assert(d.state == GEODEC_DIFF_VALUES && d.n_beyond == 1 && d.first == 0);
    test_ok(geodec_artifact_diff_field(a, b, "/k", 0, 1, NULL, &d, &err), &err);
    cr_assert_eq(d.state, GEODEC_DIFF_SAME);
    test_ok(geodec_artifact_diff_attr(a, b, "i", 0, 0, &d, &err), &err);
    cr_assert_eq(d.state, GEODEC_DIFF_VALUES);
    geodec_artifact_close(a);
    geodec_artifact_close(b);
}

Test(compare, slabs_cover_large_fields)
{
    enum { N = 1200000 }; /* over two slabs of 4 MiB */
    double *x = geodec_mem_new(N, sizeof *x), *y = geodec_mem_new(N, sizeof *y);
    y[N - 1] = 1;
    y[600000] = 2;
    geodec_artifact *a = make("a", N, x, NULL, NULL), *b = make("b", N, y, NULL, NULL);
    geodec_diff d;
    test_ok(geodec_artifact_diff_field(a, b, "/x", 0, 0, NULL, &d, &err), &err);
    cr_assert(d.n == N && d.n_beyond == 2 && d.first == 600000 && d.b == 2);
    geodec_artifact_close(a);
    geodec_artifact_close(b);
    geodec_mem_free(x);
    geodec_mem_free(y);
}

Test(compare, verify_finds_what_the_table_forbids)
{
    const double good[2] = {1, 2}, bad[2] = {1, NAN};
    const float s = INFINITY;
    char line[512];
    geodec_artifact *a = NULL;
    geodec_artifact_close(make("good", 2, good, NULL, NULL));
    geodec_artifact_close(make("x", 2, bad, NULL, NULL));
    geodec_artifact_close(make("s", 2, good, NULL, &s));
    geodec_artifact_close(make("v", 2, (const double[]){NAN, 0}, NULL, NULL));
    static const struct {
        const char *file, *word;
        geodec_status status;
    } cases[] = {{"good", "", GEODEC_OK},
                 {"x", "field /x: element 1", GEODEC_CHECK},
                 {"s", "field /s: element 0", GEODEC_CHECK},
                 {"v", "attribute v", GEODEC_CHECK}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        geodec_err_clear(&err);
        test_ok(geodec_artifact_open(&strict, test_tmp(cases[i].file), &a, &err), &err);
        cr_assert_eq(geodec_artifact_verify(a, NULL, &err), cases[i].status, "%s", cases[i].file);
        cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), cases[i].word), "%s", line);
        geodec_artifact_close(a);
        test_ok(geodec_artifact_open(&kind_c, test_tmp(cases[i].file), &a, &err), &err);
        test_ok(geodec_artifact_verify(a, NULL, &err), &err);
        geodec_artifact_close(a);
    }
}

static int stop_now(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return 1;
}

Test(compare, interrupted)
{
    const double x[2] = {1, 2};
    const geodec_hooks hooks = {.progress = stop_now};
    geodec_artifact *a = make("a", 2, x, NULL, NULL);
    geodec_diff d;
    cr_assert_eq(geodec_artifact_verify(a, &hooks, &err), GEODEC_INTERRUPTED);
    cr_assert_eq(geodec_artifact_diff_field(a, a, "/x", 0, 0, &hooks, &d, &err), GEODEC_INTERRUPTED);
    geodec_artifact_close(a);
}

Test(compare, elements_as_text)
{
    char text[GEODEC_FORMAT_ROOM];
    cr_assert_str_eq(geodec_format_element(GEODEC_I64, &(int64_t){INT64_MIN}, 0, text), "-9223372036854775808");
    cr_assert_str_eq(geodec_format_element(GEODEC_U64, &(uint64_t){UINT64_MAX}, 0, text), "18446744073709551615");
    cr_assert_str_eq(geodec_format_element(GEODEC_I8, (const int8_t[]){1, -128}, 1, text), "-128");
    cr_assert_str_eq(geodec_format_element(GEODEC_U32, &(uint32_t){UINT32_MAX}, 0, text), "4294967295");
    cr_assert_str_eq(geodec_format_element(GEODEC_F32, &(float){0.1f}, 0, text), "0.1");
    cr_assert_str_eq(geodec_format_element(GEODEC_F64, &(double){0.1}, 0, text), "0.1");
    const uint16_t h = geodec_f32_to_f16(1.5f);
    cr_assert_str_eq(geodec_format_element(GEODEC_F16, &h, 0, text), "1.5");
    cr_assert_eq(geodec_format_element_f64(GEODEC_U16, &h, 0), (double)h);
}
