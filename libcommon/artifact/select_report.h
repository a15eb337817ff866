/* A selection of columns (artifact/select.h), joined, appended, sorted and printed as a table. */
#ifndef GEODEC_ARTIFACT_SELECT_REPORT_H
#define GEODEC_ARTIFACT_SELECT_REPORT_H

#include "artifact/select.h"

#include <stdio.h>

/* Options of geodec-table; all may be 0. Strings are borrowed. */
typedef struct geodec_select_report {
    const geodec_kind *const *kinds; /* [n_kinds]: the kinds of artifacts that may be read */
    int n_kinds;
    bool attrs;                                 /* print the attributes, a row each */
    const char *attr;                           /* print the value of this attribute */
    const char *rows_text, *over, *where, *gap; /* of the query (rows_text is its rows) */
    const char *also;                           /* NAME=FILE: a second artifact */
    const char *join, *keys, *fill;             /* path of a table, its key columns, text of cells it does not have */
    const char *append, *order;                 /* path of a table; columns to sort by */
    const char *blocks;                         /* COLUMN or COLUMN=ATTRIBUTE: a block of rows for each value */
    int64_t digits, at_least; /* significant digits of computed numbers; fewer rows are GEODEC_SCARCE */
    bool bare, markdown;      /* without a header; as a Markdown table */
} geodec_select_report;

/* Prints columns or attributes of the artifact or table at `path` ("-": a table on standard input) to `out`. The errors
 * of geodec_select_run and of reading; GEODEC_INVAL: options that do not go together; GEODEC_SCARCE: at_least;
 * GEODEC_IO.
 */
GEODEC_API geodec_status geodec_select_report_print(const geodec_select_report *o, const char *path, int n_columns,
                                                    const char *const *columns, FILE *out, const geodec_hooks *hooks,
                                                    geodec_err *err) GEODEC_MUST_USE;

#endif
