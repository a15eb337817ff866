/* Artifacts and text tables as read-only virtual tables of SQLite. */
#include "artifact/select_internal.h"
#include "base/mem.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SLAB_BYTES = 4 << 20, COLUMNS_MAX = 2000 /* of SQLite */ };
#define WHOLE_BYTES_MAX ((int64_t)2 << 30)

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static geodec_status bind_field(geodec__select_table *t, geodec__select_field *f, geodec_err *err)
{
    geodec__axis axis[GEODEC_RANK_MAX];
    int64_t stride = 1;
    int named;
    bool taken[GEODEC_RANK_MAX] = {false};
    GEODEC_PASS(geodec_artifact_shape(t->artifact, f->field->path, f->shape, &f->rank, err));
    GEODEC_PASS(geodec__kind_field_axes(f->field, axis, &named, err));
    if (t->by_first_axis && t->n_over == 0 && f->rank > 0) t->extent[t->n_over++] = f->shape[0];
    for (int j = f->rank - 1; j >= 0; j--) {
        f->stride[j] = stride;
        stride *= f->shape[j] > 0 ? f->shape[j] : 1;
    }
    f->width = 1;
    f->array.type = (uint32_t)f->field->type;
    for (int j = 0; j < f->rank; j++) {
        f->over[j] = -1;
        for (int d = 0; d < t->n_over && f->over[j] < 0; d++)
            if (!taken[d] && (t->by_first_axis ? j == 0 : strcmp(axis[j].name, t->over[d]) == 0)) f->over[j] = d;
        if (f->over[j] >= 0) {
            taken[f->over[j]] = true;
            if (t->extent[f->over[j]] != f->shape[j])
                GEODEC_FAIL(GEODEC_INVAL, "field '%s' has %" PRId64 " rows, the fields before it %" PRId64, f->name,
                            f->shape[j], t->extent[f->over[j]]);
            continue;
        }
        f->array.shape[f->array.rank++] = f->shape[j];
        f->width *= f->shape[j]; /* the shape of a stored field does not overflow */
    }
    f->slabs = f->rank > 0 && f->over[0] == 0;
    if (!f->slabs && f->rank > 0 && stride > WHOLE_BYTES_MAX / (int64_t)geodec_type_size(f->field->type))
        GEODEC_FAIL(GEODEC_LIMIT, "field '%s' is too large to be read at once", f->name);
    return GEODEC_OK;
}

/* "A:B" within 0..n. */
static geodec_status parse_rows(const char *text, int64_t n, int64_t *from, int64_t *to, geodec_err *err)
{
    *from = 0;
    *to = n;
    if (!text) return GEODEC_OK;
    const char *colon = strchr(text, ':');
    if (!colon || strspn(text, "0123456789:") != strlen(text) || strchr(colon + 1, ':'))
        GEODEC_FAIL(GEODEC_INVAL, "--rows: '%s' is not A:B", text);
    if (colon != text) *from = strtoll(text, NULL, 10);
    if (colon[1]) *to = strtoll(colon + 1, NULL, 10);
    if (*from >= n && *from < *to) GEODEC_FAIL(GEODEC_SCARCE, "--rows: no rows %s in a table of %" PRId64, text, n);
    if (*to > n) *to = n;
    if (*from > *to) GEODEC_FAIL(GEODEC_RANGE, "--rows: no rows %s in a table of %" PRId64, text, n);
    return GEODEC_OK;
}

geodec_status geodec__select_bind(geodec__select_table *t, const char *rows, geodec_err *err)
{
    int64_t inner = 1, all;
    for (int i = 0; i < t->n_fields; i++)
        if (t->field[i].used) GEODEC_PASS(bind_field(t, &t->field[i], err));
    for (int d = 1; d < t->n_over; d++)
        if (geodec_mem_mul(inner, t->extent[d], &inner) != 0) inner = INT64_MAX;
    const int64_t n = t->n_over ? t->extent[0] : 1;
    if (geodec_mem_mul(n, inner, &all) != 0) GEODEC_FAIL(GEODEC_LIMIT, "too many rows");
    GEODEC_PASS(parse_rows(rows, n, &t->from, &t->end, err));
    t->from *= inner;
    t->to = t->end * inner;
    return GEODEC_OK;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* Data of the field for index `row` of the first dimension of the rows. */
static geodec_status load(geodec__select_table *t, geodec__select_field *f, int64_t row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!f->slabs) {
        if (!f->data) GEODEC_TRY(geodec_artifact_read(t->artifact, f->field->path, &f->data, err));
        goto done;
    }
    if (f->data && row >= f->first && row < f->first + f->loaded) goto done;
    const int64_t bytes = f->stride[0] * (int64_t)geodec_type_size(f->field->type);
    const int64_t step = bytes < SLAB_BYTES ? SLAB_BYTES / bytes : 1;
    const int64_t take = step < t->end - row ? step : t->end - row;
    GEODEC_TRY(geodec_hooks_progress(t->query->hooks, "rows", row, f->shape[0], err));
    if (!f->data) GEODEC_NEW(f->data, (step < t->end ? step : t->end) * bytes);
    f->loaded = 0;
    GEODEC_TRY(geodec_artifact_read_rows(t->artifact, f->field->path, row, take, f->data, err));
    f->first = row;
    f->loaded = take;
done:
    return st;
}

/* Index in the data of element j of the array in a row. */
static int64_t place_of(const geodec__select_field *f, const int64_t *at, int64_t j)
{
    int64_t i = 0;
    for (int d = f->rank - 1; d >= 0; d--) {
        if (f->over[d] >= 0) {
            i += (at[f->over[d]] - (d == 0 && f->slabs ? f->first : 0)) * f->stride[d];
        } else {
            i += j % f->shape[d] * f->stride[d];
            j /= f->shape[d];
        }
    }
    return i;
}

static geodec_status result_field(sqlite3_context *c, geodec__select_table *t, geodec__select_field *f,
                                  const int64_t *at, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t size = (int64_t)geodec_type_size(f->field->type);
    char *blob = NULL;
    GEODEC_TRY(load(t, f, t->n_over ? at[0] : 0, err));
    if (f->array.rank == 0) {
        geodec__select_result(c, f->field->type, f->data + place_of(f, at, 0) * size);
        goto done;
    }
    if (f->width > WHOLE_BYTES_MAX / size) GEODEC_THROW(GEODEC_LIMIT, "field '%s' is too large for a value", f->name);
    const int64_t bytes = (int64_t)sizeof f->array + f->width * size;
    GEODEC_NEW(blob, bytes);
    memcpy(blob, &f->array, sizeof f->array);
    for (int64_t j = 0; j < f->width; j++)
        memcpy(blob + sizeof f->array + j * size, f->data + place_of(f, at, j) * size, (size_t)size);
    sqlite3_result_blob64(c, blob, (sqlite3_uint64)bytes, geodec_mem_free);
done:
    return st;
}

static void result_text(sqlite3_context *c, const char *cell)
{
    if (!cell || geodec__select_missing(cell)) return; /* NULL */
    if (geodec__select_large(cell))
        sqlite3_result_text(c, sqlite3_mprintf("%s" GEODEC__SELECT_LARGE, cell), -1, sqlite3_free);
    else
        sqlite3_result_text(c, cell, -1, SQLITE_STATIC);
}

/* ---- the virtual table ------------------------------------------------------------------------------------------ */

typedef struct cursor {
    sqlite3_vtab_cursor base;
    int64_t row, end;
} cursor;

typedef struct vtab {
    sqlite3_vtab base;
    geodec__select_table *table;
} vtab;

static int vtab_connect(sqlite3 *db, void *table, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    geodec__select_table *t = table;
    sqlite3_str *sql = sqlite3_str_new(db);
    vtab *v = sqlite3_malloc(sizeof *v);
    const char *between = "";
    (void)argc;
    (void)argv;
    sqlite3_str_appendall(sql, "CREATE TABLE t(");
    for (int d = 0; !t->by_first_axis && d < t->n_over; d++, between = ", ")
        sqlite3_str_appendf(sql, "%s\"%w\"", between, t->over[d]);
    for (int i = 0; i < t->n_fields; i++, between = ", ")
        sqlite3_str_appendf(sql, "%s\"%w\"", between, t->field[i].name);
    /* NUMERIC: in a join of two stored subqueries SQLite compares without the collation, and 1 would differ from '1'.
     */
    for (int64_t k = 0; k < t->text.columns; k++, between = ", ")
        sqlite3_str_appendf(sql, "%s\"%w\" NUMERIC COLLATE number", between, t->text.cell[k]);
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    int rc = text && v ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
    sqlite3_free(text);
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        sqlite3_free(v);
        return rc;
    }
    *v = (vtab){.table = t};
    *out = &v->base;
    return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *v)
{
    sqlite3_free(v);
    return SQLITE_OK;
}

/* Plan 1: one row by its number; plan 0: all rows in order. */
static int vtab_best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
    (void)v;
    info->estimatedCost = 1e6;
    info->estimatedRows = 1000000;
    info->orderByConsumed = info->nOrderBy == 1 && info->aOrderBy[0].iColumn < 0 && !info->aOrderBy[0].desc;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn >= 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ ||
            !info->aConstraint[i].usable)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxNum = 1;
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        break;
    }
    return SQLITE_OK;
}

static int vtab_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
    (void)v;
    cursor *c = sqlite3_malloc(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    *c = (cursor){0};
    *out = &c->base;
    return SQLITE_OK;
}

static int vtab_close(sqlite3_vtab_cursor *c)
{
    sqlite3_free(c);
    return SQLITE_OK;
}

static const geodec__select_table *table_of(const cursor *c) { return ((const vtab *)c->base.pVtab)->table; }

static int vtab_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc, sqlite3_value **argv)
{
    cursor *c = (cursor *)base;
    const geodec__select_table *t = table_of(c);
    (void)name;
    c->row = t->from;
    c->end = t->to;
    if (plan == 1 && argc == 1) {
        c->row = sqlite3_value_int64(argv[0]);
        c->end = c->row >= t->from && c->row < t->to ? c->row + 1 : c->row;
    }
    return SQLITE_OK;
}

static int vtab_next(sqlite3_vtab_cursor *c)
{
    ((cursor *)c)->row++;
    return SQLITE_OK;
}

static int vtab_eof(sqlite3_vtab_cursor *c) { return ((cursor *)c)->row >= ((cursor *)c)->end; }

static int vtab_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *row)
{
    *row = ((cursor *)c)->row;
    return SQLITE_OK;
}

static int vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int k)
{
    const cursor *c = (const cursor *)base;
    geodec__select_table *t = ((vtab *)base->pVtab)->table;
    int64_t at[GEODEC_RANK_MAX] = {0}, rest = c->row;
    if (!t->artifact) {
        result_text(context, geodec_table_cell(&t->text, c->row, k));
        return SQLITE_OK;
    }
    for (int d = t->n_over - 1; d >= 0; rest /= t->extent[d--]) at[d] = rest % t->extent[d];
    const int indices = t->by_first_axis ? 0 : t->n_over;
    if (k < indices) {
        sqlite3_result_int64(context, at[k]);
        return SQLITE_OK;
    }
    geodec__select *s = t->query;
    s->st = result_field(context, t, &t->field[k - indices], at, &s->err);
    return s->st == GEODEC_OK ? SQLITE_OK : SQLITE_ERROR;
}

static const sqlite3_module module = {
    .xCreate = vtab_connect,
    .xConnect = vtab_connect,
    .xBestIndex = vtab_best_index,
    .xDisconnect = vtab_disconnect,
    .xDestroy = vtab_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = vtab_filter,
    .xNext = vtab_next,
    .xEof = vtab_eof,
    .xColumn = vtab_column,
    .xRowid = vtab_rowid,
};

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Whether a file begins with text and is not an artifact. The reader reports files that cannot be read. */
static bool is_text(const char *path)
{
    char head[64];
    const char *dot = strrchr(path, '.');
    if (strcmp(path, "-") == 0) return true;
    if (dot && strcmp(dot, ".h5") == 0) return false;
    const size_t n = geodec_file_head(path, head, sizeof head);
    if (n == 0) return dot && strcmp(dot, ".tsv") == 0;
    return !memchr(head, 0, n) && !(n >= 15 && memcmp(head, "geodec artifact", 15) == 0) &&
           !(n >= 4 && memcmp(head, "\211HDF", 4) == 0);
}

/* The dimensions of the rows, "C,P". */
static geodec_status cut_over(geodec__select_table *t, const char *over, geodec_err *err)
{
    for (const char *at = over; strcmp(over, "none") != 0 && *at; t->n_over++) {
        const size_t n = strcspn(at, ",");
        if (t->n_over == GEODEC_RANK_MAX || n == 0 || n >= GEODEC__SELECT_NAME)
            GEODEC_FAIL(GEODEC_INVAL, "'%s': up to %d dimensions joined by commas", over, GEODEC_RANK_MAX);
        (void)snprintf(t->over[t->n_over], GEODEC__SELECT_NAME, "%.*s", (int)n, at);
        for (int d = 0; d < t->n_over; d++)
            if (strcmp(t->over[d], t->over[t->n_over]) == 0)
                GEODEC_FAIL(GEODEC_INVAL, "dimension %s occurs twice", t->over[d]);
        if (geodec_artifact_dim(t->artifact, t->over[t->n_over], &t->extent[t->n_over], NULL) != GEODEC_OK)
            GEODEC_FAIL(GEODEC_INVAL, "there is no dimension %s", t->over[t->n_over]);
        at += n + (at[n] == ',');
    }
    return GEODEC_OK;
}

static geodec_status name_fields(geodec__select_table *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_kind *kind = geodec_artifact_kind(t->artifact);
    GEODEC_NEW(t->field, kind->n_fields);
    for (int i = 0; i < kind->n_fields; i++) {
        bool taken = false;
        for (int d = 0; d < t->n_over; d++) taken = taken || strcasecmp(kind->fields[i].path + 1, t->over[d]) == 0;
        t->field[i].field = &kind->fields[i];
        (void)snprintf(t->field[i].name, GEODEC__SELECT_NAME, "%s", kind->fields[i].path + !taken);
    }
    t->n_fields = kind->n_fields;
done:
    return st;
}

geodec_status geodec__select_open(geodec__select *s, const geodec_select *o, const char *name, const char *path,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select_table *t = &s->table[s->n_tables++];
    char *sql = NULL;
    t->query = s;
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    if (is_text(path)) {
        GEODEC_TRY(geodec_table_read(path, &t->text, err));
        if (t->text.columns > COLUMNS_MAX) GEODEC_THROW(GEODEC_LIMIT, "%s: more than %d columns", path, COLUMNS_MAX);
        if (o->over && s->n_tables == 1) GEODEC_THROW(GEODEC_INVAL, "%s: a text table has no dimensions", path);
        t->by_first_axis = true;
        t->n_over = 1;
        t->extent[0] = t->text.rows;
    } else {
        GEODEC_TRY(geodec_artifact_open_any(o->kinds, o->n_kinds, path, &t->artifact, err));
        t->by_first_axis = !o->over;
        if (o->over) GEODEC_TRY_MSG(cut_over(t, o->over, err), "%s", path);
        GEODEC_TRY(name_fields(t, err));
    }
    sql = sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w\" USING \"%w\"", name, name);
    if (!sql || sqlite3_create_module(s->db, name, &module, t) != SQLITE_OK) GEODEC_THROW(GEODEC_NOMEM, "no memory");
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        GEODEC_THROW(GEODEC_INVAL, "%s: %s", path, sqlite3_errmsg(s->db));
done:
    sqlite3_free(sql);
    return st;
}

void geodec__select_close(geodec__select_table *t)
{
    for (int i = 0; i < t->n_fields; i++) geodec_mem_free(t->field[i].data);
    geodec_mem_free(t->field);
    geodec_table_free(&t->text);
    geodec_artifact_close(t->artifact);
}

geodec__select_field *geodec__select_find(geodec__select_table *t, const char *column)
{
    for (int i = 0; i < t->n_fields; i++)
        if (strcasecmp(t->field[i].name, column) == 0) return &t->field[i];
    return NULL;
}
