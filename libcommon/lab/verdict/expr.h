/* Conditions: arithmetic and comparisons over numbers and named values, parsed once, evaluated in double precision.
 *
 *     or:   and ('||' and)*          sum:      product (('+' | '-') product)*
 *     and:  not ('&&' not)*          product:  unary (('*' | '/') unary)*
 *     not:  '!' not | comparison     unary:    '-' unary | number | name | call | '(' or ')'
 *     comparison: sum (('<' | '<=' | '>' | '>=' | '==' | '!=') sum)?
 *
 * A comparison, '&&', '||' and '!' give 1 or 0; '&&' and '||' evaluate the right side only if the left side does not
 * decide the result. Calls: abs(x), min(a, b, ..), max(a, b, ..), same(a, b, d) (equal when printed with d decimals, d
 * a number), known(name) (1 when the value exists), isnan(name) (1 when it exists and is NaN). */
#ifndef GEODEC_VERDICT_EXPR_H
#define GEODEC_VERDICT_EXPR_H

#include "base/err.h"

#include <stdbool.h>

enum { GEODEC_EXPR_TEXT_MAX = 4096, GEODEC_EXPR_NODES_MAX = 256, GEODEC_EXPR_DEPTH_MAX = 48, GEODEC_EXPR_NAME = 32 };

typedef struct geodec_expr geodec_expr;

typedef enum geodec_expr_state {
    GEODEC_EXPR_MISSING, /* missing, empty, or not a number */
    GEODEC_EXPR_NAN,     /* NaN */
    GEODEC_EXPR_INFINITE,
    GEODEC_EXPR_KNOWN, /* a finite number */
} geodec_expr_state;

/* The value of a name; *value is set when it is known. */
typedef geodec_expr_state (*geodec_expr_lookup)(void *ctx, const char *name, double *value);

/* Parses a condition. GEODEC_FORMAT with the position of the error, GEODEC_LIMIT. Free with geodec_expr_free. */
geodec_status geodec_expr_parse(const char *text, geodec_expr **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_expr_free(geodec_expr *e); /* NULL ok */

/* GEODEC_NOTFOUND: a value that is needed is missing, NaN or infinite (the message names it); GEODEC_NUMERIC: an
 * intermediate result is not finite, as after a division by zero. */
geodec_status geodec_expr_eval(const geodec_expr *e, geodec_expr_lookup lookup, void *ctx, double *out,
                               geodec_err *err) GEODEC_MUST_USE;

/* The names in the condition, each once, in the order of first use; NULL past the last. *asked: the name occurs in
 * known() or isnan(); *needed: it occurs elsewhere. Either pointer may be NULL. */
const char *geodec_expr_name(const geodec_expr *e, int i, bool *asked, bool *needed);
/* The numbers in the condition (without the decimals of same); false past the last. */
bool geodec_expr_number(const geodec_expr *e, int i, double *value);

#endif
