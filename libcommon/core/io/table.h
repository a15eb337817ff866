/* Tables as text, read completely: a header line, then rows of cells separated by tabs (as written by io/tsv.h). */
#ifndef GEODEC_IO_TABLE_H
#define GEODEC_IO_TABLE_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_TABLE_COLUMNS_MAX = 4096 };
#define GEODEC_TABLE_BYTES_MAX ((size_t)64 << 20)

typedef struct geodec_table {
    int64_t rows; /* without the header; empty lines are left out */
    int64_t columns;
    char **cell;   /* [1 + rows][columns], the header first; NULL where a row is shorter than the header */
    int64_t *line; /* [rows], line of the file, from 1 */
    char *text;    /* memory of the cells */
} geodec_table;

/* GEODEC_NOTFOUND; GEODEC_FORMAT: no header, a NUL byte, a row longer than the header; GEODEC_LIMIT: more than
 * GEODEC_TABLE_BYTES_MAX bytes or GEODEC_TABLE_COLUMNS_MAX columns. Free with geodec_table_free. */
geodec_status geodec_table_read(const char *path, geodec_table *out, geodec_err *err) GEODEC_MUST_USE;
/* A table with exactly these columns[n], after which `last` may follow (NULL: none), and no empty cell. GEODEC_FORMAT
 * if it differs; what: its name in messages. */
geodec_status geodec_table_read_full(const char *path, int64_t n, const char *const *columns, const char *last,
                                     const char *what, geodec_table *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_table_free(geodec_table *t);
/* Column of that name, or -1. */
int64_t geodec_table_column(const geodec_table *t, const char *name);
/* NULL when row or column is out of range, or the row is too short. */
const char *geodec_table_cell(const geodec_table *t, int64_t row, int64_t column);

#endif
