/* Structs with several arrays of rows, lists and an order of their own, saved and loaded by their tables. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static geodec_err err;

static void setup(void) { geodec_io_init(); }
TestSuite(binding_rows, .init = setup);

typedef struct estimate {
    double value, low;
} estimate;
typedef struct row {
    int32_t number;
    bool good;
    estimate each[3];
} row;
enum { PLAIN, SPHERE };
static const char *const shapes[] = {"plain", "sphere", NULL}, *const states[] = {"off", "on", NULL};
typedef struct cell {
    int64_t sum;
    estimate square[2][4]; /* [2][k] in files: there are gaps */
} cell;
typedef struct thing {
    int64_t n;
    int32_t k;
    double *x;      /* [n][k] */
    float *maybe;   /* [n + 1], NULL: none */
    uint16_t *half; /* [n] */
    int32_t fixed[2][3];
    row *rows; /* [r] */
    int64_t n_rows;
    cell *cells; /* [n][k] */
    int32_t count;
    float small;
    bool on;
    unsigned shape;
    char *name;
    const char *note;
    const double *slope; /* NULL: none */
    const row *control;  /* [r], NULL: none */
} thing;

#define AT(m) GEODEC_AT(thing, m)
#define IN(m) GEODEC_IN(thing, m)
#define APART(m) GEODEC_OF_ROW_APART(row, m, sizeof(estimate))
static const geodec_rows cells = {"N,K", sizeof(cell), offsetof(thing, cells), false};
static const geodec_rows controls = {"R", sizeof(row), offsetof(thing, control), false};
#define CELL(m) GEODEC_OF_ROWS(&cells, cell, m, sizeof(int64_t), 0)
#define SQUARE(m) GEODEC_OF_ROWS(&cells, cell, m, sizeof(estimate), sizeof(estimate[4]))
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
    {"/control", GEODEC_I32, "R", GEODEC_FIELD_OPTIONAL, "1", "rows that may be absent", 0,
     GEODEC_OF_ROWS(&controls, row, number, 0, 0)},
    {"/cells/sum", GEODEC_I64, "N,K", 0, "1", "counted by two axes", 0, CELL(sum)},
    {"/cells/low", GEODEC_F64, "N,K,2,K", 0, "1", "lines with gaps", 0, SQUARE(square[0][0].low)},
};
static const geodec_attr attrs[] = {
    {"count", GEODEC_ATTR_I64, 0, "a number", IN(count)},
    {"special", GEODEC_ATTR_I64, 0, "not bound: 7"},
    {"small", GEODEC_ATTR_F64, 0, "a float", IN(small)},
    {"on", GEODEC_ATTR_I64, 0, "a flag", IN(on)},
    {"shape", GEODEC_ATTR_STR, 0, "an enumeration", GEODEC_NAMED(thing, shape, shapes)},
    {"name", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "a text", IN(name)},
    {"note", GEODEC_ATTR_STR, 0, "a text that is not loaded", IN(note)},
    {"slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "may be absent", AT(slope)},
    {"shapes", GEODEC_ATTR_STR, 0, "names of a table", GEODEC_LIST(shapes)},
    {"constant", GEODEC_ATTR_STR, 0, "always the same", GEODEC_TEXT("one, two")},
    {"state", GEODEC_ATTR_STR, 0, "a flag as text", GEODEC_NAMED(thing, on, states)},
};
static const geodec_extent extents[] = {
    {"N", IN(n), 0, 0}, {"K", IN(k), 0, 0}, {"M", IN(n), 0, 1}, {"R", IN(n_rows), 0, 0}};

static geodec_status put_special(const void *object, geodec_artifact *a, const char *name, geodec_err *e)
{
    const thing *t = object;
    int64_t v[8];
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
static cell cell_data[6];
static char name_data[] = "some name";

static thing make_thing(void)
{
    for (int c = 0; c < 6; c++) {
        cell_data[c].sum = 100 + c;
        for (int i = 0; i < 8; i++) cell_data[c].square[i / 4][i % 4].low = 10 * c + i;
    }
    return (thing){.n = 3,
                   .k = 2,
                   .x = x_data,
                   .maybe = maybe_data,
                   .half = half_data,
                   .fixed = {{1, 2, 3}, {4, 5, 6}},
                   .rows = row_data,
                   .n_rows = 2,
                   .cells = cell_data,
                   .count = -12,
                   .small = .25f,
                   .on = true,
                   .shape = SPHERE,
                   .name = name_data,
                   .note = "a note"};
}

static void save(const thing *t, const char *path)
{
    const geodec_provenance p = {.tool = "test"};
    geodec_artifact *a = NULL;
    test_ok(geodec_artifact_create(&kind, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_save(a, t, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
}

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

Test(binding_rows, what_is_saved_is_loaded)
{
    const char *path = test_tmp("thing.h5");
    const thing t = make_thing();
    thing got;
    geodec_artifact *a = NULL;
    int64_t *special = NULL, seven;
    double *low = NULL;
    const char *text;
    save(&t, path);
    test_ok(load_as(&kind, path, &got), &err);
    cr_assert(got.n == 3 && got.k == 2 && got.n_rows == 2);
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
    for (int c = 0; c < 6; c++) {
        cr_assert_eq(got.cells[c].sum, 100 + c);
        for (int i = 0; i < 8; i++) cr_assert_eq(got.cells[c].square[i / 4][i % 4].low, i % 4 < 2 ? 10 * c + i : 0);
    }
    cr_assert(got.count == -12 && got.small == .25f && got.on && got.shape == SPHERE);
    cr_assert_str_eq(got.name, "some name");
    cr_assert_str_eq(got.note, "kept");
    test_ok(geodec_artifact_open(&kind, path, &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/special", &special, &err), &err);
    test_ok(geodec_artifact_get_i64(a, "special", &seven, &err), &err);
    cr_assert(special[0] == 10 && special[2] == 12 && seven == 7);
    test_ok(geodec_artifact_read(a, "/cells/low", &low, &err), &err);
    cr_assert(low[0] == 0 && low[1] == 1 && low[2] == 4 && low[3] == 5 && low[4] == 10 && low[23] == 55);
    test_ok(geodec_artifact_get_str(a, "shapes", &text, &err), &err);
    cr_assert_str_eq(text, "plain,sphere");
    test_ok(geodec_artifact_get_str(a, "constant", &text, &err), &err);
    cr_assert_str_eq(text, "one, two");
    test_ok(geodec_artifact_get_str(a, "state", &text, &err), &err);
    cr_assert_str_eq(text, "on");
    geodec_mem_free(special);
    geodec_mem_free(low);
    geodec_artifact_close(a);
    geodec_artifact_clear(&kind, &got);
    cr_assert(!got.x && !got.maybe && !got.rows && !got.cells && !got.name);
}

Test(binding_rows, absent_members_stay_absent)
{
    const char *path = test_tmp("thing.h5");
    thing t = make_thing(), got;
    geodec_artifact *a = NULL;
    double slope;
    t.maybe = NULL;
    t.name = NULL;
    save(&t, path);
    test_ok(load_as(&kind, path, &got), &err);
    cr_assert(!got.maybe && !got.name && !got.control && got.x && got.cells);
    geodec_artifact_clear(&kind, &got);
    test_ok(geodec_artifact_open(&kind, path, &a, &err), &err);
    cr_assert(!geodec_artifact_has_attr(a, "slope") && !geodec_artifact_has(a, "/control"));
    geodec_artifact_close(a);
    t.slope = &(double){2.5};
    t.control = row_data;
    save(&t, path);
    test_ok(geodec_artifact_open(&kind, path, &a, &err), &err);
    cr_assert(geodec_artifact_has(a, "/control"));
    test_ok(geodec_artifact_get_f64(a, "slope", &slope, &err), &err);
    cr_assert_eq(slope, 2.5);
    geodec_artifact_close(a);
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

Test(binding_rows, what_does_not_fit_is_refused)
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
}

Test(binding_rows, tables_that_disagree_with_the_struct_are_internal_errors)
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
