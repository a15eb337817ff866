#include "artifact/compare.h"

#include "artifact/artifact_internal.h"
#include "base/mem.h"
#include "io/format.h"

#include <math.h>
#include <string.h>

enum { SLAB_BYTES = 4 << 20 };

/* Rows of a field per slab, at least one; row_elements: elements of a row. A scalar is one row. */
static geodec_status slab_rows(const geodec_field *f, const int64_t *shape, int rank, int64_t *rows,
                               int64_t *row_elements, geodec_err *err)
{
    int64_t row[GEODEC_RANK_MAX] = {0}, bytes;
    memcpy(row, shape, sizeof row);
    row[0] = 1;
    GEODEC_PASS(geodec__kind_shape_bytes(f, row, rank, &bytes, err));
    *rows = bytes > 0 && bytes < SLAB_BYTES ? SLAB_BYTES / bytes : 1;
    *row_elements = bytes / (int64_t)geodec_type_size(f->type);
    return GEODEC_OK;
}

/* Reads a slab of rows, or a whole scalar, into buffer. */
static geodec_status read_slab(const geodec_artifact *a, const char *path, int rank, int64_t row, int64_t n,
                               void *buffer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    void *scalar = NULL;
    if (rank > 0) {
        GEODEC_TRY(geodec_artifact_read_rows(a, path, row, n, buffer, err));
    } else {
        int i;
        GEODEC_TRY(geodec__kind_field_index(a, path, &i, err));
        GEODEC_TRY(geodec_artifact_read(a, path, &scalar, err));
        memcpy(buffer, scalar, geodec_type_size(a->kind->fields[i].type));
    }
done:
    geodec_mem_free(scalar);
    return st;
}

/* ---- verify ----------------------------------------------------------------------------------------------------- */

static geodec_status verify_field(const geodec_artifact *a, int i, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &a->kind->fields[i];
    const struct geodec__field_state *s = &a->field[i];
    int64_t rows, width;
    char *buffer = NULL;
    GEODEC_TRY(slab_rows(f, s->shape, s->rank, &rows, &width, err));
    const int64_t n = !width ? 0 : s->rank ? s->shape[0] : 1, size = (int64_t)geodec_type_size(f->type);
    if (rows > n) rows = n;
    GEODEC_NEW(buffer, rows * width * size);
    for (int64_t row = 0; row < n; row += rows) {
        const int64_t take = row + rows < n ? rows : n - row;
        GEODEC_TRY(geodec_hooks_progress(hooks, f->path, row, n, err));
        GEODEC_TRY(read_slab(a, f->path, s->rank, row, take, buffer, err));
        st = geodec__kind_check_finite(f, buffer, take * width * size, row * width, err);
        if (st == GEODEC_NUMERIC) st = GEODEC_CHECK;
        if (st != GEODEC_OK) {
            (void)geodec_err_add(err, st, __func__, __LINE__, "%s", a->path);
            goto done;
        }
    }
done:
    geodec_mem_free(buffer);
    return st;
}

geodec_status geodec_artifact_verify(const geodec_artifact *a, const geodec_hooks *hooks, geodec_err *err)
{
    for (int i = 0; i < a->kind->n_attrs; i++)
        if (a->attr[i].present && a->kind->attrs[i].type == GEODEC_ATTR_F64 && !isfinite(a->attr[i].f64) &&
            !(a->kind->attrs[i].flags & GEODEC_FIELD_NONFINITE))
            GEODEC_FAIL(GEODEC_CHECK, "%s: attribute %s is not a finite number", a->path, a->kind->attrs[i].name);
    for (int i = 0; i < a->kind->n_fields; i++)
        if (a->field[i].present) GEODEC_PASS(verify_field(a, i, hooks, err));
    return GEODEC_OK;
}

/* ---- diff ------------------------------------------------------------------------------------------------------- */

static void compare_numbers(double a, double b, bool same_bits, double rtol, double atol, int64_t at, geodec_diff *d)
{
    double gap = fabs(a - b), scale = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
    bool same = same_bits;
    d->n++;
    if (isfinite(a) && isfinite(b)) {
        if (rtol > 0 || atol > 0) same = same || gap <= atol + rtol * fabs(b);
    } else {
        same = (isnan(a) && isnan(b)) || (isinf(a) && isinf(b) && signbit(a) == signbit(b));
        gap = same ? 0 : INFINITY;
        scale = 1;
    }
    if (gap > d->max_abs) d->max_abs = gap;
    if (scale > 0 && gap / scale > d->max_rel) d->max_rel = gap / scale;
    if (same) return;
    if (d->first < 0) {
        d->first = at;
        d->a = a;
        d->b = b;
    }
    d->n_beyond++;
    d->state = GEODEC_DIFF_VALUES;
}

/* -0 and 0 are the same number. */
static bool same_element(geodec_type t, const char *a, const char *b, int64_t i)
{
    const size_t size = geodec_type_size(t), at = (size_t)i * size;
    if (memcmp(a + at, b + at, size) == 0) return true;
    const bool is_float = t == GEODEC_F64 || t == GEODEC_F32 || t == GEODEC_F16;
    return is_float && geodec_format_element_f64(t, a, i) == 0 && geodec_format_element_f64(t, b, i) == 0;
}

static geodec_diff_state presence(bool a, bool b)
{
    return a && b ? GEODEC_DIFF_SAME : a ? GEODEC_DIFF_ONLY_A : b ? GEODEC_DIFF_ONLY_B : GEODEC_DIFF_ABSENT;
}

static geodec_status one_kind(const geodec_artifact *a, const geodec_artifact *b, geodec_err *err)
{
    if (a->kind != b->kind)
        GEODEC_FAIL(GEODEC_INVAL, "%s is of kind '%s', %s of kind '%s'", a->path, a->kind->name, b->path,
                    b->kind->name);
    return GEODEC_OK;
}

geodec_status geodec_artifact_diff_field(const geodec_artifact *a, const geodec_artifact *b, const char *path,
                                         double rtol, double atol, const geodec_hooks *hooks, geodec_diff *out,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_diff d = {.first = -1};
    char *x = NULL, *y = NULL;
    int i;
    GEODEC_TRY(one_kind(a, b, err));
    GEODEC_TRY(geodec__kind_field_index(a, path, &i, err));
    const geodec_field *f = &a->kind->fields[i];
    const struct geodec__field_state *s = &a->field[i], *t = &b->field[i];
    d.state = presence(s->present, t->present);
    if (d.state == GEODEC_DIFF_SAME && memcmp(s->shape, t->shape, (size_t)s->rank * sizeof s->shape[0]) != 0)
        d.state = GEODEC_DIFF_SHAPE;
    if (d.state == GEODEC_DIFF_SAME) {
        int64_t rows, width;
        GEODEC_TRY(slab_rows(f, s->shape, s->rank, &rows, &width, err));
        const int64_t n = !width ? 0 : s->rank ? s->shape[0] : 1, size = (int64_t)geodec_type_size(f->type);
        if (rows > n) rows = n;
        GEODEC_NEW_EACH(rows * width * size, x, y);
        for (int64_t row = 0; row < n; row += rows) {
            const int64_t take = row + rows < n ? rows : n - row;
            GEODEC_TRY(geodec_hooks_progress(hooks, f->path, row, n, err));
            GEODEC_TRY(read_slab(a, path, s->rank, row, take, x, err));
            GEODEC_TRY(read_slab(b, path, s->rank, row, take, y, err));
            for (int64_t k = 0; k < take * width; k++)
                compare_numbers(geodec_format_element_f64(f->type, x, k), geodec_format_element_f64(f->type, y, k),
                                same_element(f->type, x, y, k), rtol, atol, row * width + k, &d);
        }
    }
    *out = d;
done:
    GEODEC_FREE(x, y);
    return st;
}

geodec_status geodec_artifact_diff_attr(const geodec_artifact *a, const geodec_artifact *b, const char *attr,
                                        double rtol, double atol, geodec_diff *out, geodec_err *err)
{
    geodec_diff d = {.first = -1};
    GEODEC_PASS(one_kind(a, b, err));
    const int i = geodec__kind_attr_find(a->kind, attr);
    if (i < 0) GEODEC_FAIL(GEODEC_INVAL, "kind %s has no attribute %s", a->kind->name, attr);
    const struct geodec__attr_state *s = &a->attr[i], *t = &b->attr[i];
    d.state = presence(s->present, t->present);
    if (d.state == GEODEC_DIFF_SAME) {
        switch (a->kind->attrs[i].type) {
        case GEODEC_ATTR_I64:
            compare_numbers((double)s->i64, (double)t->i64, s->i64 == t->i64, rtol, atol, 0, &d);
            break;
        case GEODEC_ATTR_F64:
            compare_numbers(s->f64, t->f64, same_element(GEODEC_F64, (const char *)&s->f64, (const char *)&t->f64, 0),
                            rtol, atol, 0, &d);
            break;
        case GEODEC_ATTR_STR:
            d.n = 1;
            if (strcmp(s->text, t->text) != 0) {
                d.state = GEODEC_DIFF_VALUES;
                d.n_beyond = 1;
                d.first = 0;
                d.max_abs = d.max_rel = INFINITY;
            }
        }
    }
    *out = d;
    return GEODEC_OK;
}
