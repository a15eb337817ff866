#include "artifact/binding.h"

#include "artifact/artifact_internal.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* ---- members ----------------------------------------------------------------------------------------------------- */

static const geodec_type members[] = {
    [GEODEC_MEMBER_F64] = GEODEC_F64, [GEODEC_MEMBER_F32] = GEODEC_F32, [GEODEC_MEMBER_I64] = GEODEC_I64,
    [GEODEC_MEMBER_I32] = GEODEC_I32, [GEODEC_MEMBER_I16] = GEODEC_I16, [GEODEC_MEMBER_I8] = GEODEC_I8,
    [GEODEC_MEMBER_U64] = GEODEC_U64, [GEODEC_MEMBER_U32] = GEODEC_U32, [GEODEC_MEMBER_U16] = GEODEC_U16,
    [GEODEC_MEMBER_U8] = GEODEC_U8,   [GEODEC_MEMBER_BOOL] = GEODEC_U8,
};

/* Whether numbers of this member can be copied to and from a field. Enumerations are I32 in files, binary16 is U16 in
 * memory. */
static bool agrees(const geodec_field *f, const geodec_member *m)
{
    if ((size_t)m->type >= sizeof members / sizeof *members) return false;
    const geodec_type t = members[m->type];
    return t == f->type || (t == GEODEC_U32 && f->type == GEODEC_I32) || (t == GEODEC_U16 && f->type == GEODEC_F16);
}

/* The next name of a comma-separated list; NULL after the last. */
static const char *next_name(const char *list)
{
    const char *comma = strchr(list, ',');
    return comma ? comma + 1 : NULL;
}

/* Whether the axes of a field begin with these, which count the rows. */
static bool counted_by(const geodec_field *f, const geodec_rows *rows)
{
    const size_t n = rows->dim ? strlen(rows->dim) : 0;
    return n > 0 && strncmp(f->dims, rows->dim, n) == 0 && (f->dims[n] == ',' || f->dims[n] == '\0');
}

static const geodec_rows *rows_of(const geodec_kind *kind, const geodec_field *f)
{
    return f->member.rows ? f->member.rows : &kind->rows;
}

static geodec_status check_member(const geodec_kind *kind, const geodec_field *f, geodec_err *err)
{
    if (!agrees(f, &f->member))
        GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: field %s and its member differ in type", kind->name, f->path);
    if (f->member.place == GEODEC_CONSTANT || (f->member.place == GEODEC_COLUMN && !counted_by(f, rows_of(kind, f))))
        GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: field %s belongs to rows that the kind does not have", kind->name,
                    f->path);
    return GEODEC_OK;
}

static int64_t get_integer(const geodec_member *m, const void *object)
{
    const char *p = (const char *)object + m->at;
    switch (m->type) {
#define GET(name, type)                                                                                                \
    case GEODEC_MEMBER_##name: {                                                                                       \
        type v;                                                                                                        \
        memcpy(&v, p, sizeof v);                                                                                       \
        return (int64_t)v;                                                                                             \
    }
        GET(I64, int64_t)
        GET(I32, int32_t)
        GET(I16, int16_t)
        GET(I8, int8_t)
        GET(U64, uint64_t)
        GET(U32, uint32_t)
        GET(U16, uint16_t)
        GET(U8, uint8_t)
        GET(BOOL, bool)
#undef GET
    default:
        return 0;
    }
}

/* False when the value is out of range. */
static bool put_integer(const geodec_member *m, void *object, int64_t value)
{
    char *p = (char *)object + m->at;
    switch (m->type) {
#define PUT(name, type, low, high)                                                                                     \
    case GEODEC_MEMBER_##name: {                                                                                       \
        const type v = (type)value;                                                                                    \
        if (value < (low) || value > (high)) return false;                                                             \
        memcpy(p, &v, sizeof v);                                                                                       \
        return true;                                                                                                   \
    }
        PUT(I64, int64_t, INT64_MIN, INT64_MAX)
        PUT(I32, int32_t, INT32_MIN, INT32_MAX)
        PUT(I16, int16_t, INT16_MIN, INT16_MAX)
        PUT(I8, int8_t, INT8_MIN, INT8_MAX)
        PUT(U64, uint64_t, INT64_MIN, INT64_MAX) /* seeds are stored as the int64_t with the same bits */
        PUT(U32, uint32_t, 0, UINT32_MAX)
        PUT(U16, uint16_t, 0, UINT16_MAX)
        PUT(U8, uint8_t, 0, UINT8_MAX)
        PUT(BOOL, bool, 0, 1)
#undef PUT
    default:
        return false;
    }
}

static int64_t extent_of(const geodec_extent *e, const void *object)
{
    const int64_t n = e->member.place == GEODEC_UNBOUND ? 0 : get_integer(&e->member, object);
    return (e->times ? e->times : 1) * n + e->plus;
}

static bool wanted(const geodec_when *w, const void *object)
{
    const char *p = (const char *)object + w->at;
    for (size_t i = 0; i < w->bytes; i++)
        if (p[i]) return true;
    return w->bytes == 0;
}

static void *first_row(const geodec_rows *rows, const void *object)
{
    char *at = (char *)(uintptr_t)object + rows->at;
    void *first;
    if (rows->inside) return at;
    memcpy(&first, at, sizeof first);
    return first;
}

/* Layout of a field's numbers in rows: `rows` of them, each with `lines` of `each` numbers. */
typedef struct column {
    const geodec_rows *of;
    int64_t rows, lines, each;
} column;

static column column_of(const geodec_kind *kind, const geodec_field *f, const int64_t *shape, int rank)
{
    column c = {rows_of(kind, f), 1, 1, 1};
    int d = 0, counted = 0;
    for (const char *name = c.of->dim; name; name = next_name(name)) counted++;
    for (; d < rank && d < counted; d++) c.rows *= shape[d];
    if (f->member.line && d < rank) c.lines = shape[d++];
    for (; d < rank; d++) c.each *= shape[d];
    return c;
}

/* Whether the numbers of a row are within the struct. Extents come from files. */
static bool within_row(const column *c, const geodec_member *m, size_t size)
{
    if (c->lines < 1 || c->each < 1) return true;
    if (c->of->size < m->at + size) return false;
    size_t room = c->of->size - m->at - size;
    if (c->lines > 1) {
        if ((size_t)(c->lines - 1) > room / m->line) return false;
        room -= (size_t)(c->lines - 1) * m->line;
    }
    if (m->line && (size_t)(c->each - 1) * m->step + size > m->line) return false;
    return c->each == 1 || (m->step > 0 && (size_t)(c->each - 1) <= room / m->step);
}

/* Copies a column between a field's data and the rows. */
static void copy_column(const column *c, const geodec_member *m, size_t size, void *object, char *data, bool saving)
{
    if (c->rows == 0 || c->lines == 0 || c->each == 0) return;
    char *row = first_row(c->of, object);
    for (int64_t i = 0; i < c->rows; i++, row += c->of->size)
        for (int64_t l = 0; l < c->lines; l++)
            for (int64_t k = 0; k < c->each; k++, data += size) {
                char *number = row + m->at + (size_t)l * m->line + (size_t)k * m->step;
                memcpy(saving ? data : number, saving ? number : data, size);
            }
}

/* Copies n numbers between the file and an array of the struct that has gaps between its numbers. */
static void copy_apart(const geodec_member *m, size_t size, void *object, int64_t n, char *data, bool saving)
{
    char *number = (char *)object + m->at;
    for (int64_t i = 0; i < n; i++, number += m->step, data += size)
        memcpy(saving ? data : number, saving ? number : data, size);
}

/* Bytes of n numbers in the struct. */
static size_t taken(const geodec_field *f, int64_t n)
{
    return (size_t)n * (f->member.step ? f->member.step : geodec_type_size(f->type));
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

/* Shape of a field after its axes are set, and its number of elements. */
static geodec_status shape_of(const geodec_artifact *a, const geodec_field *f, int64_t *shape, int *rank,
                              int64_t *count, geodec_err *err)
{
    geodec__axis axis[GEODEC_RANK_MAX];
    int64_t bytes;
    GEODEC_PASS(geodec__kind_field_axes(f, axis, rank, err));
    for (int d = 0; d < *rank; d++) {
        shape[d] = axis[d].fixed;
        if (axis[d].name[0]) GEODEC_PASS(geodec_artifact_dim(a, axis[d].name, &shape[d], err));
    }
    GEODEC_PASS(geodec__kind_shape_bytes(f, shape, *rank, &bytes, err));
    *count = bytes / (int64_t)geodec_type_size(f->type);
    return GEODEC_OK;
}

/* NaN and infinity become 0. */
static void zero_nonfinite(const geodec_field *f, void *data, int64_t n)
{
    double *x = data;
    float *y = data;
    for (int64_t i = 0; f->type == GEODEC_F64 && i < n; i++)
        if (!isfinite(x[i])) x[i] = 0;
    for (int64_t i = 0; f->type == GEODEC_F32 && i < n; i++)
        if (!isfinite(y[i])) y[i] = 0;
}

static geodec_status save_field(geodec_artifact *a, const geodec_field *f, const void *object, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_kind *kind = geodec_artifact_kind(a);
    const geodec_member *m = &f->member;
    const size_t size = geodec_type_size(f->type);
    int64_t shape[GEODEC_RANK_MAX], count;
    int rank;
    const void *data = (const char *)object + m->at;
    char *copy = NULL;
    GEODEC_TRY(check_member(kind, f, err));
    if (!wanted(&f->when, object) || geodec_artifact_has(a, f->path)) goto done;
    if (m->place == GEODEC_POINTER) memcpy(&data, data, sizeof data);
    if (m->place == GEODEC_COLUMN) data = first_row(rows_of(kind, f), object);
    if (!data && (f->flags & GEODEC_FIELD_OPTIONAL)) goto done;
    GEODEC_TRY(shape_of(a, f, shape, &rank, &count, err));
    if (!data && count > 0) GEODEC_THROW(GEODEC_INTERNAL, "kind %s: field %s has no data", kind->name, f->path);
    const column c = column_of(kind, f, shape, rank);
    if (m->place == GEODEC_VALUE && taken(f, count) > m->bytes)
        GEODEC_THROW(GEODEC_INTERNAL, "kind %s: field %s is longer than its member", kind->name, f->path);
    if (m->place == GEODEC_COLUMN && !within_row(&c, m, size))
        GEODEC_THROW(GEODEC_INTERNAL, "kind %s: field %s is longer than its row", kind->name, f->path);
    if (m->step || m->place == GEODEC_COLUMN || (f->flags & GEODEC_FIELD_ZERO)) {
        GEODEC_NEW(copy, count * (int64_t)size);
        if (m->place == GEODEC_COLUMN)
            copy_column(&c, m, size, (void *)(uintptr_t)object, copy, true);
        else if (m->step)
            copy_apart(m, size, (void *)(uintptr_t)object, count, copy, true);
        else if (count > 0)
            memcpy(copy, data, (size_t)count * size);
        if (f->flags & GEODEC_FIELD_ZERO) zero_nonfinite(f, copy, count);
        data = copy;
    }
    GEODEC_TRY(geodec_artifact_write(a, f->path, data, err));
done:
    geodec_mem_free(copy);
    return st;
}

static geodec_status save_list(geodec_artifact *a, const geodec_attr *at, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    size_t used = 0;
    if (at->type != GEODEC_ATTR_STR || !at->member.names)
        GEODEC_THROW(GEODEC_INTERNAL, "attribute %s is not a list of names", at->name);
    for (const char *const *name = at->member.names; *name; name++) used += strlen(*name) + 1;
    GEODEC_NEW(text, (int64_t)used + 1);
    used = 0;
    for (const char *const *name = at->member.names; *name; name++) {
        if (used) text[used++] = ',';
        memcpy(text + used, *name, strlen(*name) + 1);
        used += strlen(*name);
    }
    GEODEC_TRY(geodec_artifact_put_str(a, at->name, text, err));
done:
    geodec_mem_free(text);
    return st;
}

static geodec_status save_attr(geodec_artifact *a, const geodec_attr *at, const void *object, geodec_err *err)
{
    geodec_member value = at->member;
    const geodec_member *m = &value;
    const char *p = (const char *)object + m->at, *text = NULL;
    const bool floating = m->type == GEODEC_MEMBER_F64 || m->type == GEODEC_MEMBER_F32;
    const bool textual = m->type == GEODEC_MEMBER_TEXT || m->type == GEODEC_MEMBER_OWNED_TEXT;
    if (!wanted(&at->when, object)) return GEODEC_OK;
    if (m->place == GEODEC_CONSTANT) {
        GEODEC_PASS(save_list(a, at, err));
        return GEODEC_OK;
    }
    if ((m->place != GEODEC_VALUE && (m->place != GEODEC_POINTER || textual || m->names)) ||
        (at->type == GEODEC_ATTR_F64) != floating || (at->type == GEODEC_ATTR_STR) != (textual || m->names))
        GEODEC_FAIL(GEODEC_INTERNAL, "attribute %s and its member differ in type", at->name);
    if (m->place == GEODEC_POINTER) {
        const void *pointer = p;
        memcpy(&p, pointer, sizeof p);
        if (!p && (at->flags & GEODEC_FIELD_OPTIONAL)) return GEODEC_OK;
        if (!p) GEODEC_FAIL(GEODEC_INTERNAL, "attribute %s has no value", at->name);
        value.at = 0;
        object = p;
    }
    if (m->names) {
        const int64_t number = get_integer(m, object);
        for (int64_t i = 0; i <= number && m->names[i]; i++)
            if (i == number) text = m->names[i];
        if (!text) GEODEC_FAIL(GEODEC_INTERNAL, "attribute %s: no name for %lld", at->name, (long long)number);
    } else if (textual) {
        memcpy(&text, p, sizeof text);
        if (!text && (at->flags & GEODEC_FIELD_OPTIONAL)) return GEODEC_OK;
    }
    if (at->type == GEODEC_ATTR_STR) {
        GEODEC_PASS(geodec_artifact_put_str(a, at->name, text ? text : "", err));
    } else if (floating) {
        double v;
        float single;
        memcpy(&v, p, m->type == GEODEC_MEMBER_F64 ? sizeof v : 0);
        memcpy(&single, p, sizeof single);
        if (m->type == GEODEC_MEMBER_F32) v = (double)single;
        if ((at->flags & GEODEC_FIELD_ZERO) && !isfinite(v)) v = 0;
        GEODEC_PASS(geodec_artifact_put_f64(a, at->name, v, err));
    } else {
        GEODEC_PASS(geodec_artifact_put_i64(a, at->name, get_integer(m, object), err));
    }
    return GEODEC_OK;
}

static geodec_status save_member(geodec_artifact *a, const geodec_member *m, const char *name, const geodec_field *f,
                                 const geodec_attr *at, const void *object, geodec_err *err)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    if (m->place == GEODEC_UNBOUND) return kind->put ? kind->put(object, a, name, err) : GEODEC_OK;
    return f ? save_field(a, f, object, err) : save_attr(a, at, object, err);
}

geodec_status geodec_artifact_save(geodec_artifact *a, const void *object, geodec_err *err)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    for (int i = 0; i < kind->n_extents; i++)
        GEODEC_PASS(geodec_artifact_set_dim(a, kind->extents[i].dim, extent_of(&kind->extents[i], object), err));
    for (int i = 0; i < kind->n_fields; i++) {
        const geodec_field *f = &kind->fields[i];
        GEODEC_PASS(save_member(a, &f->member, f->path, f, NULL, object, err));
    }
    for (int i = 0; i < kind->n_attrs; i++) {
        const geodec_attr *at = &kind->attrs[i];
        GEODEC_PASS(save_member(a, &at->member, at->name, NULL, at, object, err));
    }
    return GEODEC_OK;
}

geodec_status geodec_artifact_save_as(const geodec_kind *kind, const char *path, const geodec_provenance *p,
                                      const void *object, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    GEODEC_TRY(geodec_artifact_create(kind, path, p, &a, err));
    GEODEC_TRY(geodec_artifact_save(a, object, err));
    geodec_artifact *whole = a;
    a = NULL;
    GEODEC_TRY(geodec_artifact_commit(whole, err));
done:
    geodec_artifact_close(a);
    return st;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* The first extent with a member sets it; all others must then agree. */
static geodec_status load_extents(const geodec_artifact *a, void *object, geodec_err *err)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < kind->n_extents; i++) {
            const geodec_extent *e = &kind->extents[i];
            const bool own = e->member.place == GEODEC_VALUE && e->times == 0 && e->plus == 0;
            int64_t extent;
            const struct geodec__dim_state *d = geodec__kind_dim_find(a, e->dim);
            if (!d || d->extent == GEODEC__EXTENT_UNKNOWN) continue;
            extent = d->extent;
            if (pass == 0 ? own && !put_integer(&e->member, object, extent) : extent_of(e, object) != extent)
                GEODEC_FAIL(GEODEC_FORMAT, "%s: inconsistent sizes (%s = %lld)", geodec_artifact_path(a), e->dim,
                            (long long)extent);
        }
    return GEODEC_OK;
}

/* The number of rows in a struct is fixed, so the table must fix their axes, not the file. */
static bool fixed_rows(const geodec_kind *kind, const geodec_rows *rows)
{
    for (const char *name = rows->dim; name; name = next_name(name)) {
        const size_t n = strcspn(name, ",");
        bool fixed = name[0] >= '0' && name[0] <= '9';
        for (int i = 0; i < kind->n_extents && !fixed; i++)
            fixed = kind->extents[i].member.place == GEODEC_UNBOUND && strlen(kind->extents[i].dim) == n &&
                    strncmp(kind->extents[i].dim, name, n) == 0;
        if (!fixed) return false;
    }
    return true;
}

static geodec_status load_field(const geodec_artifact *a, const geodec_field *f, void *object, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_kind *kind = geodec_artifact_kind(a);
    const geodec_member *m = &f->member;
    const size_t size = geodec_type_size(f->type);
    int64_t shape[GEODEC_RANK_MAX], n = 1;
    int rank;
    char *to = (char *)object + m->at;
    void *data = NULL;
    GEODEC_TRY(check_member(kind, f, err));
    GEODEC_TRY(geodec_artifact_shape(a, f->path, shape, &rank, err));
    GEODEC_TRY(geodec_artifact_read(a, f->path, &data, err));
    for (int d = 0; d < rank; d++) n *= shape[d];
    if (m->type == GEODEC_MEMBER_BOOL)
        for (int64_t i = 0; i < n; i++)
            if (((const uint8_t *)data)[i] > 1)
                GEODEC_THROW(GEODEC_FORMAT, "%s: field %s: element %lld is neither 0 nor 1", geodec_artifact_path(a),
                             f->path, (long long)i);
    if (m->place == GEODEC_POINTER) {
        memcpy(to, &data, sizeof data);
        data = NULL;
    } else if (m->place == GEODEC_VALUE) {
        if (taken(f, n) > m->bytes)
            GEODEC_THROW(GEODEC_FORMAT, "%s: field %s has %lld numbers, more than %lld", geodec_artifact_path(a),
                         f->path, (long long)n, (long long)(m->bytes / taken(f, 1)));
        if (m->step)
            copy_apart(m, size, object, n, data, false);
        else if (n > 0)
            memcpy(to, data, (size_t)n * size);
    } else {
        const column c = column_of(kind, f, shape, rank);
        if (c.of->inside && !fixed_rows(kind, c.of))
            GEODEC_THROW(GEODEC_INTERNAL, "kind %s: field %s belongs to rows in the struct, which need fixed axes",
                         kind->name, f->path);
        if (!within_row(&c, m, size))
            GEODEC_THROW(GEODEC_FORMAT, "%s: field %s has %lld numbers a row, too many for the struct",
                         geodec_artifact_path(a), f->path, (long long)(c.lines * c.each));
        copy_column(&c, m, size, object, data, false);
    }
done:
    geodec_mem_free(data);
    return st;
}

static geodec_status load_attr(const geodec_artifact *a, const geodec_attr *at, void *object, geodec_err *err)
{
    const geodec_member *m = &at->member;
    char *to = (char *)object + m->at;
    if (m->place == GEODEC_POINTER) return GEODEC_OK;
    if (at->type == GEODEC_ATTR_STR) {
        const char *text;
        int64_t number = 0;
        if (m->place == GEODEC_CONSTANT || (!m->names && m->type == GEODEC_MEMBER_TEXT)) return GEODEC_OK;
        GEODEC_PASS(geodec_artifact_get_str(a, at->name, &text, err));
        if (m->names) {
            while (m->names[number] && strcmp(m->names[number], text) != 0) number++;
            if (!m->names[number] || !put_integer(m, object, number))
                GEODEC_FAIL(GEODEC_FORMAT, "%s: %s '%s' is unknown", geodec_artifact_path(a), at->name, text);
            return GEODEC_OK;
        }
        char *copy = geodec_mem_strdup(text);
        if (!copy) GEODEC_FAIL(GEODEC_NOMEM, "no memory for attribute %s", at->name);
        memcpy(to, &copy, sizeof copy);
    } else if (at->type == GEODEC_ATTR_F64) {
        double v;
        GEODEC_PASS(geodec_artifact_get_f64(a, at->name, &v, err));
        const float single = (float)v;
        if (m->type == GEODEC_MEMBER_F64)
            memcpy(to, &v, sizeof v);
        else
            memcpy(to, &single, sizeof single);
    } else {
        int64_t v;
        GEODEC_PASS(geodec_artifact_get_i64(a, at->name, &v, err));
        if (!put_integer(m, object, v))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: %s = %lld is out of range", geodec_artifact_path(a), at->name,
                        (long long)v);
    }
    return GEODEC_OK;
}

/* Rows that load allocates: the kind's (i = -1), and those of field i unless they also belong to an earlier field. */
static const geodec_rows *rows_at(const geodec_kind *kind, int i)
{
    const geodec_rows *rows = i < 0 ? &kind->rows : kind->fields[i].member.rows;
    for (int k = 0; rows && k < i; k++)
        if (kind->fields[k].member.rows == rows) return NULL;
    return rows && rows->dim && !rows->inside ? rows : NULL;
}

/* Whether the file has fields of these rows. */
static bool rows_present(const geodec_artifact *a, const geodec_rows *rows)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    bool any = rows == &kind->rows;
    for (int i = 0; i < kind->n_fields; i++)
        any = any || (kind->fields[i].member.rows == rows && geodec_artifact_has(a, kind->fields[i].path));
    return any;
}

/* Allocates the rows when their number is known. */
static geodec_status make_rows(const geodec_artifact *a, const geodec_rows *rows, void *object, geodec_err *err)
{
    void *data = NULL;
    int64_t n = 1;
    for (const char *name = rows->dim; name; name = next_name(name)) {
        char one[64];
        int64_t extent;
        const size_t length = strcspn(name, ",");
        if (length >= sizeof one) GEODEC_FAIL(GEODEC_INTERNAL, "axis '%s' of rows is too long", name);
        memcpy(one, name, length);
        one[length] = 0;
        GEODEC_PASS(geodec_artifact_dim(a, one, &extent, err));
        if (extent > 0 && n > GEODEC_FIELD_BYTES_MAX / extent)
            GEODEC_FAIL(GEODEC_LIMIT, "%s: too many rows", geodec_artifact_path(a));
        n *= extent;
    }
    data = geodec_mem_new(n, rows->size);
    if (!data) GEODEC_FAIL(GEODEC_NOMEM, "no memory for %lld rows", (long long)n);
    memcpy((char *)object + rows->at, &data, sizeof data);
    return GEODEC_OK;
}

geodec_status geodec_artifact_load(const geodec_artifact *a, void *object, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_kind *kind = geodec_artifact_kind(a);
    GEODEC_TRY(load_extents(a, object, err));
    for (int i = -1; i < kind->n_fields; i++) {
        const geodec_rows *rows = rows_at(kind, i);
        if (rows && rows_present(a, rows)) GEODEC_TRY(make_rows(a, rows, object, err));
    }
    for (int i = 0; i < kind->n_fields; i++) {
        const geodec_field *f = &kind->fields[i];
        if (f->member.place != GEODEC_UNBOUND && !f->member.borrowed && geodec_artifact_has(a, f->path))
            GEODEC_TRY(load_field(a, f, object, err));
    }
    for (int i = 0; i < kind->n_attrs; i++) {
        const geodec_attr *at = &kind->attrs[i];
        if (at->member.place != GEODEC_UNBOUND && geodec_artifact_has_attr(a, at->name))
            GEODEC_TRY(load_attr(a, at, object, err));
    }
done:
    if (st != GEODEC_OK) geodec_artifact_clear(kind, object);
    return st;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static const geodec_extent *find_extent(const geodec_kind *kind, const char *dim)
{
    for (int i = 0; i < kind->n_extents; i++)
        if (strcmp(kind->extents[i].dim, dim) == 0) return &kind->extents[i];
    return NULL;
}

/* Bytes of an array that the struct points to, by the axes in the struct; 0 for other fields. */
static int64_t array_bytes(const geodec_kind *kind, const geodec_field *f, const void *object)
{
    geodec__axis axis[GEODEC_RANK_MAX];
    int rank = 0;
    int64_t bytes = (int64_t)geodec_type_size(f->type);
    if (f->member.place != GEODEC_POINTER || geodec__kind_field_axes(f, axis, &rank, NULL) != GEODEC_OK) return 0;
    for (int d = 0; d < rank; d++) {
        const geodec_extent *e = axis[d].name[0] ? find_extent(kind, axis[d].name) : NULL;
        bytes *= e ? extent_of(e, object) : axis[d].name[0] ? 0 : axis[d].fixed;
    }
    return bytes;
}

static char *array_at(const geodec_field *f, const void *object)
{
    char *data;
    memcpy(&data, (const char *)object + f->member.at, sizeof data);
    return data;
}

int64_t geodec_artifact_bytes(const geodec_kind *kind, const void *object)
{
    int64_t sum = 0;
    for (int i = 0; i < kind->n_fields; i++) {
        const int64_t bytes = array_bytes(kind, &kind->fields[i], object);
        if (bytes && array_at(&kind->fields[i], object)) sum += bytes;
    }
    return sum;
}

geodec_status geodec_artifact_reserve(const geodec_kind *kind, void *object, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int i = 0; i < kind->n_fields; i++) {
        const geodec_field *f = &kind->fields[i];
        const geodec_member *m = &f->member;
        char *data;
        if (m->place != GEODEC_POINTER || m->borrowed || (f->flags & GEODEC_FIELD_OPTIONAL) || array_at(f, object))
            continue;
        GEODEC_NEW(data, array_bytes(kind, f, object));
        memcpy((char *)object + m->at, &data, sizeof data);
    }
done:
    return st;
}

void geodec_artifact_keep(const geodec_kind *kind, void *object, const char *dim, int64_t first, int64_t end)
{
    const size_t length = strlen(dim);
    const geodec_extent *e = find_extent(kind, dim);
    if (!e) return; /* the kind has no such dimension */
    const int64_t before = extent_of(e, object);
    for (int i = 0; i < kind->n_fields; i++) {
        const geodec_field *f = &kind->fields[i];
        const bool counted = strncmp(f->dims, dim, length) == 0 && (f->dims[length] == ',' || f->dims[length] == '\0');
        const int64_t bytes = counted ? array_bytes(kind, f, object) : 0;
        if (bytes == 0 || f->member.borrowed || !array_at(f, object)) continue;
        const size_t row = (size_t)(bytes / before);
        memmove(array_at(f, object), array_at(f, object) + (size_t)first * row, (size_t)(end - first) * row);
    }
    (void)put_integer(&e->member, object, end - first);
}

static void free_at(void *object, size_t at)
{
    void *p, *none = NULL;
    memcpy(&p, (char *)object + at, sizeof p);
    geodec_mem_free(p);
    memcpy((char *)object + at, &none, sizeof none);
}

void geodec_artifact_clear(const geodec_kind *kind, void *object)
{
    for (int i = 0; i < kind->n_fields; i++)
        if (kind->fields[i].member.place == GEODEC_POINTER && !kind->fields[i].member.borrowed)
            free_at(object, kind->fields[i].member.at);
    for (int i = 0; i < kind->n_attrs; i++)
        if (kind->attrs[i].member.place == GEODEC_VALUE && kind->attrs[i].member.type == GEODEC_MEMBER_OWNED_TEXT)
            free_at(object, kind->attrs[i].member.at);
    for (int i = -1; i < kind->n_fields; i++)
        if (rows_at(kind, i)) free_at(object, rows_at(kind, i)->at);
}
