/* Field tables: axes, and the checks of a table. */
#include "artifact/artifact_internal.h"
#include "base/finite.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static bool is_name(const char *s, size_t n, size_t room, const char *also)
{
    if (n < 1 || n >= room) return false;
    for (size_t i = 0; i < n; i++) {
        const char c = s[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool digit = c >= '0' && c <= '9';
        if (!letter && !(digit && i > 0) && !strchr(also, c)) return false;
    }
    return true;
}

geodec_status geodec__kind_field_axes(const geodec_field *f, geodec__axis axis[GEODEC_RANK_MAX], int *rank,
                                      geodec_err *err)
{
    int n = 0;
    for (const char *p = f->dims; *p;) {
        const size_t length = strcspn(p, ",");
        if (n == GEODEC_RANK_MAX)
            GEODEC_FAIL(GEODEC_INTERNAL, "field %s: more than %d axes in its table", f->path, GEODEC_RANK_MAX);
        memset(&axis[n], 0, sizeof axis[n]);
        if (*p >= '0' && *p <= '9') {
            for (size_t i = 0; i < length; i++) {
                if (p[i] < '0' || p[i] > '9' || i > 9)
                    GEODEC_FAIL(GEODEC_INTERNAL, "field %s: bad axes '%s'", f->path, f->dims);
                axis[n].fixed = axis[n].fixed * 10 + (p[i] - '0');
            }
            if (axis[n].fixed < 1) GEODEC_FAIL(GEODEC_INTERNAL, "field %s: a fixed extent of 0", f->path);
        } else {
            if (!is_name(p, length, GEODEC__DIM_NAME, "_"))
                GEODEC_FAIL(GEODEC_INTERNAL, "field %s: bad axes '%s'", f->path, f->dims);
            memcpy(axis[n].name, p, length);
        }
        n++;
        p += length;
        if (*p == ',' && !*++p) GEODEC_FAIL(GEODEC_INTERNAL, "field %s: bad axes '%s'", f->path, f->dims);
    }
    *rank = n;
    return GEODEC_OK;
}

static geodec_status field_check(const geodec_kind *kind, int i, geodec_err *err)
{
    const geodec_field *f = &kind->fields[i];
    geodec__axis axis[GEODEC_RANK_MAX];
    int rank;
    if (!f->path || !f->dims || !f->unit || !f->long_name || !f->unit[0] || !f->long_name[0])
        GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: field %d lacks path, dims, unit or long name", kind->name, i);
    const char *name = f->path + 1, *slash = f->path[0] == '/' ? strchr(name, '/') : NULL;
    bool good = f->path[0] == '/';
    if (good && slash) {
        good = is_name(name, (size_t)(slash - name), 64, "_");
        name = slash + 1;
    }
    if (!good || !is_name(name, strlen(name), 64, "_"))
        GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: bad field path '%s'", kind->name, f->path);
    if (!geodec_type_size(f->type)) GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: field %s: bad type", kind->name, f->path);
    GEODEC_PASS_MSG(geodec__kind_field_axes(f, axis, &rank, err), "kind %s", kind->name);
    if ((f->flags & GEODEC_FIELD_STREAM) && (rank < 1 || !axis[0].name[0]))
        GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: stream field %s needs a named first axis", kind->name, f->path);
    if (f->since_minor < 0 || f->since_minor > kind->minor)
        GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: field %s: bad since_minor", kind->name, f->path);
    for (int j = 0; j < i; j++)
        if (strcmp(kind->fields[j].path, f->path) == 0)
            GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: field %s twice", kind->name, f->path);
    return GEODEC_OK;
}

geodec_status geodec_kind_check(const geodec_kind *kind, geodec_err *err)
{
    if (!kind || !kind->name || !kind->tool || !kind->purpose)
        GEODEC_FAIL(GEODEC_INTERNAL, "a kind lacks name, tool or purpose");
    if (!is_name(kind->name, strlen(kind->name), GEODEC__KIND_NAME, "-_") || kind->major < 0 || kind->minor < 0)
        GEODEC_FAIL(GEODEC_INTERNAL, "kind '%s': bad name or version", kind->name);
    for (int i = 0; i < kind->n_fields; i++) GEODEC_PASS(field_check(kind, i, err));
    for (int i = 0; i < kind->n_attrs; i++) {
        const geodec_attr *at = &kind->attrs[i];
        if (!at->name || !at->long_name || !is_name(at->name, strlen(at->name), 64, "_") ||
            (unsigned)at->type > GEODEC_ATTR_STR)
            GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: attribute %d is malformed", kind->name, i);
        for (int j = 0; j < i; j++)
            if (strcmp(kind->attrs[j].name, at->name) == 0)
                GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: attribute %s twice", kind->name, at->name);
    }
    return GEODEC_OK;
}

geodec_status geodec__kind_shape_bytes(const geodec_field *f, const int64_t *shape, int rank, int64_t *bytes,
                                       geodec_err *err)
{
    int64_t n = (int64_t)geodec_type_size(f->type);
    bool empty = false, large = false;
    for (int d = 0; d < rank; d++) {
        empty = empty || shape[d] == 0;
        if (shape[d] > 0) large = large || geodec_mem_mul(n, shape[d], &n) != 0 || n > GEODEC_FIELD_BYTES_MAX;
    }
    if (large)
        GEODEC_FAIL(GEODEC_LIMIT, "field %s: its size is above the limit of %lld GiB", f->path,
                    (long long)(GEODEC_FIELD_BYTES_MAX >> 30));
    *bytes = empty ? 0 : n;
    return GEODEC_OK;
}

/* Index of the first value that is not finite, or -1. */
static int64_t find_nonfinite(geodec_type t, const void *data, int64_t n)
{
    if (t == GEODEC_F64) {
        const double *x = data;
        for (int64_t i = 0; i < n; i++)
            if (!isfinite(x[i])) return i;
    } else if (t == GEODEC_F32) {
        return geodec_finite_first_not_f32(data, n);
    } else if (t == GEODEC_F16) {
        return geodec_finite_first_not_f16(data, n);
    }
    return -1;
}

geodec_status geodec__kind_check_finite(const geodec_field *f, const void *data, int64_t bytes, int64_t first,
                                        geodec_err *err)
{
    if (f->flags & GEODEC_FIELD_NONFINITE) return GEODEC_OK;
    const int64_t at = find_nonfinite(f->type, data, bytes / (int64_t)geodec_type_size(f->type));
    if (at >= 0)
        GEODEC_FAIL(GEODEC_NUMERIC, "field %s: element %lld is not a finite number", f->path, (long long)(first + at));
    return GEODEC_OK;
}

/* ---- the object ------------------------------------------------------------------------------------------------- */

static geodec_status collect_dims(geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__axis axis[GEODEC_RANK_MAX];
    int rank;
    GEODEC_NEW(a->dim, (int64_t)a->kind->n_fields * GEODEC_RANK_MAX);
    for (int i = 0; i < a->kind->n_fields; i++) {
        GEODEC_TRY(geodec__kind_field_axes(&a->kind->fields[i], axis, &rank, err));
        for (int d = 0; d < rank; d++) {
            if (!axis[d].name[0] || geodec__kind_dim_find(a, axis[d].name)) continue;
            memcpy(a->dim[a->n_dims].name, axis[d].name, sizeof axis[d].name);
            a->dim[a->n_dims++].extent = GEODEC__EXTENT_UNKNOWN;
        }
    }
done:
    return st;
}

geodec_status geodec__artifact_new(const geodec_kind *kind, const char *path, geodec_artifact **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    GEODEC_TRY(geodec_kind_check(kind, err));
    GEODEC_NEW(a, 1);
    a->file = -1;
    a->kind = kind;
    a->major = kind->major;
    a->minor = kind->minor;
    a->path = geodec_mem_strdup(path);
    if (!a->path) GEODEC_THROW(GEODEC_NOMEM, "no memory for a file name");
    GEODEC_NEW(a->field, kind->n_fields);
    for (int i = 0; i < kind->n_fields; i++) a->field[i].dataset = -1;
    GEODEC_NEW(a->attr, kind->n_attrs);
    GEODEC_NEW(a->whole, 1);
    a->whole->fd = -1;
    GEODEC_TRY(collect_dims(a, err));
    *out = a;
    a = NULL;
done:
    geodec_artifact_close(a);
    return st;
}

void geodec_artifact_close(geodec_artifact *a)
{
    if (!a) return;
    if (a->field)
        for (int i = 0; i < a->kind->n_fields; i++) {
            (void)geodec__h5_close(a->field[i].dataset);
            geodec_mem_free(a->field[i].buffer);
        }
    (void)geodec__h5_close(a->file);
    geodec_atomic_abandon(a->tmp);
    if (a->attr)
        for (int i = 0; i < a->kind->n_attrs; i++) geodec_mem_free(a->attr[i].text);
    char *const texts[] = {a->text_tool,      a->text_command, a->text_model,
                           a->text_tokenizer, a->text_core,    a->text_tool_version};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) geodec_mem_free(texts[i]);
    if (a->whole && a->whole->fd >= 0) (void)close(a->whole->fd);
    GEODEC_FREE(a->whole, a->field, a->attr, a->dim, a->path, a);
}

geodec_status geodec__kind_field_index(const geodec_artifact *a, const char *path, int *index, geodec_err *err)
{
    int i = 0;
    while (i < a->kind->n_fields && strcmp(a->kind->fields[i].path, path) != 0) i++;
    if (i == a->kind->n_fields) GEODEC_FAIL(GEODEC_INVAL, "%s: kind %s has no field %s", a->path, a->kind->name, path);
    *index = i;
    return GEODEC_OK;
}

int geodec__kind_attr_find(const geodec_kind *kind, const char *name)
{
    for (int i = 0; i < kind->n_attrs; i++)
        if (strcmp(kind->attrs[i].name, name) == 0) return i;
    return -1;
}

geodec_status geodec__kind_attr_index(const geodec_artifact *a, const char *name, geodec_attr_type type, int *index,
                                      geodec_err *err)
{
    const int i = geodec__kind_attr_find(a->kind, name);
    if (i < 0) GEODEC_FAIL(GEODEC_INVAL, "%s: kind %s has no attribute %s", a->path, a->kind->name, name);
    if (a->kind->attrs[i].type != type) GEODEC_FAIL(GEODEC_INVAL, "%s: attribute %s has another type", a->path, name);
    *index = i;
    return GEODEC_OK;
}

struct geodec__dim_state *geodec__kind_dim_find(const geodec_artifact *a, const char *name)
{
    for (int i = 0; i < a->n_dims; i++)
        if (strcmp(a->dim[i].name, name) == 0) return &a->dim[i];
    return NULL;
}

const geodec_kind *geodec_artifact_kind(const geodec_artifact *a) { return a->kind; }
const char *geodec_artifact_path(const geodec_artifact *a) { return a->path; }
const geodec_provenance *geodec_artifact_provenance(const geodec_artifact *a) { return &a->provenance; }

void geodec_artifact_version(const geodec_artifact *a, int *major, int *minor)
{
    *major = a->major;
    *minor = a->minor;
}

const char *geodec_artifact_dim_at(const geodec_artifact *a, int i, int64_t *extent)
{
    for (int k = 0; k < a->n_dims; k++) {
        if (a->dim[k].extent == GEODEC__EXTENT_UNKNOWN || i-- > 0) continue;
        *extent = a->dim[k].extent;
        return a->dim[k].name;
    }
    return NULL;
}

geodec_status geodec_artifact_dim(const geodec_artifact *a, const char *name, int64_t *extent, geodec_err *err)
{
    const struct geodec__dim_state *d = geodec__kind_dim_find(a, name);
    if (!d) GEODEC_FAIL(GEODEC_INVAL, "%s: kind %s has no dimension %s", a->path, a->kind->name, name);
    if (d->extent == GEODEC__EXTENT_UNKNOWN) GEODEC_FAIL(GEODEC_NOTFOUND, "%s: dimension %s is not set", a->path, name);
    *extent = d->extent;
    return GEODEC_OK;
}

bool geodec_artifact_has(const geodec_artifact *a, const char *path)
{
    int i;
    return geodec__kind_field_index(a, path, &i, NULL) == GEODEC_OK && a->field[i].present;
}

bool geodec_artifact_has_attr(const geodec_artifact *a, const char *attr)
{
    const int i = geodec__kind_attr_find(a->kind, attr);
    return i >= 0 && a->attr[i].present;
}

geodec_status geodec_artifact_attr_text(const geodec_artifact *a, const char *attr, char room[GEODEC_FORMAT_ROOM],
                                        const char **text, geodec_err *err)
{
    const int i = geodec__kind_attr_find(a->kind, attr);
    if (i < 0) {
        if (geodec_artifact_get_str(a, attr, text, NULL) == GEODEC_OK) return GEODEC_OK;
        GEODEC_FAIL(GEODEC_INVAL, "kind '%s' has no attribute '%s'", a->kind->name, attr);
    }
    const struct geodec__attr_state *s = &a->attr[i];
    const geodec_attr_type type = a->kind->attrs[i].type;
    if (!s->present) GEODEC_FAIL(GEODEC_NOTFOUND, "there is no attribute '%s' in this file", attr);
    *text = type == GEODEC_ATTR_STR   ? s->text
            : type == GEODEC_ATTR_I64 ? geodec_format_element(GEODEC_I64, &s->i64, 0, room)
                                      : geodec_format_f64(s->f64, room);
    return GEODEC_OK;
}
