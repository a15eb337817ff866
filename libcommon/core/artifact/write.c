/* Writes artifacts: create, dimensions, fields, attributes, commit. */
#include "artifact/artifact_internal.h"
#include "base/mem.h"
#include "geodec/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    CHUNK_MAX = 1 << 20,
    CHUNK_SLOTS = 521,
    DEFLATE_LEVEL = 4,
};

/* ---- create ----------------------------------------------------------------------------------------------------- */

static geodec_status create_file(geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t fapl = -1, fcpl = -1;
    GEODEC__H5(fapl = H5Pcreate(H5P_FILE_ACCESS), GEODEC_INTERNAL, "property list");
    GEODEC__H5(fcpl = H5Pcreate(H5P_FILE_CREATE), GEODEC_INTERNAL, "property list");
    GEODEC__H5(H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V18), GEODEC_INTERNAL, "format version");
    GEODEC__H5(H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG), GEODEC_INTERNAL, "closing rule");
    /* geodec_atomic has locked the temporary file; the lock that HDF5 takes would conflict with it. */
    GEODEC__H5(H5Pset_file_locking(fapl, false, true), GEODEC_INTERNAL, "locking rule");
    GEODEC__H5(H5Pset_userblock(fcpl, GEODEC__USER_BLOCK), GEODEC_INTERNAL, "user block");
    GEODEC__H5(H5Pset_obj_track_times(fcpl, false), GEODEC_INTERNAL, "object times");
    GEODEC__H5(a->file = H5Fcreate(geodec_atomic_tmp(a->tmp), H5F_ACC_TRUNC, fcpl, fapl), GEODEC_IO, "cannot create");
done:
    (void)geodec__h5_close(fapl);
    (void)geodec__h5_close(fcpl);
    return st;
}

/* Command lines and file names come from users: bytes that are not plain UTF-8 become '?'. */
static geodec_status put_user_text(geodec_artifact *a, const char *name, const char *text, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *copy = geodec_mem_strdup(text ? text : "");
    if (!copy) GEODEC_THROW(GEODEC_NOMEM, "no memory for attribute %s", name);
    geodec__h5_make_plain(copy);
    GEODEC_TRY(geodec__h5_put_text(a->file, name, copy, err));
done:
    geodec_mem_free(copy);
    return st;
}

static const char *either(const char *own, const char *inherited) { return own && own[0] ? own : inherited; }

static geodec_status put_provenance(geodec_artifact *a, const geodec_provenance *p, geodec_err *err)
{
    char version[32], names[GEODEC_INPUTS_MAX][sizeof p->input[0].name], digests[GEODEC_INPUTS_MAX][GEODEC_SHA256_HEX];
    if (p->n_inputs < 0 || p->n_inputs > GEODEC_INPUTS_MAX) GEODEC_FAIL(GEODEC_INVAL, "%d inputs", p->n_inputs);
    (void)snprintf(version, sizeof version, "%d.%d", a->kind->major, a->kind->minor);
    GEODEC_PASS(put_user_text(a, "kind", a->kind->name, err));
    GEODEC_PASS(put_user_text(a, "schema_version", version, err));
    GEODEC_PASS(put_user_text(a, "tool", p->tool, err));
    GEODEC_PASS(put_user_text(a, "tool_version", geodec_version(), err));
    GEODEC_PASS(put_user_text(a, "command_line", p->command_line, err));
    GEODEC_PASS(geodec__h5_put_number(a->file, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, &p->seed, err));
    GEODEC_PASS(put_user_text(a, "blas_core", p->blas_core, err));
    GEODEC_PASS(put_user_text(a, "model_fingerprint", either(p->model_fingerprint, p->inherited_model), err));
    GEODEC_PASS(
        put_user_text(a, "tokenizer_fingerprint", either(p->tokenizer_fingerprint, p->inherited_tokenizer), err));
    memset(names, 0, sizeof names);
    memset(digests, 0, sizeof digests);
    for (int i = 0; i < p->n_inputs; i++) {
        memcpy(names[i], p->input[i].name, sizeof names[i]);
        names[i][sizeof names[i] - 1] = '\0';
        geodec__h5_make_plain(names[i]);
        memcpy(digests[i], p->input[i].sha256, sizeof digests[i]);
    }
    GEODEC_PASS(geodec__h5_put_texts(a->file, "input_names", p->n_inputs, names[0], sizeof names[0], err));
    GEODEC_PASS(geodec__h5_put_texts(a->file, "input_sha256", p->n_inputs, digests[0], sizeof digests[0], err));
    return GEODEC_OK;
}

geodec_status geodec_artifact_create(const geodec_kind *kind, const char *path, const geodec_provenance *p,
                                     geodec_artifact **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    GEODEC_TRY(geodec__artifact_new(kind, path, &a, err));
    GEODEC_TRY(geodec_atomic_open(path, &a->tmp, err));
    GEODEC_TRY_MSG(create_file(a, err), "%s", path);
    GEODEC_TRY_MSG(put_provenance(a, p, err), "%s", path);
    *out = a;
    a = NULL;
done:
    geodec_artifact_close(a);
    return st;
}

geodec_status geodec_artifact_set_dim(geodec_artifact *a, const char *name, int64_t extent, geodec_err *err)
{
    struct geodec__dim_state *d = geodec__kind_dim_find(a, name);
    if (!d) GEODEC_FAIL(GEODEC_INVAL, "%s: kind %s has no dimension %s", a->path, a->kind->name, name);
    if (extent < 0) GEODEC_FAIL(GEODEC_INVAL, "%s: dimension %s = %lld", a->path, name, (long long)extent);
    if (d->extent != GEODEC__EXTENT_UNKNOWN && d->extent != extent)
        GEODEC_FAIL(GEODEC_INVAL, "%s: dimension %s is already %lld, not %lld", a->path, name, (long long)d->extent,
                    (long long)extent);
    d->extent = extent;
    return GEODEC_OK;
}

/* ---- fields ----------------------------------------------------------------------------------------------------- */

/* Whole rows up to GEODEC__CHUNK_BYTES bytes; a row above CHUNK_MAX is divided along its outermost axes. */
static void chunk_shape(const int64_t *shape, int rank, size_t size, hsize_t *chunk)
{
    int64_t inner = (int64_t)size; /* bytes below axis d; the shape is within the limit, so no overflow */
    int d = rank - 1;
    for (; d > 0 && inner * (shape[d] > 0 ? shape[d] : 1) <= CHUNK_MAX; d--) {
        chunk[d] = shape[d] > 0 ? (hsize_t)shape[d] : 1;
        inner *= (int64_t)chunk[d];
    }
    const int64_t room = (d > 0 ? CHUNK_MAX : GEODEC__CHUNK_BYTES) / inner, extent = shape[d] > 0 ? shape[d] : 1;
    chunk[d] = (hsize_t)(room < 1 ? 1 : room < extent ? room : extent);
    while (--d >= 0) chunk[d] = 1;
}

static geodec_status make_lists(const geodec_field *f, const int64_t *shape, int rank, hid_t *dcpl, hid_t *dapl,
                                hid_t *lcpl, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC__H5(*dcpl = H5Pcreate(H5P_DATASET_CREATE), GEODEC_INTERNAL, "property list");
    GEODEC__H5(*dapl = H5Pcreate(H5P_DATASET_ACCESS), GEODEC_INTERNAL, "property list");
    GEODEC__H5(*lcpl = H5Pcreate(H5P_LINK_CREATE), GEODEC_INTERNAL, "property list");
    GEODEC__H5(H5Pset_obj_track_times(*dcpl, false), GEODEC_INTERNAL, "object times");
    if (rank == 0) goto done;
    hsize_t chunk[GEODEC_RANK_MAX];
    chunk_shape(shape, rank, geodec_type_size(f->type), chunk);
    GEODEC__H5(H5Pset_chunk(*dcpl, rank, chunk), GEODEC_INTERNAL, "chunks");
    if (f->flags & GEODEC_FIELD_COMPRESS) {
        GEODEC__H5(H5Pset_shuffle(*dcpl), GEODEC_INTERNAL, "shuffle");
        GEODEC__H5(H5Pset_deflate(*dcpl, DEFLATE_LEVEL), GEODEC_INTERNAL, "deflate");
    }
    GEODEC__H5(H5Pset_fletcher32(*dcpl), GEODEC_INTERNAL, "Fletcher32");
    /* The unused part of edge chunks is also written; without a fill value it would be uninitialised memory. */
    GEODEC__H5(H5Pset_fill_time(*dcpl, H5D_FILL_TIME_ALLOC), GEODEC_INTERNAL, "fill time");
    /* Each chunk of a stream is written whole and once: a chunk cache would only use memory that grows with the
     * rows. */
    const size_t cache = (f->flags & GEODEC_FIELD_STREAM) ? 0 : GEODEC__CHUNK_CACHE;
    GEODEC__H5(H5Pset_chunk_cache(*dapl, CHUNK_SLOTS, cache, 1.0), GEODEC_INTERNAL, "chunk cache");
done:
    return st;
}

static geodec_status make_group(geodec_artifact *a, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char name[80];
    hid_t gcpl = -1, group = -1;
    const char *slash = strchr(path + 1, '/');
    if (!slash) goto done;
    (void)snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
    const htri_t there = H5Lexists(a->file, name, H5P_DEFAULT);
    GEODEC__H5(there, GEODEC_IO, "group %s", name);
    if (there) goto done;
    GEODEC__H5(gcpl = H5Pcreate(H5P_GROUP_CREATE), GEODEC_INTERNAL, "property list");
    GEODEC__H5(H5Pset_obj_track_times(gcpl, false), GEODEC_INTERNAL, "object times");
    GEODEC__H5(group = H5Gcreate2(a->file, name, H5P_DEFAULT, gcpl, H5P_DEFAULT), GEODEC_IO, "cannot create group %s",
               name);
done:
    (void)geodec__h5_close(group);
    (void)geodec__h5_close(gcpl);
    return st;
}

/* Creates the dataset of a->field[i], whose rank and shape are set. STREAM fields start with 0 rows. rows: their final
 * number, INT32_MAX if it is larger. */
static geodec_status make_dataset(geodec_artifact *a, int i, int64_t rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    const bool stream = (f->flags & GEODEC_FIELD_STREAM) != 0;
    hid_t dcpl = -1, dapl = -1, lcpl = -1, space = -1;
    hsize_t now[GEODEC_RANK_MAX], most[GEODEC_RANK_MAX];
    int64_t chunked[GEODEC_RANK_MAX], bytes;
    for (int d = 0; d < s->rank; d++) {
        now[d] = (hsize_t)s->shape[d];
        most[d] = s->shape[d] ? now[d] : H5S_UNLIMITED; /* HDF5 allows no chunk larger than a fixed extent, not even for
                                                         * extent 0 */
        chunked[d] = s->shape[d];
    }
    if (stream) {
        now[0] = 0;
        most[0] = H5S_UNLIMITED;
        chunked[0] = rows;
        s->shape[0] = 0;
    }
    GEODEC_TRY(geodec__kind_shape_bytes(f, s->shape, s->rank, &bytes, err));
    GEODEC_TRY(make_lists(f, chunked, s->rank, &dcpl, &dapl, &lcpl, err));
    GEODEC_TRY(make_group(a, f->path, err));
    GEODEC__H5(space = s->rank ? H5Screate_simple(s->rank, now, most) : H5Screate(H5S_SCALAR), GEODEC_INTERNAL,
               "shape");
    GEODEC__H5(s->dataset = H5Dcreate2(a->file, f->path, geodec__h5_file_type(f->type), space, lcpl, dcpl, dapl),
               GEODEC_IO, "cannot create field %s", f->path);
    GEODEC_TRY(geodec__h5_put_text(s->dataset, "units", f->unit, err));
    GEODEC_TRY(geodec__h5_put_text(s->dataset, "long_name", f->long_name, err));
    GEODEC_TRY(geodec__h5_put_text(s->dataset, "dimensions", f->dims, err));
    if (f->type == GEODEC_F16) GEODEC_TRY(geodec__h5_put_text(s->dataset, "encoding", "ieee-binary16", err));
done:
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(dcpl);
    (void)geodec__h5_close(dapl);
    (void)geodec__h5_close(lcpl);
    return st;
}

/* Sets rank and shape from the table; with rows_later the first axis of a STREAM field may still be unknown. */
static geodec_status resolve_shape(geodec_artifact *a, int i, bool rows_later, geodec_err *err)
{
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    geodec__axis axis[GEODEC_RANK_MAX];
    GEODEC_PASS(geodec__kind_field_axes(f, axis, &s->rank, err));
    for (int d = 0; d < s->rank; d++) {
        s->shape[d] = axis[d].name[0] ? geodec__kind_dim_find(a, axis[d].name)->extent : axis[d].fixed;
        if (d == 0 && rows_later) s->shape[d] = 0;
        if (s->shape[d] == GEODEC__EXTENT_UNKNOWN)
            GEODEC_FAIL(GEODEC_INVAL, "field %s: dimension %s is not set", f->path, axis[d].name);
    }
    return GEODEC_OK;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

static int64_t row_bytes(const geodec_field *f, const struct geodec__field_state *s)
{
    int64_t bytes = (int64_t)geodec_type_size(f->type);
    for (int d = 1; d < s->rank; d++) bytes *= s->shape[d];
    return bytes;
}

/* Adds rows to the dataset; the first rows create it. */
static geodec_status put_rows(geodec_artifact *a, int i, int64_t n_rows, bool last, const void *data, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    hid_t file_space = -1, memory_space = -1;
    hsize_t size[GEODEC_RANK_MAX], start[GEODEC_RANK_MAX] = {0}, count[GEODEC_RANK_MAX];
    if (s->dataset < 0) GEODEC_TRY(make_dataset(a, i, last ? n_rows : INT32_MAX, err));
    for (int d = 0; d < s->rank; d++) size[d] = count[d] = (hsize_t)s->shape[d];
    size[0] = (hsize_t)(s->rows + n_rows);
    start[0] = (hsize_t)s->rows;
    count[0] = (hsize_t)n_rows;
    GEODEC__H5(H5Dset_extent(s->dataset, size), GEODEC_IO, "field %s: cannot write", f->path);
    if (n_rows && row_bytes(f, s)) {
        GEODEC__H5(file_space = H5Dget_space(s->dataset), GEODEC_INTERNAL, "shape");
        GEODEC__H5(memory_space = H5Screate_simple(s->rank, count, NULL), GEODEC_INTERNAL, "shape");
        GEODEC__H5(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL), GEODEC_INTERNAL, "rows");
        GEODEC__H5(H5Dwrite(s->dataset, geodec__h5_memory_type(f->type), memory_space, file_space, H5P_DEFAULT, data),
                   GEODEC_IO, "field %s: cannot write", f->path);
    }
    s->rows += n_rows;
done:
    (void)geodec__h5_close(file_space);
    (void)geodec__h5_close(memory_space);
    return st;
}

/* Writes n_rows, whole chunks of a field with a buffer. The buffer is empty unless it is `data`. */
static geodec_status put_chunks(geodec_artifact *a, int i, int64_t n_rows, const char *data, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    const int64_t bytes = s->chunk_rows * row_bytes(f, s);
    hsize_t size[GEODEC_RANK_MAX];
    if (!s->direct) {
        GEODEC_TRY(put_rows(a, i, n_rows, false, data, err));
        goto done;
    }
    if (s->dataset < 0) GEODEC_TRY(make_dataset(a, i, INT32_MAX, err));
    for (int d = 0; d < s->rank; d++) size[d] = (hsize_t)s->shape[d];
    size[0] = (hsize_t)(s->rows + n_rows);
    GEODEC__H5(H5Dset_extent(s->dataset, size), GEODEC_IO, "field %s: cannot write", f->path);
    for (; n_rows > 0; n_rows -= s->chunk_rows, data += bytes) {
        if (data != s->buffer) memcpy(s->buffer, data, (size_t)bytes);
        GEODEC_TRY(geodec__chunks_write(s->dataset, f->path, s->rows, s->buffer, bytes, err));
        s->rows += s->chunk_rows;
    }
done:
    return st;
}

static geodec_status start_stream(geodec_artifact *a, int i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    int64_t shape[GEODEC_RANK_MAX], bytes;
    hsize_t chunk[GEODEC_RANK_MAX] = {0};
    GEODEC_TRY(resolve_shape(a, i, true, err));
    memcpy(shape, s->shape, sizeof shape);
    shape[0] = 1;
    GEODEC_TRY(geodec__kind_shape_bytes(f, shape, s->rank, &bytes, err));
    shape[0] = INT32_MAX;
    chunk_shape(shape, s->rank, geodec_type_size(f->type), chunk);
    s->chunk_rows = (int64_t)chunk[0];
    if (bytes && s->chunk_rows > 1) {
        GEODEC_NEW(s->buffer, s->chunk_rows * bytes + GEODEC__CHECKSUM);
        s->direct = geodec__chunks_direct(f, shape, chunk, s->rank);
    }
    s->present = true;
done:
    return st;
}

/* Whole chunks are written directly, the rest is buffered. */
static geodec_status add_rows(geodec_artifact *a, int i, int64_t n_rows, const void *data, geodec_err *err)
{
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    const char *from = data;
    int64_t shape[GEODEC_RANK_MAX], bytes;
    const int64_t before = s->rows + s->waiting, width = row_bytes(f, s);
    if (n_rows > INT64_MAX - before) GEODEC_FAIL(GEODEC_LIMIT, "field %s: too many rows", f->path);
    memcpy(shape, s->shape, sizeof shape);
    shape[0] = before + n_rows;
    GEODEC_PASS(geodec__kind_shape_bytes(f, shape, s->rank, &bytes, err));
    GEODEC_PASS(
        geodec__kind_check_finite(f, data, n_rows * width, before * width / (int64_t)geodec_type_size(f->type), err));
    if (!s->buffer) {
        GEODEC_PASS(put_rows(a, i, n_rows, false, data, err));
        return GEODEC_OK;
    }
    while (n_rows > 0) {
        int64_t take = n_rows - n_rows % s->chunk_rows;
        if (s->waiting == 0 && take > 0) {
            GEODEC_PASS(put_chunks(a, i, take, from, err));
        } else {
            take = n_rows < s->chunk_rows - s->waiting ? n_rows : s->chunk_rows - s->waiting;
            memcpy(s->buffer + s->waiting * width, from, (size_t)(take * width));
            s->waiting += take;
            if (s->waiting == s->chunk_rows) {
                s->waiting = 0;
                GEODEC_PASS(put_chunks(a, i, s->chunk_rows, s->buffer, err));
            }
        }
        from += take * width;
        n_rows -= take;
    }
    return GEODEC_OK;
}

geodec_status geodec_artifact_append(geodec_artifact *a, const char *path, int64_t n_rows, const void *data,
                                     geodec_err *err)
{
    int i;
    GEODEC_PASS(geodec__kind_field_index(a, path, &i, err));
    if (!(a->kind->fields[i].flags & GEODEC_FIELD_STREAM))
        GEODEC_FAIL(GEODEC_INVAL, "%s: field %s must be written whole, not appended to", a->path, path);
    if (n_rows < 0) GEODEC_FAIL(GEODEC_INVAL, "%s: field %s: %lld rows", a->path, path, (long long)n_rows);
    if (!a->field[i].present) GEODEC_PASS_MSG(start_stream(a, i, err), "%s", a->path);
    GEODEC_PASS_MSG(add_rows(a, i, n_rows, data, err), "%s", a->path);
    return GEODEC_OK;
}

static geodec_status write_whole(geodec_artifact *a, int i, const void *data, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    int64_t bytes;
    if (s->present) GEODEC_THROW(GEODEC_INVAL, "field %s is already written", f->path);
    GEODEC_TRY(resolve_shape(a, i, false, err));
    const int64_t rows = s->rank ? s->shape[0] : 0;
    if (f->flags & GEODEC_FIELD_STREAM) {
        GEODEC_TRY(start_stream(a, i, err));
        GEODEC_TRY(add_rows(a, i, rows, data, err));
        goto done;
    }
    GEODEC_TRY(geodec__kind_shape_bytes(f, s->shape, s->rank, &bytes, err));
    GEODEC_TRY(geodec__kind_check_finite(f, data, bytes, 0, err));
    GEODEC_TRY(make_dataset(a, i, 0, err));
    if (bytes)
        GEODEC__H5(H5Dwrite(s->dataset, geodec__h5_memory_type(f->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
                   GEODEC_IO, "field %s: cannot write", f->path);
    s->present = true;
done:
    return st;
}

geodec_status geodec_artifact_write(geodec_artifact *a, const char *path, const void *data, geodec_err *err)
{
    int i;
    GEODEC_PASS(geodec__kind_field_index(a, path, &i, err));
    GEODEC_PASS_MSG(write_whole(a, i, data, err), "%s", a->path);
    return GEODEC_OK;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static geodec_status start_attr(geodec_artifact *a, const char *attr, geodec_attr_type type, int *i, geodec_err *err)
{
    GEODEC_PASS(geodec__kind_attr_index(a, attr, type, i, err));
    if (a->attr[*i].present) GEODEC_FAIL(GEODEC_INVAL, "%s: attribute %s is already written", a->path, attr);
    return GEODEC_OK;
}

geodec_status geodec_artifact_put_i64(geodec_artifact *a, const char *attr, int64_t v, geodec_err *err)
{
    int i;
    GEODEC_PASS(start_attr(a, attr, GEODEC_ATTR_I64, &i, err));
    GEODEC_PASS_MSG(geodec__h5_put_number(a->file, attr, H5T_STD_I64LE, H5T_NATIVE_INT64, &v, err), "%s", a->path);
    a->attr[i].present = true;
    return GEODEC_OK;
}

geodec_status geodec_artifact_put_f64(geodec_artifact *a, const char *attr, double v, geodec_err *err)
{
    int i;
    GEODEC_PASS(start_attr(a, attr, GEODEC_ATTR_F64, &i, err));
    if (!isfinite(v) && !(a->kind->attrs[i].flags & GEODEC_FIELD_NONFINITE))
        GEODEC_FAIL(GEODEC_NUMERIC, "%s: attribute %s is not a finite number", a->path, attr);
    GEODEC_PASS_MSG(geodec__h5_put_number(a->file, attr, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &v, err), "%s", a->path);
    a->attr[i].present = true;
    return GEODEC_OK;
}

geodec_status geodec_artifact_put_str(geodec_artifact *a, const char *attr, const char *v, geodec_err *err)
{
    int i;
    GEODEC_PASS(start_attr(a, attr, GEODEC_ATTR_STR, &i, err));
    GEODEC_PASS_MSG(geodec__h5_put_text(a->file, attr, v, err), "%s", a->path);
    a->attr[i].present = true;
    return GEODEC_OK;
}

/* ---- commit ----------------------------------------------------------------------------------------------------- */

/* Writes buffered rows and sets the first dimension of STREAM fields to their number of rows. */
static geodec_status settle_rows(geodec_artifact *a, geodec_err *err)
{
    geodec__axis axis[GEODEC_RANK_MAX];
    int rank;
    for (int i = 0; i < a->kind->n_fields; i++) {
        const geodec_field *f = &a->kind->fields[i];
        if (!(f->flags & GEODEC_FIELD_STREAM) || !a->field[i].present) continue;
        GEODEC_PASS(geodec__kind_field_axes(f, axis, &rank, err));
        if (a->field[i].waiting || a->field[i].dataset < 0)
            GEODEC_PASS(put_rows(a, i, a->field[i].waiting, true, a->field[i].buffer, err));
        a->field[i].waiting = 0;
        struct geodec__dim_state *d = geodec__kind_dim_find(a, axis[0].name);
        if (d->extent != GEODEC__EXTENT_UNKNOWN && d->extent != a->field[i].rows)
            GEODEC_FAIL(GEODEC_INVAL, "field %s has %lld rows, dimension %s is %lld", f->path,
                        (long long)a->field[i].rows, d->name, (long long)d->extent);
        d->extent = a->field[i].rows;
    }
    return GEODEC_OK;
}

static geodec_status check_complete(const geodec_artifact *a, geodec_err *err)
{
    for (int i = 0; i < a->kind->n_fields; i++)
        if (!a->field[i].present && !(a->kind->fields[i].flags & GEODEC_FIELD_OPTIONAL))
            GEODEC_FAIL(GEODEC_INVAL, "field %s was not written", a->kind->fields[i].path);
    for (int i = 0; i < a->kind->n_attrs; i++)
        if (!a->attr[i].present && !(a->kind->attrs[i].flags & GEODEC_FIELD_OPTIONAL))
            GEODEC_FAIL(GEODEC_INVAL, "attribute %s was not written", a->kind->attrs[i].name);
    return GEODEC_OK;
}

/* Compressed fields are closed now: their last chunks were compressed then. */
static geodec_status check_compressed(geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t dataset = -1;
    for (int i = 0; i < a->kind->n_fields; i++) {
        const geodec_field *f = &a->kind->fields[i];
        if (!(f->flags & GEODEC_FIELD_COMPRESS) || !a->field[i].present || a->field[i].rank == 0) continue;
        GEODEC__H5(dataset = H5Dopen2(a->file, f->path, H5P_DEFAULT), GEODEC_IO, "field %s", f->path);
        GEODEC_TRY_MSG(geodec__h5_filters_check(dataset, f->path, err), "cannot write");
        (void)geodec__h5_close(dataset);
        dataset = -1;
    }
done:
    (void)geodec__h5_close(dataset);
    return st;
}

static geodec_status close_file(geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int i = 0; i < a->kind->n_fields; i++) {
        const hid_t dataset = a->field[i].dataset;
        a->field[i].dataset = -1;
        GEODEC__H5(geodec__h5_close(dataset), GEODEC_IO, "field %s: cannot write", a->kind->fields[i].path);
    }
    GEODEC__H5(H5Fflush(a->file, H5F_SCOPE_GLOBAL), GEODEC_IO, "cannot write");
    GEODEC_TRY(check_compressed(a, err));
    const hid_t file = a->file;
    a->file = -1;
    GEODEC__H5(H5Fclose(file), GEODEC_IO, "cannot write");
done:
    return st;
}

static geodec_status seal(geodec_artifact *a, geodec_err *err)
{
    geodec__header h = {.major = a->kind->major, .minor = a->kind->minor};
    char block[GEODEC__USER_BLOCK];
    FILE *stream = geodec_atomic_stream(a->tmp);
    if (!stream) GEODEC_FAIL(GEODEC_IO, "cannot open the file again");
    (void)snprintf(h.kind, sizeof h.kind, "%s", a->kind->name);
    GEODEC_PASS(geodec__header_digest(geodec_atomic_fd(a->tmp), GEODEC__USER_BLOCK, h.sha256, err));
    geodec__header_format(&h, block);
    if (fseek(stream, 0, SEEK_SET) != 0) GEODEC_FAIL(GEODEC_IO, "cannot write the header");
    GEODEC_PASS(geodec_atomic_write(a->tmp, block, sizeof block, err));
    return GEODEC_OK;
}

geodec_status geodec_artifact_commit(geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY_MSG(settle_rows(a, err), "%s", a->path);
    GEODEC_TRY_MSG(check_complete(a, err), "%s", a->path);
    GEODEC_TRY_MSG(geodec__scales_write(a, err), "%s", a->path);
    GEODEC_TRY_MSG(close_file(a, err), "%s", a->path);
    GEODEC_TRY_MSG(seal(a, err), "%s", a->path);
    geodec_atomic *tmp = a->tmp;
    a->tmp = NULL;
    GEODEC_TRY(geodec_atomic_commit(tmp, err));
done:
    geodec_artifact_close(a);
    return st;
}
