/* Dimension scales of an artifact, so that netCDF, xarray and h5py name its axes.
 *
 * HDF5 Dimension Scale Specification, with netCDF's convention for a dimension without coordinates: a dataset of the
 * dimension's extent without values, whose attribute NAME says so. It is called as the dimension of the kind's table;
 * an axis of fixed extent n is the dimension fixed_n. A field of one axis with the name of its dimension is its own
 * scale. The attributes are written here and not by HDF5's high-level library, which stores uninitialised padding. */
#include "artifact/artifact_internal.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SCALE_NAME = GEODEC__DIM_NAME + 8, SCALES_MAX = 64, USES_MAX = 512 };

/* An element of REFERENCE_LIST: HDF5's own layout, with zeros between and after the members. */
typedef struct use {
    hobj_ref_t field;
    uint32_t axis, padding;
} use;

typedef struct scale {
    char name[SCALE_NAME];
    int64_t extent;
    int own; /* the field that is its own scale, or -1 */
    hobj_ref_t ref;
    int n_uses;
    use use[USES_MAX];
} scale;

static int find_path(const geodec_kind *kind, const char *name)
{
    for (int i = 0; i < kind->n_fields; i++)
        if (strcmp(kind->fields[i].path + 1, name) == 0) return i;
    return -1;
}

/* The scale of an axis, added to the list if it is new. */
static geodec_status find_scale(const geodec_artifact *a, const geodec__axis *axis, int64_t extent, scale *list, int *n,
                                int *found, geodec_err *err)
{
    char name[SCALE_NAME];
    int own = -1;
    if (axis->name[0]) {
        (void)snprintf(name, sizeof name, "%.*s", GEODEC__DIM_NAME - 1, axis->name);
        own = find_path(a->kind, name);
        if (own >= 0 &&
            (!a->field[own].present || a->field[own].rank != 1 || strcmp(a->kind->fields[own].dims, axis->name) != 0)) {
            own = -1; /* another field has the name */
            (void)snprintf(name, sizeof name, "dim_%.*s", GEODEC__DIM_NAME - 1, axis->name);
        }
    } else {
        (void)snprintf(name, sizeof name, "fixed_%" PRId64, axis->fixed);
    }
    for (*found = 0; *found < *n; ++*found)
        if (strcmp(list[*found].name, name) == 0) return GEODEC_OK;
    if (*n == SCALES_MAX) GEODEC_FAIL(GEODEC_INTERNAL, "kind %s has too many dimensions", a->kind->name);
    memset(&list[*n], 0, sizeof list[*n]);
    memcpy(list[*n].name, name, sizeof name);
    list[*n].extent = extent;
    list[*n].own = own;
    ++*n;
    return GEODEC_OK;
}

/* Writes an attribute of `n` elements, 0: a scalar, and closes the type. */
static geodec_status put_attribute(hid_t object, const char *name, hid_t type, int64_t n, const void *value,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const hsize_t extent = (hsize_t)n;
    hid_t space = -1, attr = -1;
    GEODEC__H5(space = n > 0 ? H5Screate_simple(1, &extent, NULL) : H5Screate(H5S_SCALAR), GEODEC_INTERNAL, "%s", name);
    GEODEC__H5(attr = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), GEODEC_IO, "%s", name);
    GEODEC__H5(H5Awrite(attr, type, value), GEODEC_IO, "%s", name);
done:
    (void)geodec__h5_close(attr);
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(type);
    return st;
}

/* Texts: `size` bytes with the NUL at their end, because HDF5 takes CLASS in no other form (geodec__h5_put_text pads
 * with NUL), or H5T_VARIABLE. */
static geodec_status put_strings(hid_t object, const char *name, size_t size, int64_t n, const void *value,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t type = -1;
    GEODEC__H5(type = H5Tcopy(H5T_C_S1), GEODEC_INTERNAL, "%s", name);
    GEODEC__H5(H5Tset_size(type, size), GEODEC_INTERNAL, "%s", name);
    return put_attribute(object, name, type, n, value, err);
done:
    (void)geodec__h5_close(type);
    return st;
}

static geodec_status put_terminated(hid_t object, const char *name, const char *text, geodec_err *err)
{
    return put_strings(object, name, strlen(text) + 1, 0, text, err);
}

/* The dataset of a scale: a field, or a new one without values. */
static geodec_status open_scale(geodec_artifact *a, const scale *s, hid_t *set, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const hsize_t extent = (hsize_t)s->extent;
    hid_t space = -1, made = -1;
    char name[80];
    if (s->own >= 0) {
        GEODEC__H5(*set = H5Dopen2(a->file, a->kind->fields[s->own].path, H5P_DEFAULT), GEODEC_IO, "%s", s->name);
        (void)snprintf(name, sizeof name, "%s", s->name);
    } else {
        GEODEC__H5(made = H5Pcreate(H5P_DATASET_CREATE), GEODEC_INTERNAL, "property list");
        GEODEC__H5(H5Pset_obj_track_times(made, false), GEODEC_INTERNAL, "object times");
        GEODEC__H5(space = H5Screate_simple(1, &extent, NULL), GEODEC_INTERNAL, "shape");
        GEODEC__H5(*set = H5Dcreate2(a->file, s->name, H5T_IEEE_F32BE, space, H5P_DEFAULT, made, H5P_DEFAULT),
                   GEODEC_IO, "dimension %s", s->name);
        (void)snprintf(name, sizeof name, "This is a netCDF dimension but not a netCDF variable.%10" PRId64, s->extent);
    }
    GEODEC_TRY(put_terminated(*set, "CLASS", "DIMENSION_SCALE", err));
    GEODEC_TRY(put_terminated(*set, "NAME", name, err));
done:
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(made);
    return st;
}

static geodec_status put_reference_list(hid_t set, const scale *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t type = -1;
    if (s->n_uses == 0) return GEODEC_OK;
    GEODEC__H5(type = H5Tcreate(H5T_COMPOUND, sizeof(use)), GEODEC_INTERNAL, "%s", s->name);
    GEODEC__H5(H5Tinsert(type, "dataset", offsetof(use, field), H5T_STD_REF_OBJ), GEODEC_INTERNAL, "%s", s->name);
    GEODEC__H5(H5Tinsert(type, "dimension", offsetof(use, axis), H5T_STD_U32LE), GEODEC_INTERNAL, "%s", s->name);
    return put_attribute(set, "REFERENCE_LIST", type, s->n_uses, s->use, err);
done:
    (void)geodec__h5_close(type);
    return st;
}

/* DIMENSION_LIST: for each axis a list of one reference. */
static geodec_status put_dimension_list(hid_t set, int rank, hobj_ref_t *ref, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hvl_t list[GEODEC_RANK_MAX];
    hid_t type = -1;
    memset(list, 0, sizeof list);
    for (int d = 0; d < rank; d++) {
        list[d].len = 1;
        list[d].p = &ref[d];
    }
    GEODEC__H5(type = H5Tvlen_create(H5T_STD_REF_OBJ), GEODEC_INTERNAL, "DIMENSION_LIST");
    return put_attribute(set, "DIMENSION_LIST", type, rank, list, err);
done:
    return st;
}

/* The scales of a field's axes, which are added to the list if they are new. */
static geodec_status scales_of(const geodec_artifact *a, int i, scale *list, int *n, int of[GEODEC_RANK_MAX],
                               geodec_err *err)
{
    geodec__axis axis[GEODEC_RANK_MAX];
    int rank;
    GEODEC_PASS(geodec__kind_field_axes(&a->kind->fields[i], axis, &rank, err));
    for (int d = 0; d < rank; d++) {
        const int64_t extent = axis[d].name[0] ? geodec__kind_dim_find(a, axis[d].name)->extent : axis[d].fixed;
        GEODEC_PASS(find_scale(a, &axis[d], extent, list, n, &of[d], err));
    }
    return GEODEC_OK;
}

/* Refers from the field to its scales, and notes its use of them. */
static geodec_status attach(const geodec_artifact *a, int i, scale *list, int n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = a->kind->fields[i].path;
    const int rank = a->field[i].rank;
    int of[GEODEC_RANK_MAX] = {0};
    hobj_ref_t ref[GEODEC_RANK_MAX], self;
    const char *label[GEODEC_RANK_MAX] = {0};
    hid_t set = -1;
    GEODEC_TRY(scales_of(a, i, list, &n, of, err));
    if (rank == 1 && list[of[0]].own == i) goto done; /* a scale has no scale */
    GEODEC__H5(H5Rcreate(&self, a->file, path, H5R_OBJECT, -1), GEODEC_INTERNAL, "field %s", path);
    for (int d = 0; d < rank; d++) {
        scale *s = &list[of[d]];
        ref[d] = s->ref;
        label[d] = s->name;
        if (s->n_uses == USES_MAX) GEODEC_THROW(GEODEC_INTERNAL, "dimension %s has too many fields", s->name);
        s->use[s->n_uses++] = (use){.field = self, .axis = (uint32_t)d};
    }
    GEODEC__H5(set = H5Dopen2(a->file, path, H5P_DEFAULT), GEODEC_IO, "field %s", path);
    GEODEC_TRY(put_dimension_list(set, rank, ref, err));
    /* h5py shows them as dims[i].label */
    GEODEC_TRY(put_strings(set, "DIMENSION_LABELS", H5T_VARIABLE, rank, label, err));
done:
    (void)geodec__h5_close(set);
    return st;
}

geodec_status geodec__scales_write(geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    scale *list = NULL;
    int n = 0, of[GEODEC_RANK_MAX];
    hid_t set[SCALES_MAX];
    for (int i = 0; i < SCALES_MAX; i++) set[i] = -1;
    GEODEC_NEW(list, SCALES_MAX);
    for (int i = 0; i < a->kind->n_fields; i++)
        if (a->field[i].present) GEODEC_TRY(scales_of(a, i, list, &n, of, err));
    for (int i = 0; i < n; i++) {
        GEODEC_TRY(open_scale(a, &list[i], &set[i], err));
        GEODEC__H5(H5Rcreate(&list[i].ref, set[i], ".", H5R_OBJECT, -1), GEODEC_INTERNAL, "dimension %s", list[i].name);
    }
    for (int i = 0; i < a->kind->n_fields; i++)
        if (a->field[i].present && a->field[i].rank > 0) GEODEC_TRY(attach(a, i, list, n, err));
    for (int i = 0; i < n; i++) GEODEC_TRY(put_reference_list(set[i], &list[i], err));
done:
    for (int i = 0; i < n; i++) (void)geodec__h5_close(set[i]);
    geodec_mem_free(list);
    return st;
}
