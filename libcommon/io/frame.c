#include "io/frame.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16, KEYS_MAX = 16 };

/* A copy that lives as long as the frame. */
static geodec_status keep(geodec_frame *f, const char *text, const char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const size_t n = strlen(text) + 1;
    if (f->size - f->used < n) {
        const size_t size = n > CHUNK ? n : CHUNK;
        char **chunk = geodec_mem_grow(f->chunk, f->n_chunks, f->n_chunks + 1, sizeof *chunk);
        if (!chunk) GEODEC_THROW(GEODEC_NOMEM, "no memory for a table");
        f->chunk = chunk;
        GEODEC_NEW(f->chunk[f->n_chunks], size);
        f->n_chunks++;
        f->size = size;
        f->used = 0;
    }
    *out = memcpy(f->chunk[f->n_chunks - 1] + f->used, text, n);
    f->used += n;
done:
    return st;
}

geodec_status geodec_frame_header(geodec_frame *f, int64_t n, const char *const *names, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (f->name || n < 1) GEODEC_THROW(GEODEC_INVAL, "a table has one header of at least one column");
    GEODEC_NEW(f->name, n);
    f->columns = n;
    for (int64_t k = 0; k < n; k++) GEODEC_TRY(keep(f, names[k], &f->name[k], err));
done:
    return st;
}

geodec_status geodec_frame_row(geodec_frame *f, const char *const *cells, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (f->rows == f->room) {
        const int64_t room = f->room ? 2 * f->room : 64;
        const char **cell = geodec_mem_grow(f->cell, f->rows * f->columns, room * f->columns, sizeof *cell);
        if (!cell) GEODEC_THROW(GEODEC_NOMEM, "no memory for a table");
        f->cell = cell;
        bool *gap = geodec_mem_grow(f->gap, f->rows, room, sizeof *gap);
        if (!gap) GEODEC_THROW(GEODEC_NOMEM, "no memory for a table");
        f->gap = gap;
        f->room = room;
    }
    for (int64_t k = 0; k < f->columns; k++) GEODEC_TRY(keep(f, cells[k], &f->cell[f->rows * f->columns + k], err));
    f->rows++;
done:
    return st;
}

void geodec_frame_free(geodec_frame *f)
{
    for (int i = 0; i < f->n_chunks; i++) geodec_mem_free(f->chunk[i]);
    geodec_mem_free(f->chunk);
    geodec_mem_free(f->cell);
    geodec_mem_free(f->gap);
    geodec_mem_free(f->name);
    *f = (geodec_frame){0};
}

static geodec_status find_name(const char *const *names, int64_t n, const char *name, int64_t *column, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t found = -1;
    for (int64_t k = 0; k < n; k++) {
        if (!names[k] || strcmp(names[k], name) != 0) continue;
        if (found >= 0) GEODEC_THROW(GEODEC_INVAL, "two columns are called '%s'", name);
        found = k;
    }
    if (found < 0) GEODEC_THROW(GEODEC_INVAL, "there is no column '%s'", name);
    *column = found;
done:
    return st;
}

geodec_status geodec_frame_column(const geodec_frame *f, const char *name, int64_t *column, geodec_err *err)
{
    return find_name(f->name, f->columns, name, column, err);
}

/* "a,b" as columns of a table. */
static geodec_status find_names(const char *const *names, int64_t n, const char *list, int64_t column[KEYS_MAX],
                                int *n_keys, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char name[256];
    *n_keys = 0;
    for (const char *at = list; at; (*n_keys)++) {
        const size_t bytes = strcspn(at, ",");
        if (bytes == 0 || bytes >= sizeof name || *n_keys == KEYS_MAX)
            GEODEC_THROW(GEODEC_INVAL, "'%.60s': one to %d columns joined by commas", list, KEYS_MAX);
        (void)snprintf(name, sizeof name, "%.*s", (int)bytes, at);
        GEODEC_TRY(find_name(names, n, name, &column[*n_keys], err));
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
done:
    return st;
}

typedef struct keyed {
    const char *key[KEYS_MAX];
    int n;
    int64_t row;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = 0;
    for (int k = 0; k < x->n && order == 0; k++) order = strcmp(x->key[k], y->key[k]);
    return order;
}

static const char *text(const char *cell) { return cell ? cell : ""; }

/* The rows of a table in the order of their keys, each key once. */
static geodec_status index_rows(const geodec_table *t, const int64_t *column, int n_keys, keyed **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    keyed *rows = NULL;
    GEODEC_NEW(rows, t->rows);
    for (int64_t i = 0; i < t->rows; i++) {
        rows[i] = (keyed){.n = n_keys, .row = i};
        for (int k = 0; k < n_keys; k++) rows[i].key[k] = text(geodec_table_cell(t, i, column[k]));
    }
    qsort(rows, (size_t)t->rows, sizeof *rows, by_key);
    for (int64_t i = 1; i < t->rows; i++)
        if (by_key(&rows[i - 1], &rows[i]) == 0)
            GEODEC_THROW(GEODEC_INVAL, "lines %" PRId64 " and %" PRId64 " have the same key, '%s'",
                         t->line[rows[i - 1].row], t->line[rows[i].row], rows[i].key[0]);
    *out = rows;
    rows = NULL;
done:
    geodec_mem_free(rows);
    return st;
}

/* The column names of both tables, key columns once. */
static geodec_status joined_header(const geodec_frame *f, const geodec_table *with, const int64_t *key, int n_keys,
                                   geodec_frame *out, int64_t *added, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char **names = NULL;
    int64_t n = f->columns;
    GEODEC_NEW(names, f->columns + with->columns);
    for (int64_t k = 0; k < f->columns; k++) names[k] = f->name[k];
    for (int64_t k = 0; k < with->columns; k++) {
        bool is_key = false;
        for (int j = 0; j < n_keys; j++) is_key = is_key || key[j] == k;
        if (is_key) continue;
        for (int64_t j = 0; j < f->columns; j++)
            if (strcmp(f->name[j], with->cell[k]) == 0)
                GEODEC_THROW(GEODEC_INVAL, "both tables have a column '%s' that is not a key", f->name[j]);
        added[n - f->columns] = k;
        names[n++] = with->cell[k];
    }
    GEODEC_TRY(geodec_frame_header(out, n, names, err));
done:
    geodec_mem_free(names);
    return st;
}

geodec_status geodec_frame_join(geodec_frame *f, const geodec_table *with, const char *keys, const char *fill,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_frame out = {0};
    int64_t here[KEYS_MAX], there[KEYS_MAX], *added = NULL;
    keyed *rows = NULL;
    const char **cells = NULL;
    int n;
    GEODEC_TRY(find_names(f->name, f->columns, keys, here, &n, err));
    GEODEC_TRY(find_names((const char *const *)with->cell, with->columns, keys, there, &n, err));
    GEODEC_TRY(index_rows(with, there, n, &rows, err));
    GEODEC_NEW(added, with->columns);
    GEODEC_TRY(joined_header(f, with, there, n, &out, added, err));
    GEODEC_NEW(cells, out.columns);
    for (int64_t i = 0; i < f->rows; i++) {
        keyed key = {.n = n};
        for (int k = 0; k < n; k++) key.key[k] = f->cell[i * f->columns + here[k]];
        const keyed *row = bsearch(&key, rows, (size_t)with->rows, sizeof *rows, by_key);
        if (!row && !fill) GEODEC_THROW(GEODEC_NOTFOUND, "no row has the key '%s' of row %" PRId64, key.key[0], i + 1);
        for (int64_t k = 0; k < out.columns; k++)
            cells[k] = k < f->columns ? f->cell[i * f->columns + k]
                       : row          ? text(geodec_table_cell(with, row->row, added[k - f->columns]))
                                      : fill;
        GEODEC_TRY(geodec_frame_row(&out, cells, err));
        out.gap[i] = f->gap[i];
    }
    geodec_frame_free(f);
    *f = out;
    out = (geodec_frame){0};
done:
    geodec_frame_free(&out);
    geodec_mem_free(rows);
    geodec_mem_free(added);
    geodec_mem_free(cells);
    return st;
}

geodec_status geodec_frame_append(geodec_frame *f, const geodec_table *more, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char **cells = NULL;
    if (more->columns != f->columns)
        GEODEC_THROW(GEODEC_INVAL, "%" PRId64 " columns behind %" PRId64, more->columns, f->columns);
    for (int64_t k = 0; k < f->columns; k++)
        if (strcmp(f->name[k], more->cell[k]) != 0)
            GEODEC_THROW(GEODEC_INVAL, "column %" PRId64 " is '%s', not '%s'", k + 1, more->cell[k], f->name[k]);
    GEODEC_NEW(cells, f->columns);
    for (int64_t i = 0; i < more->rows; i++) {
        for (int64_t k = 0; k < f->columns; k++) cells[k] = text(geodec_table_cell(more, i, k));
        GEODEC_TRY(geodec_frame_row(f, cells, err));
    }
done:
    geodec_mem_free(cells);
    return st;
}

/* ---- sort ------------------------------------------------------------------------------------------------------- */

typedef struct sorted {
    const char *key[KEYS_MAX];
    double x[KEYS_MAX];
    int n;
    int64_t row;
} sorted;

static int by_columns(const void *a, const void *b)
{
    const sorted *p = a, *q = b;
    for (int k = 0; k < p->n; k++) {
        const bool number = !isnan(p->x[k]), other = !isnan(q->x[k]);
        if (number != other) return number ? -1 : 1;
        const int order = number ? (p->x[k] > q->x[k]) - (p->x[k] < q->x[k]) : strcmp(p->key[k], q->key[k]);
        if (order) return order;
    }
    return (p->row > q->row) - (p->row < q->row);
}

geodec_status geodec_frame_sort(geodec_frame *f, const char *columns, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t column[KEYS_MAX];
    sorted *rows = NULL;
    const char **cell = NULL;
    int n;
    GEODEC_TRY(find_names(f->name, f->columns, columns, column, &n, err));
    if (f->rows == 0) goto done;
    GEODEC_NEW(rows, f->rows);
    GEODEC_NEW(cell, f->room * f->columns);
    for (int64_t i = 0; i < f->rows; i++) {
        rows[i] = (sorted){.n = n, .row = i};
        for (int k = 0; k < n; k++) {
            char *end = NULL;
            rows[i].key[k] = f->cell[i * f->columns + column[k]];
            rows[i].x[k] = strtod(rows[i].key[k], &end);
            if (end == rows[i].key[k] || *end) rows[i].x[k] = (double)NAN;
        }
    }
    qsort(rows, (size_t)f->rows, sizeof *rows, by_columns);
    for (int64_t i = 0; i < f->rows; i++)
        for (int64_t k = 0; k < f->columns; k++) cell[i * f->columns + k] = f->cell[rows[i].row * f->columns + k];
    memset(f->gap, 0, (size_t)f->rows * sizeof *f->gap);
    geodec_mem_free(f->cell);
    f->cell = cell;
    cell = NULL;
done:
    geodec_mem_free(cell);
    geodec_mem_free(rows);
    return st;
}
