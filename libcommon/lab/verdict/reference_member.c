#include "lab/verdict/reference_internal.h"

#include "base/mem.h"
#include "io/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t field_bytes = (int64_t)1 << 28;

static const geodec_attr *find_attr(const geodec_artifact *a, const char *name)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    for (int i = 0; i < kind->n_attrs; i++)
        if (strcmp(kind->attrs[i].name, name) == 0) return &kind->attrs[i];
    return NULL;
}

/* The field of that name, if it exists and is not too large; path [length of a name + 2]. */
static geodec_status find_field(const geodec_artifact *a, const char *name, const geodec_field **field, int64_t *shape,
                                int *rank, geodec_err *err)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    *field = NULL;
    for (int i = 0; i < kind->n_fields; i++)
        if (strcmp(kind->fields[i].path + (name[0] != '/'), name) == 0) *field = &kind->fields[i];
    if (!*field) GEODEC_FAIL(GEODEC_INVAL, "kind '%s' has no attribute or field '%.200s'", kind->name, name);
    if (!geodec_artifact_has(a, (*field)->path)) GEODEC_FAIL(GEODEC_NOTFOUND, "no field '%.200s' in this file", name);
    GEODEC_PASS(geodec_artifact_shape(a, (*field)->path, shape, rank, err));
    int64_t bytes = (int64_t)geodec_type_size((*field)->type);
    for (int d = 0; d < *rank; d++)
        if (geodec_mem_mul(bytes, shape[d], &bytes) != 0 || bytes > field_bytes)
            GEODEC_FAIL(GEODEC_LIMIT, "field '%.200s' is too large for a reference", name);
    return GEODEC_OK;
}

/* Index of a word in "a,b,c", or -1. */
static int64_t place_of(const char *list, const char *word)
{
    const size_t n = strlen(word);
    int64_t k = 0;
    for (;; k++) {
        const size_t length = strcspn(list, ",");
        if (length == n && strncmp(list, word, n) == 0) return k;
        if (!list[length]) return -1;
        list += length + 1;
    }
}

/* Index at which the field `key` of one axis has that value; extent: that of the indexed axis. */
static geodec_status index_of(const geodec_artifact *a, const reference_key *k, int64_t extent, int64_t *at,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *field;
    int64_t shape[GEODEC_RANK_MAX];
    int rank;
    char *data = NULL, text[GEODEC_FORMAT_ROOM];
    double want, best = INFINITY;
    *at = -1;
    const geodec_attr *attr = find_attr(a, k->key);
    if (attr && attr->type == GEODEC_ATTR_STR && geodec_artifact_has_attr(a, attr->name)) {
        const char *list;
        GEODEC_TRY(geodec_artifact_get_str(a, attr->name, &list, err));
        *at = place_of(list, k->word);
    } else {
        GEODEC_TRY(find_field(a, k->key, &field, shape, &rank, err));
        if (rank != 1 || shape[0] != extent)
            GEODEC_THROW(GEODEC_INVAL, "'%.100s' is not a coordinate of that axis", k->key);
        if (k->nearest && !geodec__reference_number(k->word, &want))
            GEODEC_THROW(GEODEC_INVAL, "'%.100s' is not a number", k->word);
        GEODEC_TRY(geodec_artifact_read(a, field->path, &data, err));
        for (int64_t i = 0; i < extent; i++) {
            if (k->nearest) {
                const double d = fabs(geodec_format_element_f64(field->type, data, i) - want);
                if (d < best) best = d, *at = i;
            } else if (geodec__reference_same(geodec_format_element(field->type, data, i, text), k->word)) {
                if (*at >= 0) GEODEC_THROW(GEODEC_FORMAT, "several places have %.100s=%.100s", k->key, k->word);
                *at = i;
            }
        }
    }
    if (*at < 0 || *at >= extent) GEODEC_THROW(GEODEC_NOTFOUND, "no place has %.100s=%.100s", k->key, k->word);
done:
    geodec_mem_free(data);
    return st;
}

/* Keeps the rows of `width` numbers in which every field of the selection has its value; returns the number of numbers
 * left. */
static geodec_status filter(const geodec_artifact *a, const reference *r, int64_t rows, int64_t width, double *x,
                            int64_t *kept, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *field;
    int64_t shape[GEODEC_RANK_MAX];
    int rank;
    char *data[REFERENCE_KEYS] = {NULL}, text[GEODEC_FORMAT_ROOM];
    geodec_type type[REFERENCE_KEYS];
    for (int k = 0; k < r->n_select; k++) {
        GEODEC_TRY(find_field(a, r->select[k].key, &field, shape, &rank, err));
        if (rank != 1 || shape[0] != rows || r->select[k].nearest)
            GEODEC_THROW(GEODEC_INVAL, "'%.100s' is not a coordinate of the rows of '%.100s'", r->select[k].key,
                         r->name);
        GEODEC_TRY(geodec_artifact_read(a, field->path, &data[k], err));
        type[k] = field->type;
    }
    *kept = 0;
    for (int64_t i = 0; i < rows; i++) {
        bool all = true;
        for (int k = 0; k < r->n_select; k++)
            if (!geodec__reference_same(geodec_format_element(type[k], data[k], i, text), r->select[k].word))
                all = false;
        if (!all) continue;
        memmove(x + *kept, x + i * width, (size_t)width * sizeof *x);
        *kept += width;
    }
done:
    for (int k = 0; k < REFERENCE_KEYS; k++) geodec_mem_free(data[k]);
    return st;
}

geodec_status geodec__reference_member(const geodec_artifact *a, const reference *r, char *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *field;
    int64_t shape[GEODEC_RANK_MAX], offset = 0, length = 1;
    int rank;
    char *data = NULL;
    double *x = NULL, result;
    const geodec_attr *attr = find_attr(a, r->name);
    if (attr && !r->n_axis && !r->n_select && !r->summary) {
        if (!geodec_artifact_has_attr(a, r->name))
            GEODEC_THROW(GEODEC_NOTFOUND, "no attribute '%.200s' in this file", r->name);
        const char *text;
        GEODEC_TRY(geodec_artifact_attr_text(a, r->name, value, &text, err));
        if (text != value) (void)snprintf(value, GEODEC_REFERENCE_MAX, "%s", text);
        goto done;
    }
    GEODEC_TRY(find_field(a, r->name, &field, shape, &rank, err));
    if (r->n_axis > rank || (!r->summary && (r->n_axis != rank || r->n_select)) ||
        (r->n_select && (r->n_axis || !rank)))
        GEODEC_THROW(GEODEC_INVAL, "'%.200s' has %d axes, not %d", r->name, rank, r->n_axis);
    for (int d = 0; d < rank; d++) {
        int64_t at = 0;
        if (d < r->n_axis) {
            at = r->axis[d].index < 0 ? shape[d] - 1 : r->axis[d].index;
            if (r->axis[d].key) GEODEC_TRY(index_of(a, &r->axis[d], shape[d], &at, err));
            if (at < 0 || at >= shape[d])
                GEODEC_THROW(GEODEC_RANGE, "index %" PRId64 " of '%.200s' is beyond %" PRId64, at, r->name, shape[d]);
        } else {
            length *= shape[d];
        }
        offset = offset * shape[d] + at;
    }
    GEODEC_TRY(geodec_artifact_read(a, field->path, &data, err));
    if (!r->summary) {
        geodec_format_element(field->type, data, offset, value);
        goto done;
    }
    GEODEC_NEW(x, length);
    for (int64_t i = 0; i < length; i++) x[i] = geodec_format_element_f64(field->type, data, offset + i);
    if (r->n_select) GEODEC_TRY(filter(a, r, shape[0], shape[0] ? length / shape[0] : 0, x, &length, err));
    GEODEC_TRY(geodec__reference_summary(r->summary, length, x, &result, err));
    geodec_format_f64(result, value);
done:
    GEODEC_FREE(data, x);
    return st;
}
