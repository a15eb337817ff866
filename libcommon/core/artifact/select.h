/* SQL over artifacts and text tables (geodec-table). Each file is a virtual table of an SQLite database in memory. One
 * query, which can only read these tables, produces the printed rows.
 *
 * Table t is the first file. Its columns in an artifact:
 *     a field                  its path without the first '/'. A field with axes that are not rows is an array (at())
 *     a dimension of `over`    the index along it, from 0. A field of this name is then reached as "/field"
 *     rowid                    number of the row, from 0
 * Rows are the combinations of the dimensions of `over`, the last one fastest; a field without one of them is constant
 * along it. Without `over`, rows are the first axis of the fields in the query, and their lengths must agree.
 *
 * The columns of a text table are texts. A cell that is a number is compared with numbers and sorted by value; numbers
 * come before texts, and whole numbers of any size are compared exactly. A subquery that SQLite stores as a table
 * prints such a cell as SQLite prints the number. A NaN is NULL, and so is a cell that is empty, nan, na, n/a, null,
 * inf or -inf in any case; NULL is printed as nan.
 *
 * Parameters: @name is an attribute of t, @x_name is an attribute of the additional table x, :dim is the extent of a
 * dimension of t.
 *
 * Functions in addition to those of SQLite:
 *     at(array, i, ..)         element, or array over the remaining axes; a negative index counts from the end
 *     word(list, i)            item of a list "a,b" or "a;b"; word(text, i, separator)
 *     fixed(x, decimals)       text with that number of decimals
 *     exact(x), exact32(x)     shortest text that reads back as the same double or float
 *     number(x), known(x)      x as a number, other texts are an error; whether x is a finite number
 *     sum mean sem median quantile(x, share)      aggregates: NULL among the values gives NULL; quantiles interpolate
 *     first(x), only(x)        aggregates: the first value; the only value, an error for several; NULL without any */
#ifndef GEODEC_ARTIFACT_SELECT_H
#define GEODEC_ARTIFACT_SELECT_H

#include "artifact/artifact.h"
#include "base/hooks.h"

#include <stdio.h>

enum { GEODEC_SELECT_COLUMNS_MAX = 1 << 16 };

/* Options of geodec-table; all may be 0. Strings are borrowed. */
typedef struct geodec_select {
    const geodec_kind *const *kinds; /* [n_kinds]: the kinds of artifacts that may be read */
    int n_kinds;
    const char *also;   /* NAME=FILE: a second table */
    const char *over;   /* dimensions joined by commas; "none": one row */
    const char *rows;   /* "A:B": indices A to B-1 of the first dimension of t; A or B may be omitted */
    const char *gap;    /* a result column that is not printed: an empty line follows the rows of each of its values */
    const char *blocks; /* COLUMN or COLUMN=ATTRIBUTE: a block of rows for each value, or for each word of the list */
    int64_t digits, at_least; /* significant digits of computed numbers, 0: exact; GEODEC_SCARCE for fewer rows */
    bool attrs;               /* print the attributes, one per row */
    const char *attr;         /* print the value of this attribute */
    bool bare, markdown;      /* without a header; as a Markdown table */
} geodec_select;

/* Prints the result of a query of the artifact or table at `path` ("-": a table on standard input), or its attributes.
 * what[n]: one text that begins with SELECT or WITH, or names of columns of t. Fields that have the first dimension are
 * read in slabs along it, other fields are read whole. GEODEC_INVAL: an error in the query, or options that exclude
 * each other. GEODEC_RANGE, GEODEC_SCARCE: no such rows, or fewer than at_least. GEODEC_NOTFOUND: an absent optional
 * field or attribute. GEODEC_LIMIT, GEODEC_INTERRUPTED, GEODEC_IO, and the errors of reading. */
geodec_status geodec_select_print(const geodec_select *o, const char *path, int n, const char *const *what, FILE *out,
                                  const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
