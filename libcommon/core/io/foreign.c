#include "io/foreign.h"

#include "base/mem.h"
#include "io/foreign_internal.h"
#include "io/h5.h"
#include "io/h5_internal.h"
#include "io/inputs.h"
#include "io/matrix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { ELEMENT_MAX = 16 }; /* bytes per number */

static geodec_status open_file(const char *path, hid_t *file, int64_t *bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct stat s;
    geodec_io_init();
    if (stat(path, &s) != 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: no such file", path);
    if (!S_ISREG(s.st_mode)) GEODEC_THROW(GEODEC_FORMAT, "%s is not a regular file", path);
    *bytes = (int64_t)s.st_size;
    GEODEC__H5(*file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), GEODEC_FORMAT, "%s is not an HDF5 file", path);
    void *handle = NULL;
    GEODEC__H5(H5Fget_vfd_handle(*file, H5P_DEFAULT, &handle), GEODEC_IO, "%s: cannot open", path);
    GEODEC_TRY(geodec_inputs_note(path, *(int *)handle, err));
done:
    return st;
}

static geodec_status number_type(hid_t type, const char *path, const char *name, geodec_err *err)
{
    const H5T_class_t sort = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    /* an enumeration of integers: the booleans of other programs */
    if ((sort != H5T_INTEGER && sort != H5T_FLOAT && sort != H5T_ENUM) || H5Tget_size(type) > ELEMENT_MAX)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: %s is not numeric", path, name);
    return GEODEC_OK;
}

/* Checks that `name` is an object of the given type in this file itself. what: its name in messages. */
static geodec_status find_object(hid_t file, const char *path, const char *name, const char *what, H5O_type_t *sort,
                                 geodec_err *err)
{
    bool present, elsewhere;
    GEODEC_PASS_MSG(geodec__h5_walk(file, name, &present, &elsewhere, sort, err), "%s: %s", path, name);
    if (elsewhere) GEODEC_FAIL(GEODEC_FORMAT, "%s: %s is a link to elsewhere", path, name);
    if (!present) GEODEC_FAIL(GEODEC_NOTFOUND, "%s has no %s %s", path, what, name);
    return GEODEC_OK;
}

/* Opens a dataset that is stored in this file. geodec__h5_storage_check later checks its shape. */
static geodec_status open_set(hid_t file, const char *path, const char *name, hid_t *set, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    H5O_type_t sort;
    GEODEC_TRY(find_object(file, path, name, "dataset", &sort, err));
    if (sort != H5O_TYPE_DATASET)
        GEODEC_THROW(GEODEC_NOTFOUND, "%s has no dataset %s: the object is of another type", path, name);
    GEODEC__H5(*set = H5Dopen2(file, name, H5P_DEFAULT), GEODEC_FORMAT, "%s: %s", path, name);
done:
    return st;
}

/* Checks type, rank and extents. */
static geodec_status check_shape(hid_t set, const char *path, const char *name, int rank, const int64_t *shape,
                                 hsize_t *extent, int *got, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    GEODEC_TRY(number_type(type, path, name, err));
    GEODEC__H5(space, GEODEC_FORMAT, "%s: %s", path, name);
    if (H5Sget_simple_extent_type(space) == H5S_NULL) GEODEC_THROW(GEODEC_FORMAT, "%s: %s is empty", path, name);
    *got = H5Sget_simple_extent_ndims(space);
    if (*got < 0 || *got > GEODEC_FOREIGN_RANK_MAX || (rank >= 0 && *got != rank))
        GEODEC_THROW(GEODEC_FORMAT, "%s: %s has rank %d, not %d", path, name, *got, rank);
    GEODEC__H5(H5Sget_simple_extent_dims(space, extent, NULL), GEODEC_FORMAT, "%s: %s", path, name);
    for (int d = 0; d < *got; d++)
        if (shape && rank >= 0 && shape[d] >= 0 && (hsize_t)shape[d] != extent[d])
            GEODEC_THROW(GEODEC_FORMAT, "%s: axis %d of %s has %llu elements, not %lld", path, d, name,
                         (unsigned long long)extent[d], (long long)shape[d]);
done:
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(type);
    return st;
}

/* Checks the size before memory is allocated; *total is the number of elements. */
static geodec_status check_storage(hid_t set, const char *path, const char *name, int64_t file_bytes, int64_t *total,
                                   geodec_err *err)
{
    geodec__h5_storage s;
    int64_t bytes;
    GEODEC_PASS_MSG(geodec__h5_storage_check(set, name, file_bytes, GEODEC_FOREIGN_CHUNK_MAX, &s, err), "%s", path);
    *total = 1;
    for (int d = 0; d < s.rank; d++) *total *= s.extent[d]; /* the byte count did not overflow */
    if (geodec_mem_mul(*total, (int64_t)sizeof(double), &bytes) != 0 || bytes > GEODEC_FIELD_BYTES_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: %s needs more than %lld GiB", path, name,
                    (long long)(GEODEC_FIELD_BYTES_MAX >> 30));
    if (bytes > GEODEC_FOREIGN_FREE_BYTES && bytes / GEODEC_FOREIGN_GROWTH_MAX > s.stored)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: %s takes %lld bytes of memory and %lld of the file, more than %d : 1", path,
                    name, (long long)bytes, (long long)s.stored, GEODEC_FOREIGN_GROWTH_MAX);
    GEODEC_PASS_MSG(geodec__h5_chunks_check(set, name, &s, err), "%s", path);
    return GEODEC_OK;
}

/* Reads an enumeration by its integers: HDF5 converts it to no number. */
static geodec_status read_numbers(hid_t set, const char *path, const char *name, int64_t total, double *x,
                                  geodec__foreign_type *type, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t own = H5Dget_type(set), base = -1, memory = -1;
    int64_t *whole = NULL;
    base = H5Tget_class(own) == H5T_ENUM ? H5Tget_super(own) : H5Tcopy(own);
    GEODEC__H5(base, GEODEC_FORMAT, "%s: %s cannot be read", path, name);
    if (type)
        *type = (geodec__foreign_type){.whole = H5Tget_class(base) == H5T_INTEGER,
                                       .is_signed = H5Tget_class(base) == H5T_INTEGER && H5Tget_sign(base) == H5T_SGN_2,
                                       .size = (int)H5Tget_size(base)};
    if (H5Tget_class(own) != H5T_ENUM) {
        GEODEC__H5(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x), GEODEC_FORMAT,
                   "%s: %s cannot be read", path, name);
        goto done;
    }
    if (H5Tget_size(own) > 8) GEODEC_THROW(GEODEC_FORMAT, "%s: %s is not numeric", path, name);
    const size_t size = H5Tget_size(own);
    GEODEC__H5(memory = H5Tcopy(own), GEODEC_FORMAT, "%s: %s cannot be read", path, name);
    GEODEC_NEW(whole, total); /* room for any size */
    GEODEC__H5(H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, whole), GEODEC_FORMAT, "%s: %s cannot be read", path,
               name);
    const bool big = H5Tget_order(base) == H5T_ORDER_BE;
    for (int64_t i = 0; i < total; i++) {
        const unsigned char *p = (const unsigned char *)whole + (size_t)i * size;
        uint64_t bits = 0;
        for (size_t b = 0; b < size; b++) bits |= (uint64_t)p[big ? size - 1 - b : b] << (8 * b);
        x[i] = (double)bits;
    }
done:
    geodec_mem_free(whole);
    (void)geodec__h5_close(memory);
    (void)geodec__h5_close(base);
    (void)geodec__h5_close(own);
    return st;
}

geodec_status geodec__foreign_values(const char *path, const char *name, int rank, int64_t *shape, int *rank_out,
                                     geodec__foreign_type *type, double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t file = -1, set = -1;
    hsize_t extent[GEODEC_FOREIGN_RANK_MAX] = {0};
    double *x = NULL;
    int64_t bytes = 0, total = 1;
    int got = 0;
    geodec__h5_enter(path, true);
    GEODEC_TRY(open_file(path, &file, &bytes, err));
    GEODEC_TRY(open_set(file, path, name, &set, err));
    GEODEC_TRY(check_shape(set, path, name, rank, shape, extent, &got, err));
    GEODEC_TRY(check_storage(set, path, name, bytes, &total, err));
    geodec__h5_leave();
    geodec__h5_enter(path, false);
    GEODEC_NEW(x, total);
    GEODEC_TRY(read_numbers(set, path, name, total, x, type, err));
    GEODEC_TRY_MSG(geodec__h5_still_whole(file, bytes, err), "%s", path);
    for (int d = 0; shape && d < GEODEC_FOREIGN_RANK_MAX && (rank < 0 || d < rank); d++) shape[d] = (int64_t)extent[d];
    if (rank_out) *rank_out = got;
    *out = x;
    x = NULL;
done:
    geodec_mem_free(x);
    (void)geodec__h5_close(set);
    (void)geodec__h5_close(file);
    geodec__h5_leave();
    return st;
}

geodec_status geodec_foreign_read(const char *path, const char *name, int rank, int64_t *shape, int *rank_out,
                                  double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t own[GEODEC_FOREIGN_RANK_MAX], total = 1;
    double *x = NULL;
    int got = 0;
    for (int d = 0; d < GEODEC_FOREIGN_RANK_MAX; d++) own[d] = shape && d < rank ? shape[d] : -1;
    GEODEC_TRY(geodec__foreign_values(path, name, rank, own, &got, NULL, &x, err));
    for (int d = 0; d < got; d++) total *= own[d];
    for (int64_t i = 0; i < total; i++)
        if (!isfinite(x[i]))
            GEODEC_THROW(GEODEC_FORMAT, "%s: element %lld of %s is not finite", path, (long long)i, name);
    for (int d = 0; shape && d < GEODEC_FOREIGN_RANK_MAX && (rank < 0 || d < rank); d++) shape[d] = own[d];
    if (rank_out) *rank_out = got;
    *out = x;
    x = NULL;
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_foreign_text(const char *path, int64_t *rows, int64_t *cols, double **out, geodec_err *err)
{
    geodec_matrix m;
    GEODEC_PASS(geodec_matrix_read(path, "text", &(geodec_matrix_options){0}, &m, err));
    *rows = m.rows;
    *cols = m.cols;
    *out = m.x;
    return GEODEC_OK;
}

/* One attribute of the open object. */
static geodec_status read_note(hid_t file, const char *path, const char *object, const char *name,
                               geodec__foreign_note *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t attr = -1, space = -1, type = -1;
    char *text = NULL;
    *out = (geodec__foreign_note){0};
    if (H5Aexists_by_name(file, object, name, H5P_DEFAULT) <= 0) goto done;
    GEODEC__H5(attr = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT), GEODEC_FORMAT, "%s: %s", path,
               name);
    GEODEC__H5(type = H5Aget_type(attr), GEODEC_FORMAT, "%s: %s", path, name);
    GEODEC__H5(space = H5Aget_space(attr), GEODEC_FORMAT, "%s: %s", path, name);
    out->found = true;
    const H5T_class_t sort = H5Tget_class(type);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if ((sort == H5T_INTEGER || sort == H5T_FLOAT) && count >= 1 && count <= GEODEC__ATTR_NUMBERS &&
        H5Tget_size(type) <= ELEMENT_MAX) {
        GEODEC__H5(H5Aread(attr, H5T_NATIVE_DOUBLE, out->v), GEODEC_FORMAT, "%s: %s cannot be read", path, name);
        out->count = (int)count;
    } else if (sort == H5T_STRING && count == 1 && H5Tis_variable_str(type) == 0 &&
               H5Tget_size(type) < GEODEC__ATTR_TEXT) {
        GEODEC__H5(H5Aread(attr, type, out->text), GEODEC_FORMAT, "%s: %s cannot be read", path, name);
    } else if (sort == H5T_STRING && count == 1 && H5Tis_variable_str(type) > 0) {
        GEODEC__H5(H5Aread(attr, type, &text), GEODEC_FORMAT, "%s: %s cannot be read", path, name);
        if (text && strlen(text) < sizeof out->text) (void)snprintf(out->text, sizeof out->text, "%s", text);
    }
done:
    if (text) (void)H5free_memory(text);
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(attr);
    return st;
}

geodec_status geodec__foreign_notes(const char *path, const char *object, int n, const char *const *names,
                                    geodec__foreign_note *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t file = -1;
    H5O_type_t sort;
    int64_t bytes;
    geodec__h5_enter(path, true);
    GEODEC_TRY(open_file(path, &file, &bytes, err));
    GEODEC_TRY(find_object(file, path, object, "object", &sort, err));
    for (int i = 0; i < n; i++) GEODEC_TRY(read_note(file, path, object, names[i], &out[i], err));
done:
    (void)geodec__h5_close(file);
    geodec__h5_leave();
    return st;
}

typedef struct listing {
    int room, n;
    char (*names)[160];
    const char *folder;
} listing;

static herr_t list_one(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
    listing *l = ctx;
    (void)group;
    if (info->type != H5L_TYPE_HARD || l->n == l->room) return 0;
    const int n = snprintf(l->names[l->n], sizeof *l->names, "%s%s", l->folder, name);
    if (n > 0 && n < (int)sizeof *l->names) l->n++;
    return 0;
}

geodec_status geodec__foreign_beside(const char *path, const char *name, int room, char (*names)[160], int *n,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t file = -1;
    int64_t bytes;
    H5O_type_t sort;
    char folder[160] = "";
    const char *slash = strrchr(name, '/');
    if (slash && slash - name + 1 < (int)sizeof folder) memcpy(folder, name, (size_t)(slash - name + 1));
    listing l = {.room = room, .names = names, .folder = folder};
    geodec__h5_enter(path, true);
    GEODEC_TRY(open_file(path, &file, &bytes, err));
    const char *group = folder[0] ? folder : "/";
    if (strcmp(group, "/") != 0) GEODEC_TRY(find_object(file, path, group, "group", &sort, err));
    hsize_t at = 0;
    GEODEC__H5(H5Literate_by_name(file, group, H5_INDEX_NAME, H5_ITER_INC, &at, list_one, &l, H5P_DEFAULT),
               GEODEC_FORMAT, "%s: %s cannot be listed", path, group);
    *n = l.n;
done:
    (void)geodec__h5_close(file);
    geodec__h5_leave();
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
            GEODEC_THROW(GEODEC_RANGE, "%s: element %lld of %s is %g, not a whole number in %lld..%lld", path,
                         (long long)i, name, x[i], (long long)low, (long long)high);
        v[i] = (int64_t)x[i];
    }
    for (int d = 0; shape && d < got; d++) shape[d] = own[d];
    *out = v;
    v = NULL;
done:
    GEODEC_FREE(v, x);
    return st;
}

geodec_status geodec_foreign_attr(const char *path, const char *object, const char *name, double *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t file = -1, attr = -1, space = -1, type = -1;
    H5O_type_t sort;
    int64_t bytes;
    double v = 0;
    geodec__h5_enter(path, true);
    GEODEC_TRY(open_file(path, &file, &bytes, err));
    GEODEC_TRY(find_object(file, path, object, "object", &sort, err));
    GEODEC__H5(attr = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT), GEODEC_NOTFOUND,
               "%s: %s has no attribute %s", path, object, name);
    type = H5Aget_type(attr);
    GEODEC_TRY(number_type(type, path, name, err));
    GEODEC__H5(space = H5Aget_space(attr), GEODEC_FORMAT, "%s: %s", path, name);
    if (H5Sget_simple_extent_npoints(space) != 1) GEODEC_THROW(GEODEC_FORMAT, "%s: %s is not a scalar", path, name);
    GEODEC__H5(H5Aread(attr, H5T_NATIVE_DOUBLE, &v), GEODEC_FORMAT, "%s: %s cannot be read", path, name);
    if (!isfinite(v)) GEODEC_THROW(GEODEC_NUMERIC, "%s: %s is not finite", path, name);
    *out = v;
done:
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(attr);
    (void)geodec__h5_close(file);
    geodec__h5_leave();
    return st;
}
