#include "artifact/merge.h"

#include "artifact/artifact_internal.h"
#include "base/mem.h"
#include "geodec/err.h"

#include <math.h>
#include <string.h>

enum { COMMAND_LINE = 8192 };
static const char mark[] = " --shard=";

struct geodec_merge {
    const geodec_kind *kind;
    int64_t parts;
    geodec_artifact **part; /* [parts], ordered by slice */
    char command[COMMAND_LINE];
};

/* ---- compatibility of the parts --------------------------------------------------------------------------------- */

/* The slice recorded in a part, and its command line without --shard. */
static geodec_status slice_of(const geodec_artifact *a, geodec_shard *s, char command[COMMAND_LINE], geodec_err *err)
{
    const char *line = geodec_artifact_provenance(a)->command_line, *at = strstr(line, mark);
    char text[16] = "";
    if (!at) GEODEC_FAIL(GEODEC_CHECK, "%s is not a part: it was made without --shard", geodec_artifact_path(a));
    const char *value = at + sizeof mark - 1;
    const size_t length = strcspn(value, " "), before = (size_t)(at - line), rest = strlen(value + length);
    if (length < sizeof text) memcpy(text, value, length);
    GEODEC_PASS_MSG(geodec_shard_parse(text, s, err), "%s: --shard", geodec_artifact_path(a));
    if (before + rest + 1 > COMMAND_LINE)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: its command line is too long", geodec_artifact_path(a));
    memcpy(command, line, before);
    memcpy(command + before, value + length, rest + 1);
    return GEODEC_OK;
}

static geodec_status differ(const geodec_artifact *a, const geodec_artifact *b, const char *what, const char *x,
                            const char *y, geodec_err *err)
{
    if (strcmp(x, y) != 0)
        GEODEC_FAIL(GEODEC_CHECK, "%s and %s cannot be joined: %s '%.60s' and '%.60s'", geodec_artifact_path(a),
                    geodec_artifact_path(b), what, x, y);
    return GEODEC_OK;
}

/* A digest shortened for messages. */
static geodec_status same_origin(const geodec_artifact *a, const geodec_artifact *b, geodec_err *err)
{
    const geodec_provenance *p = geodec_artifact_provenance(a), *q = geodec_artifact_provenance(b);
    const char *x, *y;
    GEODEC_PASS(differ(a, b, "kind", geodec_artifact_kind(a)->name, geodec_artifact_kind(b)->name, err));
    GEODEC_PASS(geodec_artifact_get_str(a, "tool_version", &x, err));
    GEODEC_PASS(geodec_artifact_get_str(b, "tool_version", &y, err));
    GEODEC_PASS(differ(a, b, "versions", x, y, err));
    GEODEC_PASS(differ(a, b, "tools", p->tool, q->tool, err));
    GEODEC_PASS(differ(a, b, "BLAS kernels", p->blas_core, q->blas_core, err));
    GEODEC_PASS(differ(a, b, "models", p->model_fingerprint, q->model_fingerprint, err));
    GEODEC_PASS(differ(a, b, "tokenizers", p->tokenizer_fingerprint, q->tokenizer_fingerprint, err));
    if (p->seed != q->seed || p->n_inputs != q->n_inputs)
        GEODEC_FAIL(GEODEC_CHECK, "%s and %s cannot be joined: another seed or other inputs", geodec_artifact_path(a),
                    geodec_artifact_path(b));
    for (int i = 0; i < p->n_inputs; i++) {
        GEODEC_PASS(differ(a, b, "inputs", p->input[i].name, q->input[i].name, err));
        GEODEC_PASS(differ(a, b, "contents of an input", p->input[i].sha256, q->input[i].sha256, err));
    }
    return GEODEC_OK;
}

static geodec_status own_version(const geodec_artifact *a, geodec_err *err)
{
    const geodec_kind *k = geodec_artifact_kind(a);
    const char *version;
    int major, minor;
    geodec_artifact_version(a, &major, &minor);
    GEODEC_PASS(geodec_artifact_get_str(a, "tool_version", &version, err));
    if (!k->shards)
        GEODEC_FAIL(GEODEC_CHECK, "%s: artifacts of kind '%s' cannot be joined", geodec_artifact_path(a), k->name);
    if (major != k->major || minor != k->minor || strcmp(version, geodec_version()) != 0)
        GEODEC_FAIL(GEODEC_VERSION, "%s was made by version %s (schema %d.%d); use the same version to join it",
                    geodec_artifact_path(a), version, major, minor);
    return GEODEC_OK;
}

/* Orders the parts by slice: m->part from opened [n]. */
static geodec_status arrange(geodec_merge *m, geodec_artifact **opened, geodec_err *err)
{
    char command[COMMAND_LINE];
    for (int64_t i = 0; i < m->parts; i++) {
        geodec_shard s;
        const char *path = geodec_artifact_path(opened[i]);
        GEODEC_PASS(own_version(opened[i], err));
        GEODEC_PASS(slice_of(opened[i], &s, i == 0 ? m->command : command, err));
        if (i > 0) {
            GEODEC_PASS(same_origin(opened[0], opened[i], err));
            if (strcmp(command, m->command) != 0)
                GEODEC_FAIL(GEODEC_CHECK, "%s and %s cannot be joined: other options or arguments",
                            geodec_artifact_path(opened[0]), path);
        }
        if (s.count != m->parts)
            GEODEC_FAIL(GEODEC_CHECK, "%s is part %lld of %lld, but %lld files are given", path, (long long)s.index,
                        (long long)s.count, (long long)m->parts);
        if (m->part[s.index - 1])
            GEODEC_FAIL(GEODEC_CHECK, "%s and %s are both part %lld of %lld",
                        geodec_artifact_path(m->part[s.index - 1]), path, (long long)s.index, (long long)s.count);
        m->part[s.index - 1] = opened[i];
    }
    return GEODEC_OK;
}

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

/* Index of a dimension in kind->shards; -1 = the dimension is not divided. */
static int divided(const geodec_kind *k, const char *dim)
{
    const size_t n = strlen(dim);
    int place = 0;
    for (const char *p = k->shards; *p; place++) {
        const size_t length = strcspn(p, ",");
        if (length == n && memcmp(p, dim, n) == 0) return place;
        p += length;
        if (*p == ',') p++;
    }
    return -1;
}

static int64_t extent_in(const geodec_artifact *a, const char *dim)
{
    const struct geodec__dim_state *d = geodec__kind_dim_find(a, dim);
    return d ? d->extent : GEODEC__EXTENT_UNKNOWN;
}

geodec_status geodec_merge_dim(const geodec_merge *m, const char *name, int64_t *extent, geodec_err *err)
{
    int64_t sum;
    GEODEC_PASS(geodec_artifact_dim(m->part[0], name, &sum, err));
    if (divided(m->kind, name) >= 0)
        for (int64_t i = 1; i < m->parts; i++) sum += extent_in(m->part[i], name);
    *extent = sum;
    return GEODEC_OK;
}

static geodec_status check_dims(const geodec_merge *m, geodec_err *err)
{
    const geodec_artifact *a = m->part[0];
    for (int d = 0; d < a->n_dims; d++) {
        const char *name = a->dim[d].name;
        const int place = divided(m->kind, name);
        int64_t total = 0, first, end;
        for (int64_t i = 0; i < m->parts; i++) {
            const int64_t extent = extent_in(m->part[i], name);
            if ((extent == GEODEC__EXTENT_UNKNOWN) != (a->dim[d].extent == GEODEC__EXTENT_UNKNOWN) ||
                (place < 0 && extent != a->dim[d].extent))
                GEODEC_FAIL(GEODEC_CHECK, "%s and %s cannot be joined: dimension %s differs", geodec_artifact_path(a),
                            geodec_artifact_path(m->part[i]), name);
            total += extent;
        }
        for (int64_t i = 0; place == 0 && i < m->parts; i++) {
            const int64_t extent = extent_in(m->part[i], name);
            GEODEC_PASS(geodec_shard_range((geodec_shard){i + 1, m->parts}, total, &first, &end, err));
            if (extent != end - first)
                GEODEC_FAIL(GEODEC_CHECK, "%s has %lld of %lld items, part %lld of %lld has %lld",
                            geodec_artifact_path(m->part[i]), (long long)extent, (long long)total, (long long)(i + 1),
                            (long long)m->parts, (long long)(end - first));
        }
    }
    return GEODEC_OK;
}

/* Whether field i is joined along its first axis. A table with a divided dimension on another axis is an error. */
static geodec_status is_joined(const geodec_kind *k, int i, bool *joined, geodec_err *err)
{
    geodec__axis axis[GEODEC_RANK_MAX];
    int rank;
    GEODEC_PASS(geodec__kind_field_axes(&k->fields[i], axis, &rank, err));
    *joined = rank > 0 && axis[0].name[0] && divided(k, axis[0].name) >= 0;
    for (int d = 1; d < rank; d++)
        if (axis[d].name[0] && divided(k, axis[d].name) >= 0)
            GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: field %s is divided along axis %d", k->name, k->fields[i].path, d);
    return GEODEC_OK;
}

geodec_status geodec_merge_open(const geodec_kind *const *kinds, int n_kinds, int64_t n, const char *const *part,
                                geodec_merge **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_merge *m = NULL;
    geodec_artifact **opened = NULL;
    if (n < 1 || n > GEODEC_SHARDS_MAX)
        GEODEC_THROW(GEODEC_RANGE, "%lld parts (limits: 1..%d)", (long long)n, GEODEC_SHARDS_MAX);
    GEODEC_NEW(opened, n);
    GEODEC_NEW(m, 1);
    m->parts = n;
    GEODEC_NEW(m->part, n);
    for (int64_t i = 0; i < n; i++) GEODEC_TRY(geodec_artifact_open_any(kinds, n_kinds, part[i], &opened[i], err));
    m->kind = geodec_artifact_kind(opened[0]);
    GEODEC_TRY(arrange(m, opened, err));
    memset(opened, 0, (size_t)n * sizeof(geodec_artifact *)); /* from here on m owns them */
    GEODEC_TRY(check_dims(m, err));
    *out = m;
    m = NULL;
done:
    /* a part may be in both lists here */
    for (int64_t i = 0; opened && i < n; i++) {
        for (int64_t k = 0; m && m->part && k < n; k++)
            if (m->part[k] == opened[i]) m->part[k] = NULL;
        geodec_artifact_close(opened[i]);
    }
    geodec_mem_free(opened);
    geodec_merge_close(m);
    return st;
}

void geodec_merge_close(geodec_merge *m)
{
    if (!m) return;
    for (int64_t i = 0; m->part && i < m->parts; i++) geodec_artifact_close(m->part[i]);
    GEODEC_FREE(m->part, m);
}

const geodec_kind *geodec_merge_kind(const geodec_merge *m) { return m->kind; }
int64_t geodec_merge_parts(const geodec_merge *m) { return m->parts; }

/* ---- fields ----------------------------------------------------------------------------------------------------- */

/* Elements and shape of field i in part p. */
static geodec_status elements(const geodec_merge *m, int i, int64_t p, int64_t *rows, int64_t *count, geodec_err *err)
{
    int64_t shape[GEODEC_RANK_MAX], n = 1;
    int rank;
    GEODEC_PASS(geodec_artifact_shape(m->part[p], m->kind->fields[i].path, shape, &rank, err));
    for (int d = 0; d < rank; d++) n *= shape[d]; /* opening the part checked the product */
    *rows = rank ? shape[0] : 1;
    *count = n;
    return GEODEC_OK;
}

/* Field i of the joined file, in new memory. */
static geodec_status join(const geodec_merge *m, int i, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = m->kind->fields[i].path;
    const int64_t size = (int64_t)geodec_type_size(m->kind->fields[i].type);
    char *data = NULL, *other = NULL;
    bool joined;
    int64_t total = 0, rows, count, at = 0;
    GEODEC_TRY(is_joined(m->kind, i, &joined, err));
    for (int64_t p = 0; p < m->parts; p++) {
        GEODEC_TRY(elements(m, i, p, &rows, &count, err));
        total += count;
    }
    if (!joined) {
        GEODEC_TRY(geodec_artifact_read(m->part[0], path, &data, err));
        const int64_t own = total / m->parts;
        for (int64_t p = 1; p < m->parts; p++) {
            GEODEC_TRY(geodec_artifact_read(m->part[p], path, &other, err));
            if (own && memcmp(data, other, (size_t)(own * size)) != 0)
                GEODEC_THROW(GEODEC_CHECK, "%s and %s cannot be joined: field %s differs",
                             geodec_artifact_path(m->part[0]), geodec_artifact_path(m->part[p]), path);
            geodec_mem_free(other);
            other = NULL;
        }
    } else {
        GEODEC_NEW(data, total > 0 ? total * size : 1);
        for (int64_t p = 0; p < m->parts; p++) {
            GEODEC_TRY(elements(m, i, p, &rows, &count, err));
            if (count) GEODEC_TRY(geodec_artifact_read_rows(m->part[p], path, 0, rows, data + at, err));
            at += count * size;
        }
    }
    *out = data;
    data = NULL;
done:
    GEODEC_FREE(data, other);
    return st;
}

geodec_status geodec_merge_read(geodec_merge *m, const char *path, void *out_pointer, geodec_err *err)
{
    char *data;
    int i;
    GEODEC_PASS(geodec__kind_field_index(m->part[0], path, &i, err));
    GEODEC_PASS(join(m, i, &data, err));
    memcpy(out_pointer, &data, sizeof data);
    return GEODEC_OK;
}

static geodec_status put_field(const geodec_merge *m, int i, geodec_artifact *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_field *f = &m->kind->fields[i];
    char *data = NULL;
    const bool there = geodec_artifact_has(m->part[0], f->path);
    for (int64_t p = 1; p < m->parts; p++)
        if (geodec_artifact_has(m->part[p], f->path) != there)
            GEODEC_THROW(GEODEC_CHECK, "%s and %s cannot be joined: one lacks field %s",
                         geodec_artifact_path(m->part[0]), geodec_artifact_path(m->part[p]), f->path);
    if (!there) goto done;
    GEODEC_TRY(join(m, i, &data, err));
    if (f->flags & GEODEC_FIELD_STREAM) {
        int64_t total = 0, rows, count;
        bool joined;
        GEODEC_TRY(is_joined(m->kind, i, &joined, err));
        for (int64_t p = 0; p < (joined ? m->parts : 1); p++) {
            GEODEC_TRY(elements(m, i, p, &rows, &count, err));
            total += rows;
        }
        GEODEC_TRY(geodec_artifact_append(out, f->path, total, data, err));
    } else {
        GEODEC_TRY(geodec_artifact_write(out, f->path, data, err));
    }
done:
    geodec_mem_free(data);
    return st;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

/* The attribute of the joined file: derived, joined by its rule, or the same in all parts. */
static geodec_status put_attr(geodec_merge *m, int i, geodec_artifact *out, geodec_err *err)
{
    const geodec_attr *at = &m->kind->attrs[i];
    const bool text = at->type == GEODEC_ATTR_STR, real = at->type == GEODEC_ATTR_F64;
    const bool derived = !text && (at->flags & GEODEC_ATTR_DERIVED);
    struct geodec__attr_state all = m->part[0]->attr[i]; /* one of the two numbers is 0, by the type of the attribute */
    for (int64_t p = 1; p < m->parts; p++) {
        const struct geodec__attr_state *s = &m->part[p]->attr[i];
        bool same = s->present == all.present;
        if (!same || !all.present || derived) {
        } else if (text) {
            same = strcmp(s->text, all.text) == 0;
        } else if (at->flags & GEODEC_ATTR_SUM) {
            if (real)
                GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: a sum of real numbers depends on the slices (%s)", m->kind->name,
                            at->name);
            all.i64 += s->i64;
        } else if (at->flags & GEODEC_ATTR_MAX) {
            all.i64 = s->i64 > all.i64 ? s->i64 : all.i64;
            all.f64 = s->f64 > all.f64 ? s->f64 : all.f64;
        } else if (at->flags & GEODEC_ATTR_MIN) {
            all.i64 = s->i64 < all.i64 ? s->i64 : all.i64;
            all.f64 = s->f64 < all.f64 ? s->f64 : all.f64;
        } else {
            same = s->i64 == all.i64 && memcmp(&s->f64, &all.f64, sizeof s->f64) == 0;
        }
        if (!same)
            GEODEC_FAIL(GEODEC_CHECK, "%s and %s cannot be joined: attribute %s differs",
                        geodec_artifact_path(m->part[0]), geodec_artifact_path(m->part[p]), at->name);
    }
    if (!all.present) return GEODEC_OK;
    if (derived) {
        if (!m->kind->derive)
            GEODEC_FAIL(GEODEC_INTERNAL, "kind %s: attribute %s cannot be derived", m->kind->name, at->name);
        GEODEC_PASS(m->kind->derive(m, at->name, &all.f64, err));
        all.i64 = real ? 0 : (int64_t)all.f64;
    }
    if (text)
        GEODEC_PASS(geodec_artifact_put_str(out, at->name, all.text, err));
    else
        GEODEC_PASS(real ? geodec_artifact_put_f64(out, at->name, all.f64, err)
                         : geodec_artifact_put_i64(out, at->name, all.i64, err));
    return GEODEC_OK;
}

geodec_status geodec_merge_write(geodec_merge *m, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    geodec_provenance p = *geodec_artifact_provenance(m->part[0]);
    const geodec_artifact *a = m->part[0];
    p.command_line = m->command;
    GEODEC_TRY(geodec_artifact_create(m->kind, path, &p, &out, err));
    for (int d = 0; d < a->n_dims; d++) {
        int64_t extent;
        if (a->dim[d].extent == GEODEC__EXTENT_UNKNOWN) continue;
        GEODEC_TRY(geodec_merge_dim(m, a->dim[d].name, &extent, err));
        GEODEC_TRY(geodec_artifact_set_dim(out, a->dim[d].name, extent, err));
    }
    for (int i = 0; i < m->kind->n_fields; i++) GEODEC_TRY(put_field(m, i, out, err));
    for (int i = 0; i < m->kind->n_attrs; i++) GEODEC_TRY(put_attr(m, i, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
done:
    geodec_artifact_close(out);
    return st;
}
