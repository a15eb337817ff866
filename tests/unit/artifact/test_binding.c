/* Structs that are saved and loaded by their kind's tables. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static geodec_err err;

static void setup(void) { geodec_io_init(); }
TestSuite(binding, .init = setup);

typedef struct estimate {
    double value, low;
} estimate;
typedef struct row {
    int32_t number;
    bool good;
    estimate each[3];
} row;
enum { PLAIN, SPHERE };
static const char *const shapes[] = {"plain", "sphere", NULL};
typedef struct pair {
    int64_t whole;
    double real;
} pair;
typedef struct thing {
    int64_t n;
    int32_t k;
    double *x;      /* [n][k] */
    float *maybe;   /* [n + 1], NULL: none */
    uint16_t *half; /* [n] */
    int32_t fixed[2][3];
    row *rows; /* [r] */
    int64_t n_rows;
    int32_t count;
    float small;
    bool on;
    unsigned shape;
    char *name;
    const char *note;
    pair *pairs;            /* [n], a second array of rows */
    bool rough;             /* kept as text */
    const double *real;     /* NULL: none */
    const int64_t *number;  /* likewise */
    const double *borrowed; /* [n] */
    estimate three[3];
    double bend;
    int64_t early;
} thing;
static const char *const surfaces[] = {"smooth", "rough", NULL};

#define AT(m) GEODEC_AT(thing, m)
#define IN(m) GEODEC_IN(thing, m)
#define APART(m) GEODEC_OF_ROW_APART(row, m, sizeof(estimate))
static const geodec_rows pairs = {"N", sizeof(pair), offsetof(thing, pairs), false};
static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "N,K", 0, "1", "a matrix", 0, AT(x)},
    {"/maybe", GEODEC_F32, "M", GEODEC_FIELD_OPTIONAL, "1", "may be absent", 0, AT(maybe)},
    {"/half", GEODEC_F16, "N", 0, "1", "halves", 0, AT(half)},
    {"/fixed", GEODEC_I32, "2,3", 0, "1", "in the struct", 0, GEODEC_ARRAY(thing, fixed, [0][0])},
    {"/special", GEODEC_I64, "N", 0, "1", "not bound: 10, 11, ..", 0},
    {"/rows/number", GEODEC_I32, "R", 0, "1", "a column", 0, GEODEC_OF_ROW(row, number)},
    {"/rows/good", GEODEC_U8, "R", 0, "1", "flags", 0, GEODEC_OF_ROW(row, good)},
    {"/rows/value", GEODEC_F64, "R,3", GEODEC_FIELD_ZERO, "1", "several to a row", 0, APART(each[0].value)},
    {"/rows/low", GEODEC_F64, "R,3", 0, "1", "likewise", 0, APART(each[0].low)},
    {"/pairs/whole", GEODEC_I64, "N", 0, "1", "of the second rows", 0, GEODEC_OF_ROWS(&pairs, pair, whole, 0, 0)},
    {"/pairs/real", GEODEC_F64, "N", 0, "1", "likewise", 0, GEODEC_OF_ROWS(&pairs, pair, real, 0, 0)},
    {"/borrowed", GEODEC_F64, "N", GEODEC_FIELD_OPTIONAL, "1", "somebody else's, with `on`", 0,
     GEODEC_BORROWED(thing, borrowed), GEODEC_WHEN(thing, on)},
    {"/three", GEODEC_F64, "3", 0, "1", "one of each element", 0,
     GEODEC_ARRAY_APART(thing, three, [0].low, sizeof(estimate))},
};
static const geodec_attr attrs[] = {
    {"count", GEODEC_ATTR_I64, 0, "a number", IN(count)},
    {"special", GEODEC_ATTR_I64, 0, "not bound: 7"},
    {"small", GEODEC_ATTR_F64, 0, "a float", IN(small)},
    {"on", GEODEC_ATTR_I64, 0, "a flag", IN(on)},
    {"shape", GEODEC_ATTR_STR, 0, "an enumeration", GEODEC_NAMED(thing, shape, shapes)},
    {"name", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "a text", IN(name)},
    {"note", GEODEC_ATTR_STR, 0, "a text that is not loaded", IN(note)},
    {"surface", GEODEC_ATTR_STR, 0, "a flag with names", GEODEC_NAMED(thing, rough, surfaces)},
    {"real", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "a number that may be absent", AT(real)},
    {"number", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "likewise", AT(number)},
    {"bend", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "absent when 0", IN(bend), GEODEC_WHEN(thing, bend)},
    {"early", GEODEC_ATTR_I64, 0, "another number", IN(early)},
};
static const geodec_extent extents[] = {
    {"N", IN(n), 0, 0}, {"K", IN(k), 0, 0}, {"M", IN(n), 0, 1}, {"R", IN(n_rows), 0, 0}};

static char first_put[16];

static geodec_status put_special(const void *object, geodec_artifact *a, const char *name, geodec_err *e)
{
    const thing *t = object;
    if (!first_put[0]) (void)snprintf(first_put, sizeof first_put, "%s", name);
    int64_t v[8];
    if (name[0] == '/') /* fields come before attributes */
        cr_assert(!geodec_artifact_has_attr(a, "early") && !geodec_artifact_has_attr(a, "count"));
    for (int64_t i = 0; i < t->n; i++) v[i] = 10 + i;
    return name[0] == '/' ? geodec_artifact_write(a, name, v, e) : geodec_artifact_put_i64(a, name, 7, e);
}

#define COUNT(a) (int)(sizeof(a) / sizeof *(a))
static const geodec_kind kind = {.name = "thing",
                                 .major = 1,
                                 .tool = "test",
                                 .purpose = "bindings",
                                 .fields = fields,
                                 .n_fields = COUNT(fields),
                                 .attrs = attrs,
                                 .n_attrs = COUNT(attrs),
                                 .extents = extents,
                                 .n_extents = COUNT(extents),
                                 .rows = {"R", sizeof(row), offsetof(thing, rows), false},
                                 .put = put_special};

static double x_data[] = {1, 2, 3, 4, 5, 6};
static float maybe_data[] = {.5f, 1.5f, 2.5f, 3.5f};
static uint16_t half_data[] = {0x3c00, 0x4000, 0};
static row row_data[] = {{3, true, {{1, 2}, {NAN, 4}, {5, 6}}}, {-4, false, {{7, 8}, {9, 10}, {INFINITY, 12}}}};
static const double borrowed_data[] = {7, 8, 9};
static char name_data[] = "some name";
static pair pair_data[] = {{1, .5}, {-2, 1.5}, {3, 2.5}};
static const double real_data = 6.25;
static const int64_t number_data = -77;

static thing make_thing(void)
{
    return (thing){.n = 3,
                   .k = 2,
                   .x = x_data,
                   .maybe = maybe_data,
                   .half = half_data,
                   .fixed = {{1, 2, 3}, {4, 5, 6}},
                   .rows = row_data,
                   .n_rows = 2,
                   .count = -12,
                   .small = .25f,
                   .on = true,
                   .shape = SPHERE,
                   .name = name_data,
                   .note = "a note",
                   .pairs = pair_data,
                   .rough = true,
                   .real = &real_data,
                   .number = &number_data,
                   .borrowed = borrowed_data,
                   .three = {{0, 1}, {0, 2}, {0, 3}},
                   .bend = .5,
                   .early = 6};
}

static void save_by(const geodec_kind *by, const thing *t, const char *path)
{
    const geodec_provenance p = {.tool = "test"};
    test_ok(geodec_artifact_save_as(by, path, &p, t, &err), &err);
}

static void save(const thing *t, const char *path) { save_by(&kind, t, path); }

static geodec_status load_as(const geodec_kind *as, const char *path, thing *t)
{
    geodec_artifact *a = NULL;
    *t = (thing){.note = "kept"};
    memset(&err, 0, sizeof err);
    test_ok(geodec_artifact_open(as, path, &a, &err), &err);
    const geodec_status st = geodec_artifact_load(a, t, &err);
    geodec_artifact_close(a);
    return st;
}

Test(binding, what_is_saved_is_loaded)
{
    const char *path = test_tmp("thing.h5");
    const thing t = make_thing();
    thing got;
    geodec_artifact *a = NULL;
    int64_t *special = NULL, seven;
    double *borrowed = NULL;
    save(&t, path);
    test_ok(load_as(&kind, path, &got), &err);
    cr_assert(got.n == 3 && got.k == 2 && got.n_rows == 2);
    cr_assert_eq(geodec_artifact_bytes(&kind, &got), sizeof x_data + sizeof maybe_data + sizeof half_data);
    cr_assert_arr_eq(got.x, x_data, sizeof x_data);
    cr_assert_arr_eq(got.maybe, maybe_data, sizeof maybe_data);
    cr_assert_arr_eq(got.half, half_data, sizeof half_data);
    cr_assert_arr_eq(got.fixed, t.fixed, sizeof t.fixed);
    for (int i = 0; i < 2; i++) {
        cr_assert(got.rows[i].number == row_data[i].number && got.rows[i].good == row_data[i].good);
        for (int k = 0; k < 3; k++) {
            const double want = row_data[i].each[k].value;
            cr_assert_eq(got.rows[i].each[k].value, isfinite(want) ? want : 0);
            cr_assert_eq(got.rows[i].each[k].low, row_data[i].each[k].low);
        }
    }
    cr_assert(got.count == -12 && got.small == .25f && got.on && got.shape == SPHERE);
    cr_assert_str_eq(got.name, "some name");
    cr_assert_str_eq(got.note, "kept");
    cr_assert_arr_eq(got.pairs, pair_data, sizeof pair_data);
    cr_assert(got.rough && !got.real && !got.number);
    cr_assert(!got.borrowed && got.bend == .5 && got.early == 6);
    for (int i = 0; i < 3; i++) cr_assert(got.three[i].low == i + 1 && got.three[i].value == 0);
    test_ok(geodec_artifact_open(&kind, path, &a, &err), &err);
    double real;
    int64_t number;
    test_ok(geodec_artifact_get_f64(a, "real", &real, &err), &err);
    test_ok(geodec_artifact_get_i64(a, "number", &number, &err), &err);
    cr_assert(real == real_data && number == number_data);
    test_ok(geodec_artifact_read(a, "/special", &special, &err), &err);
    test_ok(geodec_artifact_get_i64(a, "special", &seven, &err), &err);
    test_ok(geodec_artifact_read(a, "/borrowed", &borrowed, &err), &err);
    cr_assert_arr_eq(borrowed, borrowed_data, sizeof borrowed_data);
    geodec_mem_free(borrowed);
    cr_assert(special[0] == 10 && special[2] == 12 && seven == 7);
    geodec_mem_free(special);
    geodec_artifact_close(a);
    geodec_artifact_clear(&kind, &got);
    cr_assert(!got.x && !got.maybe && !got.rows && !got.name && !got.pairs);
}

Test(binding, attributes_are_saved_behind_the_fields)
{
    const thing t = make_thing();
    save(&t, test_tmp("thing.h5"));
    cr_assert_str_eq(first_put, "/special");
}

Test(binding, what_cannot_be_saved_leaves_nothing_behind)
{
    const char *path = test_tmp("thing.h5");
    const geodec_provenance p = {.tool = "test"};
    thing t = make_thing();
    t.x = NULL;
    cr_assert_eq(geodec_artifact_save_as(&kind, path, &p, &t, &err), GEODEC_INTERNAL);
    cr_assert(access(path, F_OK) != 0);
}

Test(binding, absent_members_stay_absent)
{
    const char *path = test_tmp("thing.h5");
    thing t = make_thing(), got;
    t.maybe = NULL;
    t.name = NULL;
    t.real = NULL;
    t.number = NULL;
    t.bend = 0;
    t.on = false;
    save(&t, path);
    test_ok(load_as(&kind, path, &got), &err);
    geodec_artifact *a = NULL;
    test_ok(geodec_artifact_open(&kind, path, &a, &err), &err);
    cr_assert(!geodec_artifact_has(a, "/borrowed") && !geodec_artifact_has_attr(a, "bend"));
    cr_assert(!got.maybe && !got.name && got.x);
    cr_assert(!geodec_artifact_has_attr(a, "real") && !geodec_artifact_has_attr(a, "number"));
    geodec_artifact_close(a);
    geodec_artifact_clear(&kind, &got);
}

/* A file that is read with a table that does not match it is refused, and the message says why. */
static void refused(const geodec_kind *as, const char *path, const char *why)
{
    thing got;
    char line[512];
    cr_assert_eq(load_as(as, path, &got), GEODEC_FORMAT, "%s", why);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), why), "'%s' lacks '%s'", line, why);
    cr_assert(!got.x && !got.rows && !got.maybe && !got.name, "nothing is kept");
}

Test(binding, what_does_not_fit_is_refused)
{
    const char *path = test_tmp("thing.h5");
    const thing t = make_thing();
    save(&t, path);
    geodec_kind other = kind;
    geodec_extent axes[COUNT(extents)];
    geodec_attr marks[COUNT(attrs)];
    memcpy(axes, extents, sizeof axes);
    memcpy(marks, attrs, sizeof marks);
    axes[2].plus = 2;
    other.extents = axes;
    refused(&other, path, "M = 4");
    other = kind;
    static const char *const one[] = {"plain", NULL};
    marks[4].member.names = one;
    other.attrs = marks;
    refused(&other, path, "shape 'sphere' is unknown");
    memcpy(marks, attrs, sizeof marks);
    marks[0].member.type = GEODEC_MEMBER_U16;
    refused(&other, path, "count = -12 is out of range");
    geodec_field narrow[COUNT(fields)];
    memcpy(narrow, fields, sizeof narrow);
    narrow[3].member.bytes = 8;
    other = kind;
    other.fields = narrow;
    refused(&other, path, "/fixed has 6 numbers");
    memcpy(narrow, fields, sizeof narrow);
    narrow[12].member.bytes = 2 * sizeof(estimate);
    refused(&other, path, "/three has 3 numbers, more than 2");
    memcpy(narrow, fields, sizeof narrow);
    narrow[8].member.at = sizeof(row) - 2 * sizeof(estimate); /* the third number would end behind the row */
    refused(&other, path, "/rows/low has 3 numbers a row");
}

/* A file states its number of rows; it must not change that of rows inside the struct. */
Test(binding, rows_in_the_struct_need_a_fixed_axis)
{
    const char *path = test_tmp("thing.h5");
    const thing t = make_thing();
    thing got;
    geodec_kind other = kind;
    geodec_extent axes[COUNT(extents)];
    save(&t, path);
    other.rows.inside = true;
    cr_assert_eq(load_as(&other, path, &got), GEODEC_INTERNAL);
    memcpy(axes, extents, sizeof axes);
    axes[3] = (geodec_extent){"R", .plus = 1}; /* the file has two */
    other.extents = axes;
    refused(&other, path, "R = 2");
}

Test(binding, tables_that_disagree_with_the_struct_are_internal_errors)
{
    const char *path = test_tmp("thing.h5");
    const thing t = make_thing();
    const geodec_provenance p = {.tool = "test"};
    geodec_artifact *a = NULL;
    geodec_kind other = kind;
    geodec_field wrong[COUNT(fields)];
    memcpy(wrong, fields, sizeof wrong);
    other.fields = wrong;
    wrong[0].member.type = GEODEC_MEMBER_F32;
    test_ok(geodec_artifact_create(&other, path, &p, &a, &err), &err);
    cr_assert_eq(geodec_artifact_save(a, &t, &err), GEODEC_INTERNAL);
    geodec_artifact_close(a);
    memcpy(wrong, fields, sizeof wrong);
    other.rows.dim = NULL;
    test_ok(geodec_artifact_create(&other, path, &p, &a, &err), &err);
    cr_assert_eq(geodec_artifact_save(a, &t, &err), GEODEC_INTERNAL);
    geodec_artifact_close(a);
}

Test(binding, arrays_are_reserved_and_cut_by_the_axes)
{
    enum { N = 5, K = 3 };
    double own[N * K] = {0};
    thing t = {.n = N, .k = K, .x = own, .borrowed = own};
    test_ok(geodec_artifact_reserve(&kind, &t, &err), &err);
    cr_assert(t.x == own && t.borrowed == own && !t.maybe && t.half);
    for (int i = 0; i < N; i++) {
        cr_assert_eq(t.half[i], 0);
        t.half[i] = (uint16_t)i;
        for (int k = 0; k < K; k++) own[i * K + k] = 10 * i + k;
    }
    geodec_artifact_keep(&kind, &t, "N", 1, 3);
    cr_assert_eq(t.n, 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(t.half[i], i + 1);
        for (int k = 0; k < K; k++) cr_assert_eq(t.x[i * K + k], 10 * (i + 1) + k);
    }
    t.x = NULL;
    geodec_artifact_clear(&kind, &t);
}
