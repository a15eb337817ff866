/* Columns of text out of artifacts and tables: selection, long form over named dimensions, computed columns, filters,
 * sums over groups.
 *
 * A column is `NAME=EXPRESSION`, or an expression alone. In an expression stand
 *     field, group/field, x:field      a field of the artifact, or of the further artifact x; in a table, a column
 *     field[2], field[-1,share=0.25]   the places along the axes that are no rows: a number (from the end when it is
 *                                      negative), * for all, or a field of one axis or a list of words and its value
 *     @name, @name[C], @name[field]    an attribute; of a list of words, the word of dimension C, or of that number
 *     index(C), size(C)                place and extent of a dimension of the rows
 *     1.5, "text"                      constants
 *     + - * / %  == != < <= > >=  && || !  ( )      `/` between names with blanks around it
 *     abs sqrt exp log pow min max if known fixed words concat
 *     sum mean sem count median quantile first only  over the rows of a group, each with a condition as its last value
 *     running total                    sum of the rows so far, and of all
 *
 * Rows run over the dimensions in `over`, the last one fastest; a field without one of them has the same value all
 * along it. Without `over` the first axis of every field is the rows, and their lengths must agree. Axes that are
 * neither rows nor given a place become columns field_0, field_1, ... When a column holds a sum, the columns without
 * one are the keys of the groups, which stand in the order of their first rows. */
#ifndef GEODEC_ARTIFACT_SELECT_H
#define GEODEC_ARTIFACT_SELECT_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "io/table.h"

enum { GEODEC_SELECT_COLUMNS_MAX = 1 << 16 };

typedef struct geodec_select_source { /* an artifact or a table; the first is that of fields without a name before them
                                       */
    const char *name;
    const geodec_artifact *artifact;
    const geodec_table *table;
} geodec_select_source;

typedef struct geodec_select_query {
    const char *const *columns;
    int n_columns;
    const char *where; /* NULL: all rows; a condition that is 0 or NaN leaves a row out */
    const char *over;  /* NULL; dimensions joined by commas; "none": one row */
    const char *gap;   /* NULL; a dimension of the rows: a gap follows the rows of each of its places */
    const char *rows;  /* NULL; "A:B": places A to B-1 of the first dimension, either may be left out */
    int digits;        /* of computed numbers; 0: no bit is lost */
} geodec_select_query;

typedef struct geodec_select_sink { /* header once, then rows; cells live until the call returns */
    geodec_status (*header)(void *ctx, int n, const char *const *names, geodec_err *err);
    geodec_status (*row)(void *ctx, const char *const *cells, geodec_err *err);
    geodec_status (*gap)(void *ctx, geodec_err *err);
    void *ctx;
} geodec_select_sink;

/* GEODEC_INVAL: a column, condition or dimension that does not fit the sources, before any row; lengths that differ;
 * text where a number is needed. GEODEC_RANGE, GEODEC_SCARCE: no such rows. GEODEC_NOTFOUND: an optional field or
 * attribute that is not there, or only() of several rows. GEODEC_LIMIT. Fields are read in slabs along the first
 * dimension where they have it, whole otherwise. */
GEODEC_API geodec_status geodec_select_run(const geodec_select_source *sources, int n_sources,
                                           const geodec_select_query *query, const geodec_select_sink *sink,
                                           const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
