/* The report's headline: quantities, each beside its control, with a verdict that a rule draws from the two.
 *
 * Rules are a table with the columns
 *     key       name of the row, once in all tables
 *     quantity  what is measured (a template, verdict/values.h)
 *     values    NAME=REFERENCE; NAME=REFERENCE; ..  (verdict/reference.h; relative to the results). `NAME?=`: shown
 * where it is there, and not waited for. `NAME:=EXPRESSION` of the names before (verdict/expr.h). $NAME in a reference
 * stands for the text of a value before it, @DATA for the folder of the embedded model value     template of the figure
 *     control   template of what it stands beside
 *     rule      verdict/rule.h; the words are holds, mixed, fails, and `none` alone where nothing is claimed
 *     command   FILE.h5 whose command is shown, or =TEXT
 *
 * A row is "not measured" until every value without `?` is a finite number; only then its rule is asked. */
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

/* Reads and checks a table of rules: columns, keys, references (a table's row by its number is refused), templates,
 * names; a rule that claims something has two words at least, and every branch of it can be reached. GEODEC_FORMAT
 * names file and line. */
GEODEC_API geodec_status geodec_headline_read(const char *path, geodec_headline *out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_headline_free(geodec_headline *h);
/* The values of a row, in order: those of references from `refs` (data: what @DATA stands for). A value that cannot be
 * read is missing, with the reason. */
GEODEC_API geodec_status geodec_headline_values(const geodec_headline_row *row, geodec_references *refs,
                                                const char *data, geodec_values *values,
                                                geodec_err *err) GEODEC_MUST_USE;
/* The verdict on values, however they came about. */
GEODEC_API geodec_status geodec_headline_decide(const geodec_headline_row *row, geodec_values *values,
                                                geodec_headline_verdict *out, geodec_err *err) GEODEC_MUST_USE;

#endif
