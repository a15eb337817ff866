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
 *     rule      verdict/rule.h; the words are holds, mixed, refuted, broken, or only `none` for a row without a claim
 *     least     the least sample: items `NAME >= NUMBER UNITS`, separated by `;`, of values above. The item
 *               `text` marks a row that depends on the text of the run. `-` for `none`; `-: REASON` for a row
 *               without a sample
 *     command   FILE.h5 whose command is shown, or =TEXT
 *     power     the finding of a row that says something of a geometry, or `-: REASON` (verdict/gate.h). A table may be
 *               without this column; geodec-verdict --check refuses it then
 *
 * A row is "not measured" until every value without `?` is a finite number; only then its rule is evaluated. It stays
 * so below its least sample, and if it depends on a text of which more than GEODEC_UNKNOWN_MOST of the tokens are
 * unknown; only `broken` needs no sample, since one counterexample shows it. */
#ifndef GEODEC_VERDICT_HEADLINE_H
#define GEODEC_VERDICT_HEADLINE_H

#include "io/table.h"
#include "lab/verdict/gate.h"
#include "lab/verdict/reference.h"
#include "lab/verdict/rule.h"
#include "lab/verdict/values.h"

#define GEODEC_UNKNOWN_MOST 0.1 /* share of unknown tokens of a text that is still measured */
enum { GEODEC_LEAST_ITEMS = 4 };

/* NAME >= number: units. */
typedef struct geodec_least {
    char name[GEODEC_EXPR_NAME], units[64];
    double number;
} geodec_least;

typedef struct geodec_headline_row {
    const char *key, *quantity, *values, *value, *control, *command; /* cells of the table */
    geodec_rule rule;
    geodec_least least[GEODEC_LEAST_ITEMS];
    int n_least;
    bool of_text;        /* depends on the text of the run */
    const char *finding; /* whose power its verdict needs; NULL: none */
} geodec_headline_row;

typedef struct geodec_headline {
    geodec_table table;
    int64_t n;
    geodec_headline_row *row;
    bool gated; /* the table has the column `power` */
} geodec_headline;

typedef struct geodec_headline_verdict {
    char quantity[GEODEC_SENTENCE_MAX], value[GEODEC_SENTENCE_MAX], control[GEODEC_SENTENCE_MAX];
    char word[GEODEC_RULE_WORD], sentence[GEODEC_SENTENCE_MAX];
} geodec_headline_verdict;

/* Reads and checks a table of rules: columns, keys, references (not to a table's row by its number), templates, names.
 * A rule other than `none` must have at least two words and a least sample, and all its branches must be reachable.
 * GEODEC_FORMAT names file and line. */
geodec_status geodec_headline_read(const char *path, geodec_headline *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_headline_free(geodec_headline *h);
/* The values of a row, in order; references are read from `refs` (data: replaces @DATA). A value that cannot be read is
 * missing and has the reason. With refs NULL only the syntax is checked. */
geodec_status geodec_headline_values(const geodec_headline_row *row, geodec_references *refs, const char *data,
                                     geodec_values *values, geodec_err *err) GEODEC_MUST_USE;
/* The verdict on given values. unknown: share of the text's tokens that the vocabulary does not have; NaN: not known,
 * which changes nothing. */
geodec_status geodec_headline_decide(const geodec_headline_row *row, geodec_values *values, double unknown,
                                     geodec_headline_verdict *out, geodec_err *err) GEODEC_MUST_USE;

#endif
