/* Matrices from .npy files and text tables: valid files are read, damaged ones are refused. */
#include "base/mem.h"
#include "io/foreign.h"
#include "io/matrix.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *write_bytes(const char *name, const void *data, size_t n)
{
    const char *path = test_tmp(name);
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(data, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
    return path;
}

/* A .npy file of the given format version, header dictionary and data. */
static const char *npy(int version, const char *dictionary, const void *data, size_t bytes)
{
    unsigned char file[1024] = "\x93NUMPY";
    const size_t wide = version == 1 ? 2 : 4, length = strlen(dictionary) + 1, begin = 8 + wide;
    file[6] = (unsigned char)version;
    for (size_t i = 0; i < wide; i++) file[8 + i] = (unsigned char)(length >> (8 * i));
    memcpy(file + begin, dictionary, length - 1);
    file[begin + length - 1] = '\n';
    memcpy(file + begin + length, data, bytes);
    return write_bytes("a.npy", file, begin + length + bytes);
}

static void expect(geodec_status (*read)(const char *, int64_t *, int64_t *, double **, geodec_err *), const char *path,
                   int64_t want_rows, int64_t want_cols, const double *want)
{
    geodec_err err = {0};
    int64_t rows = 0, cols = 0;
    double *x = NULL;
    test_ok(read(path, &rows, &cols, &x, &err), &err);
    cr_assert(rows == want_rows && cols == want_cols, "%d x %d", (int)rows, (int)cols);
    for (int64_t i = 0; i < rows * cols; i++) cr_assert_eq(x[i], want[i], "element %d: %g", (int)i, x[i]);
    geodec_mem_free(x);
}

static void refuse(geodec_status (*read)(const char *, int64_t *, int64_t *, double **, geodec_err *), const char *path,
                   geodec_status want)
{
    geodec_err err = {0};
    char line[512];
    int64_t rows, cols;
    double *x = NULL;
    cr_assert_eq(read(path, &rows, &cols, &x, &err), want, "%s", geodec_err_line(&err, line, sizeof line));
    cr_assert_null(x);
}

static geodec_status read_npy(const char *path, int64_t *rows, int64_t *cols, double **out, geodec_err *err)
{
    geodec_matrix m;
    GEODEC_PASS(geodec_matrix_read(path, "npy", &(geodec_matrix_options){0}, &m, err));
    *rows = m.rows;
    *cols = m.cols;
    *out = m.x;
    return GEODEC_OK;
}

Test(foreign, npy_of_every_type_and_order)
{
    const double want[6] = {1, 2, 3, 4, 5, -6};
    const double f8[6] = {1, 2, 3, 4, 5, -6}, fortran[6] = {1, 4, 2, 5, 3, -6};
    const float f4[6] = {1, 2, 3, 4, 5, -6};
    const uint16_t f2[6] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0xc600};
    const int8_t i1[6] = {1, 2, 3, 4, 5, -6};
    const int64_t i8[6] = {1, 2, 3, 4, 5, -6};
    const unsigned char big[12] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0xff, 0xfa};
    const uint32_t u4[2] = {7, 4000000000U};
    expect(read_npy, npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", f8, sizeof f8), 2, 3, want);
    expect(read_npy, npy(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", fortran, sizeof f8), 2, 3,
           want);
    expect(read_npy, npy(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", f4, sizeof f4), 3, 2, want);
    expect(read_npy, npy(3, "{'descr': '<f2', 'fortran_order': False, 'shape': (6,), }", f2, sizeof f2), 6, 1, want);
    expect(read_npy, npy(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 6), }", i1, sizeof i1), 1, 6, want);
    expect(read_npy, npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (6, 1)}", i8, sizeof i8), 6, 1, want);
    expect(read_npy, npy(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }", big, sizeof big), 2, 3,
           want);
    expect(read_npy, npy(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }", u4, sizeof u4), 2, 1,
           (double[]){7, 4e9});
}

Test(foreign, damaged_npy_is_refused)
{
    static const struct {
        const char *dictionary;
        size_t bytes;
        geodec_status want;
    } list[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 40, GEODEC_FORMAT}, /* cut */
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 56, GEODEC_FORMAT}, /* too much */
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", 48, GEODEC_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 1), }", 48, GEODEC_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3), }", 48, GEODEC_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 2, 3), }", 48, GEODEC_FORMAT},
        {"{'descr': '<f8', 'fortran_order': True, 'shape': (1, 2, 3), }", 48, GEODEC_UNSUPPORTED},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 8, GEODEC_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", 0, GEODEC_FORMAT},
        {"{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2, 3), }", 48, GEODEC_FORMAT},
        {"{'descr': '<f8', 'shape': (2, 3), }", 48, GEODEC_FORMAT},
        {"{'fortran_order': False, 'shape': (2, 3), }", 48, GEODEC_FORMAT},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", 48, GEODEC_UNSUPPORTED},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", 48, GEODEC_UNSUPPORTED},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (2, 3), }", 48, GEODEC_UNSUPPORTED},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }", 48, GEODEC_UNSUPPORTED},
        {"{'descr': '", 0, GEODEC_UNSUPPORTED},
        {"", 0, GEODEC_FORMAT},
    };
    const double x[7] = {1, 2, 3, 4, 5, 6, 7};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        refuse(read_npy, npy(1, list[i].dictionary, x, list[i].bytes), list[i].want);
    const double bad[2] = {1, (double)NAN};
    refuse(read_npy, npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", bad, sizeof bad),
           GEODEC_FORMAT);
    refuse(read_npy, npy(9, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", bad, sizeof bad),
           GEODEC_VERSION);
    refuse(read_npy, write_bytes("short.npy", "\x93NUMPY\x01", 7), GEODEC_FORMAT);
    refuse(read_npy, write_bytes("long.npy", "\x93NUMPY\x01\0\xff\xff{'descr'", 18), GEODEC_FORMAT);
    refuse(read_npy, test_tmp("none.npy"), GEODEC_NOTFOUND);
}

Test(foreign, npy_of_integers_beyond_2_53_keeps_their_differences)
{
    const int64_t i8[4] = {INT64_C(1700000000000000001), -7, INT64_C(1700000000000000004), -9};
    const uint64_t u8[2] = {UINT64_C(18446744073709551615), UINT64_C(18446744073709551614)};
    expect(read_npy, npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }", i8, sizeof i8), 2, 2,
           (double[]){0, 0, 3, -2});
    expect(read_npy,
           npy(1, "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 2), }",
               (const int64_t[]){i8[0], i8[2], i8[1], i8[3]}, sizeof i8),
           2, 2, (double[]){0, 0, 3, -2});
    expect(read_npy, npy(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }", u8, sizeof u8), 2, 1,
           (double[]){0, -1});
}

static const char *text(const char *s) { return write_bytes("a.tsv", s, strlen(s)); }

Test(foreign, tables_of_text)
{
    const double want[4] = {1, 2.5, -3, 4e2};
    expect(geodec_foreign_text, text("1\t2.5\n-3\t4e2\n"), 2, 2, want);
    expect(geodec_foreign_text, text("x,y\r\n1, 2.5\r\n-3, 4e2"), 2, 2, want);
    expect(geodec_foreign_text, text("# a note\n\n1 2.5\n  -3   4e2  \n"), 2, 2, want);
    expect(geodec_foreign_text, text("a;b\n1;2.5\n-3;4e2\n"), 2, 2, want);
    expect(geodec_foreign_text, text("1\n2.5\n-3\n4e2\n"), 4, 1, want);
}

static geodec_matrix table(const char *s, geodec_matrix_header header, bool drop)
{
    geodec_err err = {0};
    geodec_matrix m;
    test_ok(
        geodec_matrix_read(text(s), "text", &(geodec_matrix_options){.header = header, .drop_missing = drop}, &m, &err),
        &err);
    return m;
}

static void shape(const char *s, int64_t rows, int64_t cols, double last, const char *note)
{
    geodec_matrix m = table(s, GEODEC_HEADER_AUTO, false);
    cr_assert(m.rows == rows && m.cols == cols && m.x[rows * cols - 1] == last, "%s: %lld x %lld, %g", s,
              (long long)m.rows, (long long)m.cols, m.x[m.rows * m.cols - 1]);
    cr_assert(strstr(m.note, note) && (note[0] || !m.note[0]), "%s: '%s'", s, m.note);
    geodec_matrix_clear(&m);
}

Test(foreign, tables_as_other_programs_write_them)
{
    shape("\xef\xbb\xbf"
          "1,2\n3,4\n",
          2, 2, 4, "");               /* byte order mark */
    shape("1,2\r3,4\r", 2, 2, 4, ""); /* lines end with CR */
    shape("1,5\t2\n3\t4,25\n", 2, 2, 4.25, "decimal commas");
    shape("1.5D+01 2d0\n3 4D-2\n", 2, 2, 0.04, "");                     /* Fortran */
    shape("\"a\",\"b\"\n\"1\",\"2\"\n", 1, 2, 2, "is a header");        /* quotes */
    shape("1,2,\n3,4,\n", 2, 2, 4, "");                                 /* a separator at the end */
    shape("0,1,2\n.5,1,2\n.25,3,4\n", 2, 3, 4, "taken for a header");   /* names of columns of a data frame */
    shape(",0,1,2\n0,.5,1,2\n1,3,4,5\n", 2, 3, 5, "names of the rows"); /* and its index */
    shape("x y\n1 .5 .25\n2 1 2\n", 2, 2, 2, "names of the rows");      /* row names of R */
    shape(",x,y\n7,.5,1\n3,.25,2\n", 2, 2, 2, "names of the rows");     /* an index that does not count */
    shape(",x,y\nb,.5,1\na,.25,2\n", 2, 2, 2, "names of the rows");     /* nor is a number */
    shape("0,1\n.5,.25\n.75,.125\n", 2, 2, .125, "taken for a header"); /* two columns, one column */
    shape("0\n.5\n.25\n", 2, 1, .25, "taken for a header");
    shape("0.0\n.5\n.25\n", 3, 1, .25, "");
    shape("0,.5,1\n1,.25,2\n2,.75,3\n", 3, 3, 3, "is taken for data"); /* a counting column without a header */
    shape("title\n1,2.5\n3,4.5\n", 2, 2, 4.5, "is a header");
    shape("x,y\n1,2,\n3,4,\n", 2, 2, 4, "is a header");
    shape("1;2,5\n3;4,75\n", 2, 2, 4.75, "decimal commas");
    shape("  # a note\n1 2\n", 1, 2, 2, "");
    shape("9007199254740994,1\n", 1, 2, 1, "");
    refuse(geodec_foreign_text, text("9007199254740993,1\n"), GEODEC_FORMAT); /* float64 does not hold it */
    refuse(geodec_foreign_text, text("1,5;2.5\n3;4\n"), GEODEC_FORMAT);       /* decimal commas and points */
    refuse(geodec_foreign_text, write_bytes("a.npz", "PK\x03\x04\0\0", 6), GEODEC_UNSUPPORTED);
    shape("0 1 2\n3 4 5\n6 7 8\n", 3, 3, 8, "--header yes"); /* a lattice is data */
    shape("% a note\n1 2\n", 1, 2, 2, "");
    geodec_matrix m = table("0,1\n.5,2\n", GEODEC_HEADER_YES, false);
    cr_assert_eq(m.rows, 1);
    geodec_matrix_clear(&m);
    m = table("0,1,2\n.5,2,3\n", GEODEC_HEADER_NO, false);
    cr_assert_eq(m.rows, 2);
    geodec_matrix_clear(&m);
    m = table("NA,1\n2,3\n4,\n5,inf\n6,7\n", GEODEC_HEADER_AUTO, true);
    cr_assert(m.rows == 2 && m.given == 5 && m.missing == 3 && m.x[0] == 2 && m.x[3] == 7);
    geodec_matrix_clear(&m);
    refuse(geodec_foreign_text, text("NA,1\n2,3\n"), GEODEC_FORMAT);
    refuse(geodec_foreign_text, text("1,abc\n2,3\n"), GEODEC_FORMAT); /* a number and a word: no header */
    refuse(geodec_foreign_text,
           write_bytes("u16.csv",
                       "\xff\xfe"
                       "1\0",
                       4),
           GEODEC_UNSUPPORTED);
}

Test(foreign, damaged_tables_are_refused)
{
    static const char *const list[] = {"",          "x\ty\n",          "x\ty\nz\tw\n1\t2\n",
                                       "1\t2\n3\n", "1\t2\n3\t4\t5\n", "1\t2\n3\tfour\n",
                                       "1,2\n3,\n", "1,2\n,3\n",       "1 2\n3 4x\n"};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) refuse(geodec_foreign_text, text(list[i]), GEODEC_FORMAT);
    refuse(geodec_foreign_text, text("1\t2\n3\tinf\n"), GEODEC_FORMAT);
    refuse(geodec_foreign_text, write_bytes("zero.tsv", "1\t2\0\n3\t4\n", 9), GEODEC_FORMAT);
}
