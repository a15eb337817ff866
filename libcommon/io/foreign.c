#include "io/foreign.h"

#include "base/mem.h"
#include "io/artifact.h"
#include "io/h5.h"
#include "io/h5_internal.h"

#include <math.h>
#include <sys/stat.h>

enum { DEFLATE_RATIO_MAX = 1100 }; /* deflate packs at most 1032 : 1 */

static geodec_status open_file(const char *path, hid_t *file, int64_t *bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct stat s;
    geodec_io_init();
    if (stat(path, &s) != 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: no such file", path);
    if (!S_ISREG(s.st_mode)) GEODEC_THROW(GEODEC_FORMAT, "%s is no regular file", path);
    *bytes = (int64_t)s.st_size;
    GEODEC__H5(*file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), GEODEC_FORMAT, "%s is no HDF5 file", path);
done:
    return st;
}

static geodec_status number_type(hid_t type, const char *path, const char *name, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const H5T_class_t sort = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    if (sort != H5T_INTEGER && sort != H5T_FLOAT) GEODEC_THROW(GEODEC_FORMAT, "%s: %s is not numeric", path, name);
done:
    return st;
}

static herr_t no_link(const char *from, const char *group, const char *to, const char *object, unsigned *flags,
                      hid_t access, void *ctx)
{
    (void)from, (void)group, (void)to, (void)object, (void)flags, (void)access, (void)ctx;
    return -1;
}

/* Opens a dataset whose numbers lie in this very file. */
static geodec_status open_set(hid_t file, const char *path, const char *name, hid_t *set, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t access = -1, made = -1;
    GEODEC__H5(access = H5Pcreate(H5P_DATASET_ACCESS), GEODEC_NOMEM, "%s", path);
    GEODEC__H5(H5Pset_elink_cb(access, no_link, NULL), GEODEC_NOMEM, "%s", path);
    GEODEC__H5(*set = H5Dopen2(file, name, access), GEODEC_NOTFOUND, "%s has no dataset %s", path, name);
    GEODEC__H5(made = H5Dget_create_plist(*set), GEODEC_FORMAT, "%s: %s", path, name);
    if (H5Pget_external_count(made) != 0 || H5Pget_layout(made) == H5D_VIRTUAL)
        GEODEC_THROW(GEODEC_FORMAT, "%s: the numbers of %s lie in another file", path, name);
done:
    (void)geodec__h5_close(made);
    (void)geodec__h5_close(access);
    return st;
}

geodec_status geodec_foreign_read(const char *path, const char *name, int rank, int64_t *shape, int *rank_out,
                                  double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t file = -1, set = -1, space = -1, type = -1;
    hsize_t extent[GEODEC_FOREIGN_RANK_MAX] = {0};
    double *x = NULL;
    int64_t bytes = 0, total = 1, size = 0;
    GEODEC_TRY(open_file(path, &file, &bytes, err));
    GEODEC_TRY(open_set(file, path, name, &set, err));
    type = H5Dget_type(set);
    GEODEC_TRY(number_type(type, path, name, err));
    GEODEC__H5(space = H5Dget_space(set), GEODEC_FORMAT, "%s: %s", path, name);
    if (H5Sget_simple_extent_type(space) == H5S_NULL) GEODEC_THROW(GEODEC_FORMAT, "%s: %s is empty", path, name);
    const int got = H5Sget_simple_extent_ndims(space);
    if (got < 0 || got > GEODEC_FOREIGN_RANK_MAX || (rank >= 0 && got != rank))
        GEODEC_THROW(GEODEC_FORMAT, "%s: %s has rank %d, %d is wanted", path, name, got, rank);
    GEODEC__H5(H5Sget_simple_extent_dims(space, extent, NULL), GEODEC_FORMAT, "%s: %s", path, name);
    for (int d = 0; d < got; d++) {
        if (extent[d] > (hsize_t)GEODEC_FIELD_BYTES_MAX || geodec_mem_mul(total, (int64_t)extent[d], &total) != 0)
            GEODEC_THROW(GEODEC_LIMIT, "%s: %s has absurd dimensions", path, name);
        if (shape && rank >= 0 && shape[d] >= 0 && shape[d] != (int64_t)extent[d])
            GEODEC_THROW(GEODEC_FORMAT, "%s: axis %d of %s has %llu elements, %lld are wanted", path, d, name,
                         (unsigned long long)extent[d], (long long)shape[d]);
    }
    if (geodec_mem_mul(total, (int64_t)H5Tget_size(type), &size) != 0 || size > GEODEC_FIELD_BYTES_MAX ||
        size / DEFLATE_RATIO_MAX > bytes)
        GEODEC_THROW(GEODEC_LIMIT, "%s: %s has absurd dimensions for a file of %lld bytes", path, name,
                     (long long)bytes);
    GEODEC_NEW(x, total);
    GEODEC__H5(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x), GEODEC_FORMAT,
               "%s: %s cannot be read", path, name);
    for (int64_t i = 0; i < total; i++)
        if (!isfinite(x[i]))
            GEODEC_THROW(GEODEC_NUMERIC, "%s: element %lld of %s is not finite", path, (long long)i, name);
    for (int d = 0; shape && d < GEODEC_FOREIGN_RANK_MAX && (rank < 0 || d < rank); d++) shape[d] = (int64_t)extent[d];
    if (rank_out) *rank_out = got;
    *out = x;
    x = NULL;
done:
    geodec_mem_free(x);
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(set);
    (void)geodec__h5_close(file);
    return st;
}

geodec_status geodec_foreign_read_i64(const char *path, const char *name, int rank, int64_t *shape, int64_t low,
                                      int64_t high, int64_t **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t own[GEODEC_FOREIGN_RANK_MAX], total = 1, *v = NULL;
    double *x = NULL;
    int got = 0;
    for (int d = 0; d < GEODEC_FOREIGN_RANK_MAX; d++) own[d] = -1;
    for (int d = 0; shape && d < rank; d++) own[d] = shape[d];
    GEODEC_TRY(geodec_foreign_read(path, name, rank, own, &got, &x, err));
    for (int d = 0; d < got; d++) total *= own[d];
    GEODEC_NEW(v, total);
    for (int64_t i = 0; i < total; i++) {
        if (!(x[i] >= (double)low) || !(x[i] <= (double)high) || x[i] != floor(x[i]))
            GEODEC_THROW(GEODEC_RANGE, "%s: element %lld of %s is %g; whole numbers in %lld..%lld are wanted", path,
                         (long long)i, name, x[i], (long long)low, (long long)high);
        v[i] = (int64_t)x[i];
    }
    for (int d = 0; shape && d < got; d++) shape[d] = own[d];
    *out = v;
    v = NULL;
done:
    geodec_mem_free(v);
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_foreign_attr(const char *path, const char *object, const char *name, double *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t file = -1, attr = -1, space = -1, type = -1;
    int64_t bytes;
    double v = 0;
    GEODEC_TRY(open_file(path, &file, &bytes, err));
    GEODEC__H5(attr = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT), GEODEC_NOTFOUND,
               "%s: %s has no attribute %s", path, object, name);
    type = H5Aget_type(attr);
    GEODEC_TRY(number_type(type, path, name, err));
    GEODEC__H5(space = H5Aget_space(attr), GEODEC_FORMAT, "%s: %s", path, name);
    if (H5Sget_simple_extent_npoints(space) != 1) GEODEC_THROW(GEODEC_FORMAT, "%s: %s is no scalar", path, name);
    GEODEC__H5(H5Aread(attr, H5T_NATIVE_DOUBLE, &v), GEODEC_FORMAT, "%s: %s cannot be read", path, name);
    if (!isfinite(v)) GEODEC_THROW(GEODEC_NUMERIC, "%s: %s is not finite", path, name);
    *out = v;
done:
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(attr);
    (void)geodec__h5_close(file);
    return st;
}
