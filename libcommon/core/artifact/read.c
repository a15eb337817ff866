/* Reads artifacts. The contents of a file are used only after the digest and the kind's table are checked. */
#include "artifact/artifact_internal.h"
#include "base/mem.h"
#include "io/digests.h"
#include "io/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES_MAX = 16 << 20 };

/* ---- header and digest ------------------------------------------------------------------------------------------ */

/* Opens a file for reading and checks that it is a regular file with the header of an artifact. */
static geodec_status open_header(const char *path, int *out, struct stat *sb, geodec__header *h, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char block[GEODEC__USER_BLOCK];
    ssize_t part, got = 0;
    /* O_NONBLOCK: opening a named pipe does not block; it is refused below. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) GEODEC_THROW(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s", strerror(errno));
    if (fstat(fd, sb) != 0) GEODEC_THROW(GEODEC_IO, "%s", strerror(errno));
    if (S_ISDIR(sb->st_mode)) GEODEC_THROW(GEODEC_IO, "is a folder, not a file");
    if (!S_ISREG(sb->st_mode)) GEODEC_THROW(GEODEC_IO, "not a regular file");
    if (sb->st_size == 0) GEODEC_THROW(GEODEC_FORMAT, "the file is empty");
    GEODEC_TRY(geodec_inputs_note(path, fd, err));
    do { /* a read may return fewer bytes than there are */
        part = pread(fd, block + got, sizeof block - (size_t)got, (off_t)got);
        if (part > 0) got += part;
    } while (part > 0 ? got < (ssize_t)sizeof block : part < 0 && errno == EINTR);
    if (part < 0) GEODEC_THROW(GEODEC_IO, "cannot read: %s", strerror(errno));
    if (got < (ssize_t)sizeof block) {
        if (got >= 8 && memcmp(block, "geodec a", 8) == 0) GEODEC_THROW(GEODEC_FORMAT, "truncated within the header");
        GEODEC_THROW(GEODEC_FORMAT, "not a Geodec artifact");
    }
    GEODEC_TRY(geodec__header_parse(block, h, err));
    *out = fd;
    fd = -1;
done:
    if (fd >= 0) (void)close(fd);
    return st;
}

static geodec_status check_header(const geodec_kind *kind, const geodec__header *h, geodec_err *err)
{
    if (strcmp(h->kind, kind->name) != 0)
        GEODEC_FAIL(GEODEC_FORMAT, "is of kind '%s', not '%s' (made by %s)", h->kind, kind->name, kind->tool);
    if (h->major != kind->major)
        GEODEC_FAIL(GEODEC_VERSION, "has schema version %d.%d of kind '%s', this program reads %d.x; %s makes it again",
                    h->major, h->minor, kind->name, kind->major, kind->tool);
    return GEODEC_OK;
}

/* Digest of the file or of its body, or the one that another process of the job computed (io/digests.h). */
static geodec_status digest_of(const char *path, int fd, geodec_digest_part part, char hex[GEODEC_SHA256_HEX],
                               geodec_err *err)
{
    if (geodec_digests_find(path, part, fd, hex)) return GEODEC_OK;
    GEODEC_PASS(geodec__header_digest(fd, part == GEODEC_DIGEST_BODY ? GEODEC__USER_BLOCK : 0, hex, err));
    geodec_digests_add(path, part, fd, hex);
    return GEODEC_OK;
}

/* HDF5 opens by name: check that it opened the file whose digest was checked. */
static geodec_status same_file(hid_t file, const struct stat *checked, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    void *handle = NULL;
    struct stat now;
    GEODEC__H5(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle), GEODEC_IO, "cannot open");
    if (fstat(*(int *)handle, &now) != 0) GEODEC_THROW(GEODEC_IO, "%s", strerror(errno));
    if (now.st_ino != checked->st_ino || now.st_dev != checked->st_dev || now.st_size != checked->st_size)
        GEODEC_THROW(GEODEC_IO, "was replaced while it was being read; run the command again");
done:
    return st;
}

static geodec_status open_file(geodec_artifact *a, const struct stat *checked, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t fapl = -1;
    hsize_t block = 0;
    hid_t fcpl = -1;
    GEODEC__H5(fapl = H5Pcreate(H5P_FILE_ACCESS), GEODEC_INTERNAL, "property list");
    GEODEC__H5(H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG), GEODEC_INTERNAL, "closing rule");
    GEODEC__H5(H5Pset_file_locking(fapl, false, true), GEODEC_INTERNAL, "locking rule");
    GEODEC__H5(a->file = H5Fopen(a->path, H5F_ACC_RDONLY, fapl), GEODEC_FORMAT, "not readable as HDF5");
    GEODEC_TRY(same_file(a->file, checked, err));
    GEODEC__H5(fcpl = H5Fget_create_plist(a->file), GEODEC_FORMAT, "not readable as HDF5");
    GEODEC__H5(H5Pget_userblock(fcpl, &block), GEODEC_FORMAT, "not readable as HDF5");
    if (block != GEODEC__USER_BLOCK) GEODEC_THROW(GEODEC_FORMAT, "the HDF5 part does not follow the header");
done:
    (void)geodec__h5_close(fapl);
    (void)geodec__h5_close(fcpl);
    return st;
}

/* ---- fields ----------------------------------------------------------------------------------------------------- */

/* The path must consist of hard links to a dataset: soft and external links could lead outside the file. */
static geodec_status find_field(const geodec_artifact *a, const geodec_field *f, bool *present, geodec_err *err)
{
    bool elsewhere;
    H5O_type_t sort;
    GEODEC_PASS_MSG(geodec__h5_walk(a->file, f->path, present, &elsewhere, &sort, err), "field %s", f->path);
    if (elsewhere) GEODEC_FAIL(GEODEC_FORMAT, "field %s is a link to elsewhere", f->path);
    if (sort != (*present ? H5O_TYPE_DATASET : H5O_TYPE_GROUP))
        GEODEC_FAIL(GEODEC_FORMAT, "field %s is not a dataset", f->path);
    return GEODEC_OK;
}

/* Checks rank and extents against the table, and named dimensions against each other. */
static geodec_status check_shape(geodec_artifact *a, int i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    geodec__axis axis[GEODEC_RANK_MAX];
    hsize_t extent[GEODEC_RANK_MAX];
    int rank;
    hid_t space = -1;
    GEODEC_TRY(geodec__kind_field_axes(f, axis, &rank, err));
    GEODEC__H5(space = H5Dget_space(s->dataset), GEODEC_FORMAT, "field %s", f->path);
    const H5S_class_t sort = H5Sget_simple_extent_type(space);
    const int got = sort == H5S_NULL ? -1 : H5Sget_simple_extent_ndims(space);
    if (got != rank) GEODEC_THROW(GEODEC_FORMAT, "field %s has rank %d, not %d", f->path, got, rank);
    GEODEC__H5(H5Sget_simple_extent_dims(space, extent, NULL), GEODEC_FORMAT, "field %s", f->path);
    for (int d = 0; d < rank; d++) {
        if (extent[d] > (hsize_t)GEODEC_FIELD_BYTES_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "field %s: axis %d has %llu elements, above the limit", f->path, d,
                         (unsigned long long)extent[d]);
        s->shape[d] = (int64_t)extent[d];
        struct geodec__dim_state *named = axis[d].name[0] ? geodec__kind_dim_find(a, axis[d].name) : NULL;
        if (!named && s->shape[d] != axis[d].fixed)
            GEODEC_THROW(GEODEC_FORMAT, "field %s: axis %d has %lld elements, not %lld", f->path, d,
                         (long long)s->shape[d], (long long)axis[d].fixed);
        if (named && named->extent != GEODEC__EXTENT_UNKNOWN && named->extent != s->shape[d])
            GEODEC_THROW(GEODEC_FORMAT, "field %s: dimension %s is %lld, elsewhere %lld", f->path, named->name,
                         (long long)s->shape[d], (long long)named->extent);
        if (named) named->extent = s->shape[d];
    }
    s->rank = rank;
done:
    (void)geodec__h5_close(space);
    return st;
}

static geodec_status open_field(geodec_artifact *a, int i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    hid_t type = -1;
    int64_t bytes = 0;
    char what[192];
    GEODEC_TRY(find_field(a, f, &s->present, err));
    if (!s->present) {
        if ((f->flags & GEODEC_FIELD_OPTIONAL) || f->since_minor > a->minor) goto done;
        GEODEC_THROW(GEODEC_FORMAT, "field %s is missing", f->path);
    }
    GEODEC__H5(s->dataset = H5Dopen2(a->file, f->path, H5P_DEFAULT), GEODEC_FORMAT, "field %s", f->path);
    GEODEC__H5(type = H5Dget_type(s->dataset), GEODEC_FORMAT, "field %s", f->path);
    if (H5Tequal(type, geodec__h5_file_type(f->type)) <= 0)
        GEODEC_THROW(GEODEC_FORMAT, "field %s is not of type %s", f->path, geodec_type_name(f->type));
    GEODEC_TRY(check_shape(a, i, err));
    GEODEC_TRY(geodec__kind_shape_bytes(f, s->shape, s->rank, &bytes, err));
    (void)snprintf(what, sizeof what, "field %s", f->path);
    GEODEC_TRY(geodec__h5_storage_check(s->dataset, what, a->file_bytes, CHUNK_BYTES_MAX, &s->storage, err));
done:
    (void)geodec__h5_close(type);
    return st;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static geodec_status read_provenance(geodec_artifact *a, const geodec__header *h, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_provenance *p = &a->provenance;
    char *kind = NULL, *version = NULL, wanted[32], names[GEODEC_INPUTS_MAX][sizeof p->input[0].name];
    char digests[GEODEC_INPUTS_MAX][GEODEC_SHA256_HEX];
    int n_digests = 0;
    GEODEC_TRY(geodec__h5_get_text(a->file, "kind", &kind, err));
    GEODEC_TRY(geodec__h5_get_text(a->file, "schema_version", &version, err));
    (void)snprintf(wanted, sizeof wanted, "%d.%d", h->major, h->minor);
    if (strcmp(kind, h->kind) != 0 || strcmp(version, wanted) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "the header says kind '%s' %s, the contents say '%.31s' %.15s", h->kind, wanted,
                     kind, version);
    GEODEC_TRY(geodec__h5_get_text(a->file, "tool", &a->text_tool, err));
    GEODEC_TRY(geodec__h5_get_text(a->file, "tool_version", &a->text_tool_version, err));
    GEODEC_TRY(geodec__h5_get_text(a->file, "command_line", &a->text_command, err));
    GEODEC_TRY(geodec__h5_get_number(a->file, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, &p->seed, err));
    GEODEC_TRY(geodec__h5_get_text(a->file, "blas_core", &a->text_core, err));
    GEODEC_TRY(geodec__h5_get_text(a->file, "model_fingerprint", &a->text_model, err));
    GEODEC_TRY(geodec__h5_get_text(a->file, "tokenizer_fingerprint", &a->text_tokenizer, err));
    GEODEC_TRY(
        geodec__h5_get_texts(a->file, "input_names", GEODEC_INPUTS_MAX, names[0], sizeof names[0], &p->n_inputs, err));
    GEODEC_TRY(geodec__h5_get_texts(a->file, "input_sha256", GEODEC_INPUTS_MAX, digests[0], sizeof digests[0],
                                    &n_digests, err));
    if (n_digests != p->n_inputs) GEODEC_THROW(GEODEC_FORMAT, "input names and digests differ in number");
    for (int i = 0; i < n_digests; i++) {
        memcpy(p->input[i].name, names[i], sizeof names[i]);
        memcpy(p->input[i].sha256, digests[i], sizeof digests[i]);
    }
    p->tool = a->text_tool;
    p->command_line = a->text_command;
    p->blas_core = a->text_core;
    p->model_fingerprint = a->text_model;
    p->tokenizer_fingerprint = a->text_tokenizer;
done:
    GEODEC_FREE(kind, version);
    return st;
}

static geodec_status read_attr(geodec_artifact *a, int i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_attr *at = &a->kind->attrs[i];
    struct geodec__attr_state *s = &a->attr[i];
    const htri_t there = H5Aexists(a->file, at->name);
    GEODEC__H5(there, GEODEC_FORMAT, "attribute %s", at->name);
    if (!there && (at->flags & GEODEC_FIELD_OPTIONAL)) goto done;
    if (at->type == GEODEC_ATTR_I64)
        GEODEC_TRY(geodec__h5_get_number(a->file, at->name, H5T_STD_I64LE, H5T_NATIVE_INT64, &s->i64, err));
    else if (at->type == GEODEC_ATTR_F64)
        GEODEC_TRY(geodec__h5_get_number(a->file, at->name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &s->f64, err));
    else
        GEODEC_TRY(geodec__h5_get_text(a->file, at->name, &s->text, err));
    s->present = true;
done:
    return st;
}

/* ---- open ------------------------------------------------------------------------------------------------------- */

static geodec_status read_members(geodec_artifact *a, const geodec__header *h, const struct stat *checked,
                                  geodec_err *err)
{
    GEODEC_PASS(open_file(a, checked, err));
    GEODEC_PASS(read_provenance(a, h, err));
    for (int i = 0; i < a->kind->n_attrs; i++) GEODEC_PASS(read_attr(a, i, err));
    for (int i = 0; i < a->kind->n_fields; i++) GEODEC_PASS(open_field(a, i, err));
    return GEODEC_OK;
}

/* The kind is kinds[0], or with `any` it is looked up by name. */
static geodec_status open_checked(const geodec_kind *const *kinds, int n_kinds, bool any, bool digest, const char *path,
                                  geodec_artifact **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    const geodec_kind *kind = any ? NULL : kinds[0];
    geodec__header h;
    struct stat sb;
    int fd = -1;
    char body[GEODEC_SHA256_HEX];
    st = open_header(path, &fd, &sb, &h, err);
    if (st == GEODEC_FORMAT && kind)
        (void)geodec_err_add(err, st, __func__, __LINE__, "not a '%s' of %s", kind->name, kind->tool);
    if (st != GEODEC_OK) goto done;
    for (int i = 0; i < n_kinds && any; i++)
        if (strcmp(kinds[i]->name, h.kind) == 0) kind = kinds[i];
    if (!kind) GEODEC_THROW(GEODEC_UNSUPPORTED, "is of kind '%s', which this program does not know", h.kind);
    GEODEC_TRY(geodec__artifact_new(kind, path, &a, err));
    GEODEC_TRY(check_header(kind, &h, err));
    if (digest) GEODEC_TRY(digest_of(path, fd, GEODEC_DIGEST_BODY, body, err));
    if (digest && strcmp(body, h.sha256) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "does not match its own digest (truncated or altered); %s makes it again",
                     kind->tool);
    a->major = h.major;
    a->minor = h.minor;
    a->file_bytes = (int64_t)sb.st_size;
    geodec__h5_enter(path, true);
    st = read_members(a, &h, &sb, err);
    geodec__h5_leave();
    GEODEC_TRY_MSG(st, "not a valid '%s' artifact (%s makes it again)", kind->name, kind->tool);
    a->whole->fd = fd;
    fd = -1;
    *out = a;
    a = NULL;
done:
    if (st != GEODEC_OK) (void)geodec_err_add(err, st, __func__, __LINE__, "%s", path);
    if (fd >= 0) (void)close(fd);
    geodec_artifact_close(a);
    return st;
}

geodec_status geodec_artifact_open(const geodec_kind *kind, const char *path, geodec_artifact **out, geodec_err *err)
{
    return open_checked(&kind, 1, false, true, path, out, err);
}

geodec_status geodec_artifact_open_any(const geodec_kind *const *kinds, int n_kinds, const char *path,
                                       geodec_artifact **out, geodec_err *err)
{
    return open_checked(kinds, n_kinds, true, true, path, out, err);
}

geodec_status geodec_artifact_peek(const geodec_kind *kind, const char *path, geodec_artifact **out, geodec_err *err)
{
    return open_checked(&kind, 1, false, false, path, out, err);
}

geodec_status geodec_artifact_peek_any(const geodec_kind *const *kinds, int n_kinds, const char *path,
                                       geodec_artifact **out, geodec_err *err)
{
    return open_checked(kinds, n_kinds, true, false, path, out, err);
}

int64_t geodec_artifact_file_bytes(const geodec_artifact *a) { return a->file_bytes; }

const char *geodec_artifact_sha256(const geodec_artifact *a)
{
    char hex[GEODEC_SHA256_HEX];
    if (!a->whole->sha256[0] && a->whole->fd >= 0 &&
        digest_of(a->path, a->whole->fd, GEODEC_DIGEST_FILE, hex, NULL) == GEODEC_OK)
        memcpy(a->whole->sha256, hex, sizeof hex);
    return a->whole->sha256;
}

/* ---- reading members -------------------------------------------------------------------------------------------- */

static geodec_status stored_field(const geodec_artifact *a, const char *path, int *i, geodec_err *err)
{
    GEODEC_PASS(geodec__kind_field_index(a, path, i, err));
    if (!a->field[*i].present) GEODEC_FAIL(GEODEC_NOTFOUND, "%s: optional field %s is missing", a->path, path);
    return GEODEC_OK;
}

geodec_status geodec_artifact_shape(const geodec_artifact *a, const char *path, int64_t shape[6], int *rank,
                                    geodec_err *err)
{
    int i;
    GEODEC_PASS(stored_field(a, path, &i, err));
    memcpy(shape, a->field[i].shape, sizeof a->field[i].shape);
    *rank = a->field[i].rank;
    return GEODEC_OK;
}

/* A failure here is a bad chunk (Fletcher32, deflate) in a file with a good digest, or a disk error. */
static geodec_status read_slab(const geodec_artifact *a, int i, int64_t row0, int64_t n_rows, void *buffer,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    struct geodec__field_state *s = &a->field[i];
    const hid_t type = geodec__h5_memory_type(f->type);
    hid_t file_space = -1, memory_space = -1;
    hsize_t start[GEODEC_RANK_MAX] = {0}, count[GEODEC_RANK_MAX];
    int64_t bytes;
    geodec__h5_enter(a->path, false);
    GEODEC_TRY(geodec__kind_shape_bytes(f, s->shape, s->rank, &bytes, err));
    if (bytes == 0 || (s->rank && n_rows == 0)) goto done;
    if (!s->inflates) {
        GEODEC_TRY(geodec__h5_chunks_check(s->dataset, f->path, &s->storage, err));
        s->inflates = true;
    }
    if (s->rank == 0) {
        GEODEC__H5(H5Dread(s->dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer), GEODEC_CHECKSUM,
                   "field %s: unreadable", f->path);
        GEODEC_TRY(geodec__h5_still_whole(a->file, a->file_bytes, err));
        goto done;
    }
    for (int d = 0; d < s->rank; d++) count[d] = (hsize_t)s->shape[d];
    start[0] = (hsize_t)row0;
    count[0] = (hsize_t)n_rows;
    GEODEC__H5(file_space = H5Dget_space(s->dataset), GEODEC_INTERNAL, "shape");
    GEODEC__H5(memory_space = H5Screate_simple(s->rank, count, NULL), GEODEC_INTERNAL, "shape");
    GEODEC__H5(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL), GEODEC_INTERNAL, "rows");
    GEODEC__H5(H5Dread(s->dataset, type, memory_space, file_space, H5P_DEFAULT, buffer), GEODEC_CHECKSUM,
               "field %s: unreadable (%s makes it again)", f->path, a->kind->tool);
    GEODEC_TRY(geodec__h5_still_whole(a->file, a->file_bytes, err));
done:
    if ((st == GEODEC_CHECKSUM || st == GEODEC_FORMAT) &&
        geodec__h5_still_whole(a->file, a->file_bytes, NULL) != GEODEC_OK) { /* the cause */
        geodec_err_clear(err);
        st = geodec__h5_still_whole(a->file, a->file_bytes, err);
    }
    (void)geodec__h5_close(file_space);
    (void)geodec__h5_close(memory_space);
    geodec__h5_leave();
    return st;
}

geodec_status geodec_artifact_read(const geodec_artifact *a, const char *path, void *out_pointer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    void *data = NULL;
    int64_t bytes;
    int i;
    GEODEC_TRY(stored_field(a, path, &i, err));
    const struct geodec__field_state *s = &a->field[i];
    GEODEC_TRY(geodec__kind_shape_bytes(&a->kind->fields[i], s->shape, s->rank, &bytes, err));
    data = geodec_mem_new(bytes, 1);
    if (!data) GEODEC_THROW(GEODEC_NOMEM, "%s: field %s: no memory for %lld bytes", a->path, path, (long long)bytes);
    GEODEC_TRY_MSG(read_slab(a, i, 0, s->rank ? s->shape[0] : 1, data, err), "%s", a->path);
    memcpy(out_pointer, &data, sizeof data);
    data = NULL;
done:
    geodec_mem_free(data);
    return st;
}

geodec_status geodec_artifact_read_rows(const geodec_artifact *a, const char *path, int64_t row0, int64_t n_rows,
                                        void *buffer, geodec_err *err)
{
    int i;
    GEODEC_PASS(stored_field(a, path, &i, err));
    const struct geodec__field_state *s = &a->field[i];
    if (s->rank < 1) GEODEC_FAIL(GEODEC_INVAL, "%s: field %s has no rows", a->path, path);
    if (row0 < 0 || n_rows < 0 || n_rows > s->shape[0] || row0 > s->shape[0] - n_rows)
        GEODEC_FAIL(GEODEC_RANGE, "%s: field %s: rows %lld + %lld of %lld", a->path, path, (long long)row0,
                    (long long)n_rows, (long long)s->shape[0]);
    GEODEC_PASS_MSG(read_slab(a, i, row0, n_rows, buffer, err), "%s", a->path);
    return GEODEC_OK;
}

static geodec_status stored_attr(const geodec_artifact *a, const char *attr, geodec_attr_type type, int *i,
                                 geodec_err *err)
{
    GEODEC_PASS(geodec__kind_attr_index(a, attr, type, i, err));
    if (!a->attr[*i].present) GEODEC_FAIL(GEODEC_NOTFOUND, "%s: optional attribute %s is missing", a->path, attr);
    return GEODEC_OK;
}

geodec_status geodec_artifact_get_i64(const geodec_artifact *a, const char *attr, int64_t *v, geodec_err *err)
{
    int i;
    GEODEC_PASS(stored_attr(a, attr, GEODEC_ATTR_I64, &i, err));
    *v = a->attr[i].i64;
    return GEODEC_OK;
}

geodec_status geodec_artifact_get_f64(const geodec_artifact *a, const char *attr, double *v, geodec_err *err)
{
    int i;
    GEODEC_PASS(stored_attr(a, attr, GEODEC_ATTR_F64, &i, err));
    *v = a->attr[i].f64;
    return GEODEC_OK;
}

geodec_status geodec_artifact_get_str(const geodec_artifact *a, const char *attr, const char **v, geodec_err *err)
{
    int i;
    const struct {
        const char *name, *text;
    } common[] = {
        {"tool", a->text_tool},
        {"tool_version", a->text_tool_version},
        {"command_line", a->text_command},
        {"blas_core", a->text_core},
        {"model_fingerprint", a->text_model},
        {"tokenizer_fingerprint", a->text_tokenizer},
    };
    for (size_t k = 0; k < sizeof common / sizeof common[0]; k++)
        if (strcmp(common[k].name, attr) == 0 && common[k].text) {
            *v = common[k].text;
            return GEODEC_OK;
        }
    GEODEC_PASS(stored_attr(a, attr, GEODEC_ATTR_STR, &i, err));
    *v = a->attr[i].text;
    return GEODEC_OK;
}
