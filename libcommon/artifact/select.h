/* Columns of text from artifacts and tables: selection, long form over named dimensions, computed columns, filters,
 * sums over groups.
 *
 * A column is `NAME=EXPRESSION`, or an expression alone. An expression has
 *     field, group/field, x:field      a field of the artifact, or of the further artifact x; in a table, a column
 *     field[2], field[-1,share=0.25]   indices along the axes that are not rows: a number (from the end when negative),
 *                                      * for all, or a field of one axis or a list of words and its value
 *     @name, @name[C], @name[field]    an attribute; of a list of words, the word of dimension C, or of that number
 *     index(C), size(C)                index and extent of a dimension of the rows
 *     1.5, "text"                      constants
 *     + - * / %  == != < <= > >=  && || !  ( )      `/` between names needs blanks around it
 *     abs sqrt exp log pow min max if known fixed words concat
 *     sum mean sem count median quantile first only  over the rows of a group, each with a condition as last argument
 *     running total                    sum of the rows so far, and of all
 *
 * Rows are the combinations of the dimensions in `over`, the last one fastest; a field without one of them is constant
 * along it. Without `over`, rows are the first axis of every field, and their lengths must agree. Axes that are neither
 * rows nor indexed become columns field_0, field_1, ... When a column has a sum, the columns without one are the keys
 * of the groups, which appear in the order of their first rows. */
#ifndef GEODEC_ARTIFACT_SELECT_H
#define GEODEC_ARTIFACT_SELECT_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "io/table.h"

enum { GEODEC_SELECT_COLUMNS_MAX = 1 << 16 };

typedef struct geodec_select_source { /* artifacts or tables; field names without a prefix refer to the first */
    const char *name;
    const geodec_artifact *artifact;
    const geodec_table *table;
} geodec_select_source;

typedef struct geodec_select_query {
    const char *const *columns;
    int n_columns;
    const char *where; /* NULL: all rows; a condition that is 0 or NaN leaves a row out */
    const char *over;  /* NULL; dimensions joined by commas; "none": one row */
    const char *gap;   /* NULL; a dimension of the rows: an empty line follows the rows of each of its indices */
    const char *rows;  /* NULL; "A:B": indices A to B-1 of the first dimension; A or B may be omitted */
    int digits;        /* digits of computed numbers; 0: exact */
} geodec_select_query;

typedef struct geodec_select_sink { /* called for the header, then for each row; cells are valid until it returns */
    geodec_status (*header)(void *ctx, int n, const char *const *names, geodec_err *err);
    geodec_status (*row)(void *ctx, const char *const *cells, geodec_err *err);
    geodec_status (*gap)(void *ctx, geodec_err *err);
    void *ctx;
} geodec_select_sink;

/* GEODEC_INVAL: a column, condition or dimension that does not fit the sources, before any row; lengths that differ;
 * text where a number is needed. GEODEC_RANGE, GEODEC_SCARCE: no such rows. GEODEC_NOTFOUND: a missing optional field
 * or attribute, or only() of several rows. GEODEC_LIMIT. Fields are read in slabs along the first dimension where they
 * have it, whole otherwise. */
GEODEC_API geodec_status geodec_select_run(const geodec_select_source *sources, int n_sources,
                                           const geodec_select_query *query, const geodec_select_sink *sink,
                                           const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
