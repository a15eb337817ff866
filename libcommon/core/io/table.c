#include "io/table.h"

#include "base/mem.h"
#include "io/file.h"

#include <stdbool.h>
#include <string.h>

enum { CELLS_MAX = 1 << 26 };

void geodec_table_free(geodec_table *t)
{
    if (!t) return;
    GEODEC_FREE(t->cell, t->line, t->text);
    *t = (geodec_table){0};
}

static int64_t count(const char *text, char c)
{
    int64_t n = 0;
    for (; (text = strchr(text, c)); text++) n++;
    return n;
}

/* Splits a line at its tabs; false when it has more cells than the header. */
static bool cut(char *line, int64_t columns, char **cell)
{
    for (int64_t k = 0; line; k++) {
        if (k == columns) return false;
        char *tab = strchr(line, '\t');
        if (tab) *tab = 0;
        cell[k] = line;
        line = tab ? tab + 1 : NULL;
    }
    return true;
}

geodec_status geodec_table_read(const char *path, geodec_table *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_table t = {0};
    size_t n;
    GEODEC_TRY(geodec_file_read(path, GEODEC_TABLE_BYTES_MAX, &t.text, &n, err));
    if (strlen(t.text) != n) GEODEC_THROW(GEODEC_FORMAT, "%s: a NUL byte; not a text table", path);
    const int64_t lines = count(t.text, '\n') + 1;
    int64_t at = 0, number = 0, cells;
    for (char *line = t.text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        const size_t length = strlen(line);
        if (length && line[length - 1] == '\r') line[length - 1] = 0;
        number++;
        if (!*line) continue;
        if (!t.cell) {
            t.columns = count(line, '\t') + 1;
            if (t.columns > GEODEC_TABLE_COLUMNS_MAX)
                GEODEC_THROW(GEODEC_LIMIT, "%s: %lld columns, more than %d", path, (long long)t.columns,
                             GEODEC_TABLE_COLUMNS_MAX);
            if (geodec_mem_mul(lines, t.columns, &cells) != 0 || cells > CELLS_MAX)
                GEODEC_THROW(GEODEC_LIMIT, "%s: %lld lines of %lld columns", path, (long long)lines,
                             (long long)t.columns);
            GEODEC_NEW(t.cell, cells);
            GEODEC_NEW(t.line, lines);
            (void)cut(line, t.columns, t.cell);
            continue;
        }
        if (!cut(line, t.columns, t.cell + (at + 1) * t.columns))
            GEODEC_THROW(GEODEC_FORMAT, "%s: line %lld has more cells than the header (%lld)", path, (long long)number,
                         (long long)t.columns);
        t.line[at++] = number;
    }
    if (!t.cell) GEODEC_THROW(GEODEC_FORMAT, "%s: empty; a table needs a header", path);
    t.rows = at;
    *out = t;
    t = (geodec_table){0};
done:
    geodec_table_free(&t);
    return st;
}

geodec_status geodec_table_read_full(const char *path, int64_t n, const char *const *columns, const char *last,
                                     const char *what, geodec_table *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_table t = {0};
    GEODEC_TRY(geodec_table_read(path, &t, err));
    const bool more = last && t.columns == n + 1 && strcmp(t.cell[n], last) == 0;
    for (int64_t k = 0; k < n; k++)
        if (t.columns != n + more || strcmp(t.cell[k], columns[k]) != 0)
            GEODEC_THROW(GEODEC_FORMAT, "%s: not the header of %s", path, what);
    for (int64_t i = 0; i < t.rows * t.columns; i++) {
        const int64_t column = i % t.columns;
        const char *cell = t.cell[t.columns + i];
        if (!cell || !*cell)
            GEODEC_THROW(GEODEC_FORMAT, "%s: line %lld has no %s", path, (long long)t.line[i / t.columns],
                         column < n ? columns[column] : last);
    }
    *out = t;
    t = (geodec_table){0};
done:
    geodec_table_free(&t);
    return st;
}

int64_t geodec_table_column(const geodec_table *t, const char *name)
{
    for (int64_t k = 0; k < t->columns; k++)
        if (t->cell[k] && strcmp(t->cell[k], name) == 0) return k;
    return -1;
}

const char *geodec_table_cell(const geodec_table *t, int64_t row, int64_t column)
{
    if (row < 0 || row >= t->rows || column < 0 || column >= t->columns) return NULL;
    return t->cell[(row + 1) * t->columns + column];
}
