/* Tables in memory that grow by rows: join by key, append, sort. */
#ifndef GEODEC_IO_FRAME_H
#define GEODEC_IO_FRAME_H

#include "io/table.h"

#include <stdbool.h>

typedef struct geodec_frame {
    int64_t rows, columns;
    const char **name; /* [columns] */
    const char **cell; /* [rows][columns] */
    bool *gap;         /* [rows]: an empty line follows */
    int64_t room;      /* rows allocated */
    char **chunk;      /* memory of the cell texts */
    int n_chunks;
    size_t used, size; /* bytes used of the last chunk */
} geodec_frame;

/* The names, once, before rows; they are copied. */
GEODEC_API geodec_status geodec_frame_header(geodec_frame *f, int64_t n, const char *const *names,
                                             geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_frame_row(geodec_frame *f, const char *const *cells, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_frame_free(geodec_frame *f);

/* Column of that name. GEODEC_INVAL: none, or two. */
GEODEC_API geodec_status geodec_frame_column(const geodec_frame *f, const char *name, int64_t *column,
                                             geodec_err *err) GEODEC_MUST_USE;
/* Adds the other columns of `with` to each row, from the one row of `with` whose key columns have the same texts.
 * GEODEC_INVAL: no such key column, a column name that is in both, two rows of `with` with one key; GEODEC_NOTFOUND: no
 * row with the key of a row of f, unless `fill` (the text of the cells in its place) is given. Rows of `with` without a
 * match are left out. keys: names joined by commas. */
GEODEC_API geodec_status geodec_frame_join(geodec_frame *f, const geodec_table *with, const char *keys,
                                           const char *fill, geodec_err *err) GEODEC_MUST_USE;
/* Appends the rows of `more`. GEODEC_INVAL unless both have the same columns in the same order. */
GEODEC_API geodec_status geodec_frame_append(geodec_frame *f, const geodec_table *more,
                                             geodec_err *err) GEODEC_MUST_USE;
/* Rows in ascending order of the columns (names joined by commas): numbers by value, then texts by bytes; equal rows
 * keep their order. */
GEODEC_API geodec_status geodec_frame_sort(geodec_frame *f, const char *columns, geodec_err *err) GEODEC_MUST_USE;

#endif
