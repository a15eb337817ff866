/* Foreign HDF5 files: numbers of every type come in, all else is refused by name. */
#include "base/mem.h"
#include "io/foreign.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static void setup(void) { geodec_io_init(); }
TestSuite(foreign, .init = setup);

static void put(hid_t file, const char *name, int rank, const hsize_t *extent, hid_t type, hid_t memory,
                const void *data)
{
    const hid_t space = H5Screate_simple(rank, extent, NULL);
    const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(set, 0);
    if (data) cr_assert_geq(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
    (void)H5Dclose(set);
    (void)H5Sclose(space);
}

static const char *sample(void)
{
    const char *path = test_tmp("foreign.h5");
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const int16_t whole[6] = {0, 1, -2, 3, 4, 5};
    const float half[2] = {0.5F, -1.5F};
    const double bad[2] = {1, NAN};
    put(file, "/whole", 2, (hsize_t[]){2, 3}, H5T_STD_I16BE, H5T_NATIVE_INT16, whole);
    put(file, "/half", 1, (hsize_t[]){2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, half);
    put(file, "/bad", 1, (hsize_t[]){2}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, bad);
    const hid_t text = H5Tcopy(H5T_C_S1);
    put(file, "/text", 1, (hsize_t[]){2}, text, text, "ab");
    (void)H5Tclose(text);
    /* an extent that no file of this size can hold: chunks never written */
    const hid_t space = H5Screate_simple(2, (hsize_t[]){1 << 20, 1 << 10}, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(plist, 2, (hsize_t[]){64, 64});
    (void)H5Dclose(H5Dcreate2(file, "/huge", H5T_IEEE_F64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    (void)H5Pclose(plist);
    (void)H5Sclose(space);
    const hid_t scalar = H5Screate(H5S_SCALAR);
    const hid_t attr = H5Acreate2(file, "steps", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    const int steps = 16;
    (void)H5Awrite(attr, H5T_NATIVE_INT, &steps);
    (void)H5Aclose(attr);
    (void)H5Sclose(scalar);
    (void)H5Fclose(file);
    return path;
}

Test(foreign, numbers_of_every_type)
{
    const char *path = sample();
    geodec_err err = {0};
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, 3}, *whole;
    double *x, steps;
    int rank;
    test_ok(geodec_foreign_read_i64(path, "/whole", 2, shape, -2, 5, &whole, &err), &err);
    cr_assert(shape[0] == 2 && shape[1] == 3 && whole[2] == -2 && whole[5] == 5);
    test_ok(geodec_foreign_read(path, "/half", -1, shape, &rank, &x, &err), &err);
    cr_assert(rank == 1 && shape[0] == 2 && x[0] == 0.5 && x[1] == -1.5);
    test_ok(geodec_foreign_attr(path, "/", "steps", &steps, &err), &err);
    cr_assert_eq(steps, 16);
    geodec_mem_free(whole);
    geodec_mem_free(x);
}

Test(foreign, refusals)
{
    const char *path = sample();
    geodec_err err = {0};
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1}, *whole;
    double *x, v;
    cr_assert_eq(geodec_foreign_read(path, "/none", 2, shape, NULL, &x, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_foreign_read("/no/such/file", "/whole", 2, shape, NULL, &x, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_foreign_read("/tmp", "/whole", 2, shape, NULL, &x, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_foreign_read(path, "/whole", 1, shape, NULL, &x, &err), GEODEC_FORMAT);
    shape[1] = 4;
    cr_assert_eq(geodec_foreign_read(path, "/whole", 2, shape, NULL, &x, &err), GEODEC_FORMAT);
    shape[0] = shape[1] = -1;
    cr_assert_eq(geodec_foreign_read(path, "/text", 1, shape, NULL, &x, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_foreign_read(path, "/bad", 1, shape, NULL, &x, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_foreign_read(path, "/huge", 2, shape, NULL, &x, &err), GEODEC_LIMIT);
    cr_assert_eq(geodec_foreign_read_i64(path, "/whole", 2, shape, 0, 5, &whole, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_foreign_read_i64(path, "/half", 1, shape, -5, 5, &whole, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_foreign_attr(path, "/", "dl", &v, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_foreign_attr(path, "/none", "steps", &v, &err), GEODEC_NOTFOUND);
    FILE *f = fopen(test_tmp("text.h5"), "w");
    (void)fputs("no HDF5\n", f);
    (void)fclose(f);
    cr_assert_eq(geodec_foreign_read(test_tmp("text.h5"), "/whole", 2, shape, NULL, &x, &err), GEODEC_FORMAT);
}

/* The attribute a of the object /to in the other file, and links to it from this file. */
static const char *linked(void)
{
    const char *there = test_tmp("there.h5"), *path = test_tmp("links.h5");
    for (int k = 0; k < 2; k++) {
        const hid_t file = H5Fcreate(k ? path : there, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t type = H5Tcopy(H5T_IEEE_F64LE), scalar = H5Screate(H5S_SCALAR);
        cr_assert_geq(H5Tcommit2(file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), 0);
        const hid_t attr = H5Acreate2(type, "a", H5T_IEEE_F64LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
        const double v = 2.5;
        cr_assert_geq(H5Awrite(attr, H5T_NATIVE_DOUBLE, &v), 0);
        (void)H5Aclose(attr);
        (void)H5Sclose(scalar);
        (void)H5Tclose(type);
        if (k) {
            cr_assert_geq(H5Lcreate_external(there, "/type", file, "outer", H5P_DEFAULT, H5P_DEFAULT), 0);
            cr_assert_geq(H5Lcreate_external(there, "/", file, "root", H5P_DEFAULT, H5P_DEFAULT), 0);
            cr_assert_geq(H5Lcreate_soft("/type", file, "soft", H5P_DEFAULT, H5P_DEFAULT), 0);
        }
        (void)H5Fclose(file);
    }
    return path;
}

Test(foreign, attributes_of_other_files_are_refused)
{
    const char *path = linked();
    geodec_err err = {0};
    double v = 0;
    test_ok(geodec_foreign_attr(path, "/type", "a", &v, &err), &err); /* control: a committed type of this file */
    cr_assert_eq(v, 2.5);
    test_ok(geodec_foreign_attr(path, "type", "a", &v, &err), &err);
    static const char *const there[] = {"/outer", "/root", "/root/type", "root/type", "/soft"};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        geodec_err_clear(&err);
        cr_assert_eq(geodec_foreign_attr(path, there[i], "a", &v, &err), GEODEC_FORMAT, "%s", there[i]);
    }
    cr_assert_eq(geodec_foreign_attr(path, "/type/a", "a", &v, &err), GEODEC_NOTFOUND);
}

/* Rows of 8 bytes, a chunk for all of them or none. */
static const char *of_zeros(const char *name, hsize_t rows, bool deflated)
{
    const char *path = test_tmp(name);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), plist = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(1, &rows, NULL);
    (void)H5Pset_chunk(plist, 1, (hsize_t[]){rows / 8});
    if (deflated) (void)H5Pset_deflate(plist, 1);
    const hid_t set = H5Dcreate2(file, "/x", H5T_IEEE_F64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    double *zeros = geodec_mem_new((int64_t)rows, sizeof *zeros);
    cr_assert_geq(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros), 0);
    geodec_mem_free(zeros);
    (void)H5Dclose(set);
    (void)H5Sclose(space);
    (void)H5Pclose(plist);
    (void)H5Fclose(file);
    return path;
}

/* Just inside and just outside the memory that any file may ask for; stored plainly it may ask for more. */
Test(foreign, memory_is_bounded_by_what_is_stored)
{
    const hsize_t most = GEODEC_FOREIGN_FREE_BYTES / sizeof(double);
    const struct {
        const char *name;
        hsize_t rows;
        bool deflated;
        geodec_status want;
    } list[] = {{"most.h5", most, true, GEODEC_OK},
                {"more.h5", most + 8, true, GEODEC_LIMIT},
                {"plain.h5", most + 8, false, GEODEC_OK}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        geodec_err err = {0};
        double *x = NULL;
        int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1};
        cr_assert_eq(
            geodec_foreign_read(of_zeros(list[i].name, list[i].rows, list[i].deflated), "/x", 1, shape, NULL, &x, &err),
            list[i].want, "%s", list[i].name);
        if (list[i].want == GEODEC_OK) cr_assert_eq(shape[0], (int64_t)list[i].rows);
        geodec_mem_free(x);
    }
}
