/* The headline of the report: quantities, their controls, and the verdict of a rule on each.
 *
 * Rules are a table with the columns
 *     key       name of the row, unique in all tables
 *     quantity  the measured quantity (a template, verdict/values.h)
 *     values    NAME=REFERENCE; NAME=REFERENCE; ..  (verdict/reference.h; relative to the results).
 *               `NAME?=`: optional. `NAME:=EXPRESSION` of earlier names (verdict/expr.h). In a reference $NAME is the
 *               text of an earlier value, @DATA the folder of the embedded model
 *     value     template of the figure
 *     control   template of its control
 *     rule      verdict/rule.h; the words are holds, mixed, fails, or only `none` for a row without a claim
 *     command   FILE.h5 whose command is shown, or =TEXT
 *
 * A row is "not measured" until every value without `?` is a finite number; only then its rule is evaluated. */
#ifndef GEODEC_VERDICT_HEADLINE_H
#define GEODEC_VERDICT_HEADLINE_H

#include "io/table.h"
#include "verdict/reference.h"
#include "verdict/rule.h"
#include "verdict/values.h"

#define GEODEC_NOT_MEASURED "not measured"
GEODEC_API extern const char *const geodec_headline_words[]; /* NULL at the end */

typedef struct geodec_headline_row {
    const char *key, *quantity, *values, *value, *control, *command; /* cells of the table */
    geodec_rule rule;
} geodec_headline_row;

typedef struct geodec_headline {
    geodec_table table;
    int64_t n;
    geodec_headline_row *row;
} geodec_headline;

typedef struct geodec_headline_verdict {
    char quantity[GEODEC_SENTENCE_MAX], value[GEODEC_SENTENCE_MAX], control[GEODEC_SENTENCE_MAX];
    char word[GEODEC_RULE_WORD], sentence[GEODEC_SENTENCE_MAX];
} geodec_headline_verdict;

/* Reads and checks a table of rules: columns, keys, references (not to a table's row by its number), templates, names.
 * A rule other than `none` must have at least two words, and all its branches must be reachable. GEODEC_FORMAT names
 * file and line. */
GEODEC_API geodec_status geodec_headline_read(const char *path, geodec_headline *out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_headline_free(geodec_headline *h);
/* The values of a row, in order; references are read from `refs` (data: replaces @DATA). A value that cannot be read is
 * missing and has the reason. With refs NULL only the syntax is checked. */
GEODEC_API geodec_status geodec_headline_values(const geodec_headline_row *row, geodec_references *refs,
                                                const char *data, geodec_values *values,
                                                geodec_err *err) GEODEC_MUST_USE;
/* The verdict on given values. */
GEODEC_API geodec_status geodec_headline_decide(const geodec_headline_row *row, geodec_values *values,
                                                geodec_headline_verdict *out, geodec_err *err) GEODEC_MUST_USE;

#endif
