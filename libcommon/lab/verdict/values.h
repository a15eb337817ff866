/* Named values of a row: the text as read, its number, and the reason if it is missing. */
#ifndef GEODEC_VERDICT_VALUES_H
#define GEODEC_VERDICT_VALUES_H

#include "base/err.h"
#include "lab/verdict/expr.h"

#include <stddef.h>

enum { GEODEC_VALUES_MAX = 32, GEODEC_VALUE_TEXT = 256, GEODEC_SENTENCE_MAX = 4096 };

typedef struct geodec_value {
    char name[GEODEC_EXPR_NAME];
    char text[GEODEC_VALUE_TEXT];   /* "" when missing */
    char reason[GEODEC_VALUE_TEXT]; /* the reason why it is not a finite number; "" if it is */
    geodec_expr_state state;
    double x;
    bool optional; /* optional: a verdict does not need it */
} geodec_value;

typedef struct geodec_values {
    int n;
    geodec_value v[GEODEC_VALUES_MAX];
} geodec_values;

/* Adds a missing value. GEODEC_INVAL: a bad or duplicate name; GEODEC_LIMIT. */
geodec_status geodec_values_add(geodec_values *v, const char *name, geodec_value **out,
                                geodec_err *err) GEODEC_MUST_USE;
geodec_value *geodec_values_find(geodec_values *v, const char *name); /* NULL when there is none */
/* Sets the text: a finite number, NaN, infinity, or neither ("", "-", words). */
void geodec_value_set(geodec_value *v, const char *text);
/* The number in a printed figure: "46.9 %", "557,056". */
void geodec_value_set_printed(geodec_value *v, const char *text);
void geodec_value_missing(geodec_value *v, const char *reason);
/* A geodec_expr_lookup; ctx is a geodec_values. */
geodec_expr_state geodec_values_lookup(void *ctx, const char *name, double *value);

/* Replaces the words {word, replacement, .., NULL} and, with values, $NAME in a reference. GEODEC_NOTFOUND: a value
 * that the reference needs is missing; GEODEC_FORMAT: no such value; GEODEC_LIMIT. */
geodec_status geodec_values_expand(geodec_values *v, const char *const *words, const char *text, char *out, size_t room,
                                   geodec_err *err) GEODEC_MUST_USE;
/* A template with {NAME} or {NAME:FORMAT}: g3 (significant digits), f2 (decimals), p1 (percent of a share, with
 * decimals), i (rounded to a whole number), s (the text). Without a format: the text, long numbers with five digits. A
 * missing value is a dash. GEODEC_FORMAT: an unknown name or format. */
geodec_status geodec_values_fill(const geodec_values *v, const char *template, char *out, size_t room,
                                 geodec_err *err) GEODEC_MUST_USE;

#endif
