/* Resolves names of artifact/select.h: fields and columns, their axes, attributes and lists of words. */
#include "artifact/artifact_internal.h"
#include "artifact/select_internal.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB_BYTES = 4 << 20 };
#define WHOLE_BYTES_MAX ((int64_t)2 << 30)

static const geodec_field *field_of(const geodec_kind *kind, const char *name)
{
    char path[GEODEC__SELECT_NAME + 1];
    (void)snprintf(path, sizeof path, "%s%s", name[0] == '/' ? "" : "/", name);
    for (int i = 0; i < kind->n_fields; i++)
        if (strcmp(kind->fields[i].path, path) == 0) return &kind->fields[i];
    return NULL;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

/* Splits a text at ';' when it has one, else at ','; blanks around an item are ignored. */
static geodec_status cut_list(geodec__select_list *l, const char *text, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char separator = strchr(text, ';') ? ';' : ',';
    int64_t n = 1;
    for (const char *c = text; *c; c++) n += *c == separator;
    GEODEC_NEW(l->item, n);
    l->text = geodec_mem_strdup(text);
    if (!l->text) GEODEC_THROW(GEODEC_NOMEM, "no memory for a list");
    for (char *at = l->text, *next; at; at = next) {
        next = strchr(at, separator);
        if (next) *next++ = 0;
        while (*at == ' ') at++;
        for (size_t k = strlen(at); k > 0 && at[k - 1] == ' '; k--) at[k - 1] = 0;
        l->item[l->n++] = at;
    }
    if (!*text) l->n = 0;
done:
    return st;
}

static geodec_status bind_list(geodec__select *s, geodec__select_list *l, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_artifact *a = s->sources[l->source].artifact;
    const geodec_attr *attr = NULL;
    geodec__select_value *v = &l->whole;
    int64_t i;
    if (!a) GEODEC_THROW(GEODEC_INVAL, "a table has no attribute '@%s'", l->name);
    const geodec_kind *kind = geodec_artifact_kind(a);
    for (int k = 0; k < kind->n_attrs; k++)
        if (strcmp(kind->attrs[k].name, l->name) == 0) attr = &kind->attrs[k];
    if (!attr) GEODEC_THROW(GEODEC_INVAL, "kind '%s' has no attribute '%s'", kind->name, l->name);
    if (!geodec_artifact_has_attr(a, l->name))
        GEODEC_THROW(GEODEC_NOTFOUND, "%s has no attribute '%s'", geodec_artifact_path(a), l->name);
    switch (attr->type) {
    case GEODEC_ATTR_I64:
        GEODEC_TRY(geodec_artifact_get_i64(a, l->name, &i, err));
        *v = (geodec__select_value){.kind = GEODEC__SELECT_INT, .x = (double)i, .bits = (uint64_t)i};
        break;
    case GEODEC_ATTR_F64:
        v->kind = GEODEC__SELECT_F64;
        GEODEC_TRY(geodec_artifact_get_f64(a, l->name, &v->x, err));
        break;
    case GEODEC_ATTR_STR:
        v->kind = GEODEC__SELECT_TEXT;
        GEODEC_TRY(geodec_artifact_get_str(a, l->name, &v->text, err));
        GEODEC_TRY(cut_list(l, v->text, err));
        break;
    }
done:
    return st;
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

/* "name=value": the index at which a field of one axis, or a list of words, has the value. */
static geodec_status place_by_value(const geodec_artifact *a, const char *name, const char *value, int64_t extent,
                                    int64_t *place, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = field_of(geodec_artifact_kind(a), name);
    geodec__select_list words = {0};
    void *data = NULL;
    char *end = NULL;
    const char *text;
    int64_t shape[GEODEC_RANK_MAX], found = -1;
    int rank;
    if (f) {
        const double x = strtod(value, &end);
        if (!*value || *end) GEODEC_THROW(GEODEC_INVAL, "'%s=%s': not a number", name, value);
        GEODEC_TRY(geodec_artifact_shape(a, f->path, shape, &rank, err));
        if (rank != 1 || shape[0] != extent)
            GEODEC_THROW(GEODEC_INVAL, "'%s' is not the coordinate of an axis of %" PRId64, name, extent);
        GEODEC_TRY(geodec_artifact_read(a, f->path, &data, err));
        for (int64_t i = 0; i < extent; i++) {
            if (!(fabs(geodec_format_element_f64(f->type, data, i) - x) <= 1e-9 * fabs(x))) continue;
            if (found >= 0) GEODEC_THROW(GEODEC_INVAL, "'%s=%s' occurs twice", name, value);
            found = i;
        }
    } else {
        GEODEC_TRY(geodec_artifact_get_str(a, name, &text, err));
        GEODEC_TRY(cut_list(&words, text, err));
        if (words.n != extent) GEODEC_THROW(GEODEC_INVAL, "'%s' is not the list of an axis of %" PRId64, name, extent);
        for (int64_t i = 0; i < extent; i++)
            if (strcmp(words.item[i], value) == 0) found = i;
    }
    if (found < 0) GEODEC_THROW(GEODEC_INVAL, "'%s=%s': no such index", name, value);
    *place = found;
done:
    geodec_mem_free(data);
    geodec_mem_free(words.text);
    geodec_mem_free(words.item);
    return st;
}

static geodec_status read_place(const geodec_artifact *a, const geodec__select_ref *r, const char *text, int64_t extent,
                                int64_t *place, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char name[GEODEC__SELECT_NAME], *end = NULL;
    const char *equal = strchr(text, '=');
    if (strcmp(text, "*") == 0) {
        *place = -1;
        goto done;
    }
    if (equal) {
        (void)snprintf(name, sizeof name, "%.*s", (int)(equal - text), text);
        GEODEC_TRY_MSG(place_by_value(a, name, equal + 1, extent, place, err), "%s", r->name);
        goto done;
    }
    const int64_t i = strtoll(text, &end, 10);
    if (!*text || *end) GEODEC_THROW(GEODEC_INVAL, "%s: '%.40s' is not a place", r->name, text);
    if (i >= extent || i < -extent)
        GEODEC_THROW(GEODEC_INVAL, "%s: there is no place %" PRId64 " along an axis of %" PRId64, r->name, i, extent);
    *place = i < 0 ? i + extent : i;
done:
    return st;
}

/* ---- axes ------------------------------------------------------------------------------------------------------- */

static geodec_status set_extent(geodec__select *s, int d, int64_t n, const char *name, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (s->extent[d] >= 0 && s->extent[d] != n)
        GEODEC_THROW(GEODEC_INVAL, "field '%s' has %" PRId64 " rows, the fields before it %" PRId64, name, n,
                     s->extent[d]);
    s->extent[d] = n;
done:
    return st;
}

/* Index of a dimension of the rows, or -1; "row" is the first one when the query names none. */
static int dimension(const geodec__select *s, const char *name)
{
    for (int d = 0; d < s->n_over; d++)
        if (strcmp(s->over[d], name) == 0) return d;
    return s->by_first_axis && s->n_over == 1 && strcmp(name, "row") == 0 ? 0 : -1;
}

/* Which axes of a field are rows, indexed or spread. */
static geodec_status bind_axes(geodec__select *s, geodec__select_ref *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_artifact *a = s->sources[r->source].artifact;
    geodec__axis axis[GEODEC_RANK_MAX];
    int64_t stride = 1;
    int named, given = 0;
    bool used[GEODEC_RANK_MAX] = {false};
    GEODEC_TRY(geodec__kind_field_axes(r->field, axis, &named, err));
    if (s->by_first_axis && s->n_over == 0 && r->rank > 0) {
        (void)snprintf(s->over[0], sizeof s->over[0], "%s", axis[0].name[0] ? axis[0].name : "row");
        s->n_over = 1;
    }
    r->width = 1;
    for (int j = r->rank - 1; j >= 0; j--) {
        r->stride[j] = stride;
        stride *= r->shape[j] > 0 ? r->shape[j] : 1;
    }
    for (int j = 0; j < r->rank; j++) {
        r->over[j] = -1;
        r->fixed[j] = -1;
        for (int d = 0; d < s->n_over && r->over[j] < 0; d++)
            if (!used[d] && (s->by_first_axis ? j == 0 : strcmp(axis[j].name, s->over[d]) == 0)) r->over[j] = d;
        if (r->over[j] >= 0) {
            used[r->over[j]] = true;
            GEODEC_TRY(set_extent(s, r->over[j], r->shape[j], r->name, err));
        } else if (given < r->n_places) {
            GEODEC_TRY(read_place(a, r, r->place[given++], r->shape[j], &r->fixed[j], err));
        }
        if (r->over[j] >= 0 || r->fixed[j] >= 0) continue;
        if (geodec_mem_mul(r->width, r->shape[j], &r->width) != 0 || r->width > GEODEC_SELECT_COLUMNS_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "field '%s' has more than %d columns", r->name, GEODEC_SELECT_COLUMNS_MAX);
        r->spreads = true;
    }
    if (given < r->n_places) GEODEC_THROW(GEODEC_INVAL, "field '%s' has fewer axes than places", r->name);
    if (r->spreads && !r->may_spread)
        GEODEC_THROW(GEODEC_INVAL, "field '%s': each axis that is not a row needs an index", r->name);
    r->slabs = r->rank > 0 && r->over[0] == 0;
done:
    return st;
}

static geodec_status bind_ref(geodec__select *s, geodec__select_ref *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_select_source *source = &s->sources[r->source];
    if (source->table) {
        if (r->n_places) GEODEC_THROW(GEODEC_INVAL, "column '%s' of a table has no indices", r->name);
        for (int64_t k = 0; k < source->table->columns; k++) {
            const char *head = source->table->cell[k];
            if (!head || strcmp(head, r->name) != 0) continue;
            if (r->column >= 0) GEODEC_THROW(GEODEC_INVAL, "two columns are called '%s'", r->name);
            r->column = k;
        }
        if (r->column < 0) GEODEC_THROW(GEODEC_INVAL, "the table has no column '%s'", r->name);
        r->width = 1;
        goto done;
    }
    const geodec_kind *kind = geodec_artifact_kind(source->artifact);
    r->field = field_of(kind, r->name);
    if (!r->field)
        GEODEC_THROW(GEODEC_INVAL, "kind '%s' has no field '%s'; geodec-info names them", kind->name, r->name);
    GEODEC_TRY(geodec_artifact_shape(source->artifact, r->field->path, r->shape, &r->rank, err));
    GEODEC_TRY(bind_axes(s, r, err));
done:
    return st;
}

/* Dimensions that only index() and size() name. */
static geodec_status bind_dimension(geodec__select *s, geodec__select_node *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    v->k = dimension(s, v->value.own);
    if (v->k >= 0 && s->extent[v->k] < 0 && s->sources[0].artifact)
        GEODEC_TRY(geodec_artifact_dim(s->sources[0].artifact, v->value.own, &s->extent[v->k], err));
    if (v->k >= 0) goto done;
    if (v->op == SELECT_INDEX || !s->sources[0].artifact)
        GEODEC_THROW(GEODEC_INVAL, "'%s' is not a dimension of the rows", v->value.own);
    int64_t n;
    GEODEC_TRY(geodec_artifact_dim(s->sources[0].artifact, v->value.own, &n, err));
    v->op = SELECT_CONSTANT;
    v->value = (geodec__select_value){.kind = GEODEC__SELECT_COMPUTED, .x = (double)n};
done:
    return st;
}

/* @list[C] with a dimension C of the rows: the list must have as many words as C has indices. */
static geodec_status bind_item(geodec__select *s, geodec__select_node *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select_node *item = &s->node[v->a];
    const geodec__select_list *l = &s->list[v->k];
    if (!l->item) GEODEC_THROW(GEODEC_INVAL, "'@%s' is not a list of words", l->name);
    if (item->op != SELECT_REF) goto done;
    const int d = dimension(s, s->ref[item->k].name);
    if (d < 0) goto done;
    item->op = SELECT_INDEX;
    item->k = d;
    if (s->extent[d] < 0) s->extent[d] = l->n;
    if (s->extent[d] != l->n)
        GEODEC_THROW(GEODEC_INVAL, "'@%s' has %" PRId64 " words, dimension %s %" PRId64, l->name, l->n, s->over[d],
                     s->extent[d]);
done:
    return st;
}

/* Whether reference k is the only content of @list[..], where it may be a dimension. */
static bool numbers_list(const geodec__select *s, int k)
{
    for (int i = 0; i < s->n_nodes; i++) {
        const geodec__select_node *v = &s->node[i];
        if (v->op == SELECT_LIST && v->a >= 0 && s->node[v->a].op == SELECT_REF && s->node[v->a].k == k) return true;
    }
    return false;
}

static geodec_status bind_refs(geodec__select *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int k = 0; k < s->n_refs; k++)
        if (!numbers_list(s, k)) GEODEC_TRY(bind_ref(s, &s->ref[k], err));
    for (int k = 0; k < s->n_refs; k++) { /* the dimensions of the rows are known now */
        if (numbers_list(s, k) && dimension(s, s->ref[k].name) < 0) GEODEC_TRY(bind_ref(s, &s->ref[k], err));
    }
done:
    return st;
}

static geodec_status bind_over(geodec__select *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *over = s->query->over;
    s->by_first_axis = !over;
    if (s->sources[0].table) {
        if (over) GEODEC_THROW(GEODEC_INVAL, "a table has no dimensions");
        s->n_over = 1;
        (void)snprintf(s->over[0], sizeof s->over[0], "row");
        s->extent[0] = s->sources[0].table->rows;
        goto done;
    }
    for (; over && strcmp(over, "none") != 0 && *over; s->n_over++) {
        const size_t n = strcspn(over, ",");
        if (s->n_over == GEODEC_RANK_MAX || n == 0 || n >= GEODEC__SELECT_NAME)
            GEODEC_THROW(GEODEC_INVAL, "'%s': up to %d dimensions joined by commas", s->query->over, GEODEC_RANK_MAX);
        memcpy(s->over[s->n_over], over, n);
        s->over[s->n_over][n] = 0;
        for (int d = 0; d < s->n_over; d++)
            if (strcmp(s->over[d], s->over[s->n_over]) == 0)
                GEODEC_THROW(GEODEC_INVAL, "dimension %s occurs twice", s->over[d]);
        over += n + (over[n] == ',');
    }
done:
    return st;
}

geodec_status geodec__select_bind(geodec__select *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int d = 0; d < GEODEC_RANK_MAX; d++) s->extent[d] = -1;
    GEODEC_TRY(bind_over(s, err));
    for (int i = 0; i < s->n_lists; i++) GEODEC_TRY(bind_list(s, &s->list[i], err));
    GEODEC_TRY(bind_refs(s, err));
    for (int i = 0; i < s->n_nodes; i++) {
        geodec__select_node *v = &s->node[i];
        if (v->op == SELECT_LIST && v->a >= 0) GEODEC_TRY(bind_item(s, v, err));
        if (v->op == SELECT_INDEX && v->value.own[0]) GEODEC_TRY(bind_dimension(s, v, err));
        if (v->op == SELECT_SIZE) GEODEC_TRY(bind_dimension(s, v, err));
    }
    for (int d = 0; d < s->n_over; d++)
        if (s->extent[d] < 0) GEODEC_THROW(GEODEC_INVAL, "no column has dimension %s", s->over[d]);
    s->gap = s->query->gap ? dimension(s, s->query->gap) : -1;
    if (s->query->gap && s->gap < 0) GEODEC_THROW(GEODEC_INVAL, "'%s' is not a dimension of the rows", s->query->gap);
done:
    return st;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

int64_t geodec__select_step(const geodec__select *s)
{
    int64_t step = 1 << 16;
    for (int k = 0; k < s->n_refs; k++) {
        const geodec__select_ref *r = &s->ref[k];
        if (!r->field || !r->slabs) continue;
        const int64_t bytes = r->stride[0] * (int64_t)geodec_type_size(r->field->type);
        if (bytes && SLAB_BYTES / bytes < step) step = SLAB_BYTES / bytes > 1 ? SLAB_BYTES / bytes : 1;
    }
    return step;
}

geodec_status geodec__select_load(geodec__select *s, int64_t row, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int k = 0; k < s->n_refs; k++) {
        geodec__select_ref *r = &s->ref[k];
        if (!r->field || (r->data && !r->slabs)) continue;
        const geodec_artifact *a = s->sources[r->source].artifact;
        const int64_t size = (int64_t)geodec_type_size(r->field->type);
        if (!r->slabs) {
            if (r->rank > 0 && r->stride[0] > WHOLE_BYTES_MAX / size / (r->shape[0] > 0 ? r->shape[0] : 1))
                GEODEC_THROW(GEODEC_LIMIT, "field '%s' is too large to be read at once", r->name);
            GEODEC_TRY(geodec_artifact_read(a, r->field->path, &r->data, err));
            continue;
        }
        if (!r->data) GEODEC_NEW(r->data, n * r->stride[0] * size);
        GEODEC_TRY(geodec_artifact_read_rows(a, r->field->path, row, n, r->data, err));
        r->first = row;
    }
done:
    return st;
}

void geodec__select_unbind(geodec__select *s)
{
    for (int k = 0; k < s->n_refs; k++) geodec_mem_free(s->ref[k].data);
    for (int k = 0; k < s->n_lists; k++) {
        geodec_mem_free(s->list[k].text);
        geodec_mem_free(s->list[k].item);
    }
}

void geodec__select_element(const geodec__select *s, int k, int64_t j, geodec__select_value *v)
{
    const geodec__select_ref *r = &s->ref[k];
    v->text = NULL;
    if (r->column >= 0) {
        const char *cell = geodec_table_cell(s->sources[r->source].table, s->at[0], r->column);
        v->kind = GEODEC__SELECT_TEXT;
        v->text = cell ? cell : "";
        return;
    }
    int64_t i = 0;
    for (int d = r->rank - 1; d >= 0; d--) {
        if (r->over[d] >= 0) {
            i += (s->at[r->over[d]] - (d == 0 && r->slabs ? r->first : 0)) * r->stride[d];
        } else if (r->fixed[d] >= 0) {
            i += r->fixed[d] * r->stride[d];
        } else {
            i += j % r->shape[d] * r->stride[d];
            j /= r->shape[d];
        }
    }
    const geodec_type t = r->field->type;
    v->x = geodec_format_element_f64(t, r->data, i);
    v->kind = t == GEODEC_F64                      ? GEODEC__SELECT_F64
              : t == GEODEC_F32 || t == GEODEC_F16 ? GEODEC__SELECT_F32
              : t == GEODEC_U64                    ? GEODEC__SELECT_UINT
                                                   : GEODEC__SELECT_INT;
    v->bits = t == GEODEC_U64   ? ((const uint64_t *)(const void *)r->data)[i]
              : t == GEODEC_I64 ? (uint64_t)((const int64_t *)(const void *)r->data)[i]
                                : (uint64_t)(int64_t)(v->kind == GEODEC__SELECT_INT ? v->x : 0);
}
