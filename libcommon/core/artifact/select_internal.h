/* Internal: shared by the files of artifact/select.h. */
#ifndef GEODEC_ARTIFACT_SELECT_INTERNAL_H
#define GEODEC_ARTIFACT_SELECT_INTERNAL_H

#include "artifact/artifact_internal.h"
#include "artifact/select.h"
#include "io/format.h"
#include "io/table.h"

#include <sqlite3.h>

enum { GEODEC__SELECT_NAME = 128 };

/* SQLite would turn a whole number above 2^63 - 1 into a float when it compares it, and neighbours would be equal. Such
 * a cell ends with this character: it is then a text, greater than all smaller numbers, and ordered by its digits. The
 * character is not printed. */
#define GEODEC__SELECT_LARGE "\x01"

/* An array as a value of SQL: a blob of this header and the elements. It is checked at every use, because a query may
 * contain any blob. */
typedef struct geodec__select_array {
    uint32_t type, rank;
    int64_t shape[GEODEC_RANK_MAX];
} geodec__select_array;

typedef struct geodec__select_field {
    const geodec_field *field;
    char name[GEODEC__SELECT_NAME];
    bool used; /* by the query */
    int rank;
    int64_t shape[GEODEC_RANK_MAX], stride[GEODEC_RANK_MAX];
    int over[GEODEC_RANK_MAX]; /* dimension of the rows, or -1: an axis of the array */
    geodec__select_array array;
    int64_t width; /* elements of the array */
    bool slabs;    /* the first axis is the first dimension of the rows */
    char *data;
    int64_t first, loaded; /* rows of the slab */
} geodec__select_field;

struct geodec__select;
typedef struct geodec__select_table {
    struct geodec__select *query;
    char name[GEODEC__SELECT_NAME];
    geodec_artifact *artifact; /* NULL: a text table */
    geodec_table text;
    char over[GEODEC_RANK_MAX][GEODEC__SELECT_NAME];
    int64_t extent[GEODEC_RANK_MAX]; /* of the rows */
    int n_over;
    bool by_first_axis; /* without named dimensions */
    geodec__select_field *field;
    int n_fields;
    int64_t from, to; /* row numbers */
    int64_t end;      /* of the indices of the first dimension */
} geodec__select_table;

typedef struct geodec__select {
    const geodec_hooks *hooks;
    sqlite3 *db;
    geodec__select_table table[2];
    int n_tables;
    geodec_status st; /* error of reading while SQLite runs */
    geodec_err err;
} geodec__select;

/* Whether the cell of a text table is one of the spellings of a missing value; whether it is such a whole number. */
bool geodec__select_missing(const char *cell);
bool geodec__select_large(const char *cell);

/* ---- select_source.c: files as virtual tables ---- */

geodec_status geodec__select_open(geodec__select *s, const geodec_select *o, const char *name, const char *path,
                                  geodec_err *err) GEODEC_MUST_USE;
void geodec__select_close(geodec__select_table *t);
/* The field of a column; NULL for a text or an index. */
geodec__select_field *geodec__select_find(geodec__select_table *t, const char *column);
/* Sets the number of rows when the used fields are known. rows: from geodec_select, or NULL. */
geodec_status geodec__select_bind(geodec__select_table *t, const char *rows, geodec_err *err) GEODEC_MUST_USE;

/* ---- select_function.c ---- */

/* Registers the functions and the collation of artifact/select.h. Returns the SQLite status. */
int geodec__select_functions(sqlite3 *db) GEODEC_MUST_USE;
/* Returns a number as the result of a function or column; element: aligned for its type. */
void geodec__select_result(sqlite3_context *c, geodec_type type, const void *element);
/* Elements of an array; NULL if the blob is not an array. */
const char *geodec__select_elements(const void *blob, int64_t bytes, geodec__select_array *array, int64_t *n);
/* Element i of unaligned data. */
const void *geodec__select_element(geodec_type type, const char *data, int64_t i, uint64_t *room);

#endif
