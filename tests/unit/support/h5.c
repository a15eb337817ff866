#include "base/mem.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdio.h>

double *test_h5(const char *path, const char *dataset, int64_t shape[8], int *ndim)
{
    hsize_t dims[8] = {0};
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_geq(file, 0, "cannot open %s", path);
    const hid_t set = H5Dopen2(file, dataset, H5P_DEFAULT);
    cr_assert_geq(set, 0, "%s has no dataset %s", path, dataset);
    const hid_t space = H5Dget_space(set);
    const int rank = H5Sget_simple_extent_ndims(space);
    cr_assert(rank >= 0 && rank <= 8);
    (void)H5Sget_simple_extent_dims(space, dims, NULL);
    const hssize_t total = H5Sget_simple_extent_npoints(space);
    double *x = geodec_mem_new((int64_t)total, sizeof *x);
    cr_assert_not_null(x);
    cr_assert_geq(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x), 0, "cannot read %s", dataset);
    for (int i = 0; shape && i < 8; i++) shape[i] = (int64_t)dims[i];
    if (ndim) *ndim = rank;
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    (void)H5Fclose(file);
    return x;
}

double test_h5_attr(const char *path, const char *object, const char *attr)
{
    double x = 0;
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_geq(file, 0, "cannot open %s", path);
    const hid_t a = H5Aopen_by_name(file, object, attr, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(a, 0, "%s has no attribute %s of %s", path, attr, object);
    cr_assert_geq(H5Aread(a, H5T_NATIVE_DOUBLE, &x), 0);
    (void)H5Aclose(a);
    (void)H5Fclose(file);
    return x;
}

int test_h5_has(const char *path, const char *object)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_geq(file, 0, "cannot open %s", path);
    const int there = H5Lexists(file, object, H5P_DEFAULT) > 0;
    (void)H5Fclose(file);
    return there;
}

int test_h5_has_attr(const char *path, const char *object, const char *attr)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_geq(file, 0, "cannot open %s", path);
    const int there = H5Aexists_by_name(file, object, attr, H5P_DEFAULT) > 0;
    (void)H5Fclose(file);
    return there;
}

typedef struct members {
    int count, max;
    char (*names)[TEST_H5_NAME];
} members;

static herr_t add_member(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
    members *m = ctx;
    (void)group, (void)info;
    if (m->count < m->max) (void)snprintf(m->names[m->count], TEST_H5_NAME, "%s", name);
    m->count++;
    return 0;
}

int test_h5_members(const char *path, const char *group, int max, char names[][TEST_H5_NAME])
{
    members m = {.max = max, .names = names};
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_geq(file, 0, "cannot open %s", path);
    cr_assert_geq(H5Literate_by_name(file, group, H5_INDEX_NAME, H5_ITER_INC, NULL, add_member, &m, H5P_DEFAULT), 0);
    cr_assert_leq(m.count, max);
    (void)H5Fclose(file);
    return m.count;
}
