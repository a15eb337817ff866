/* Named values of a row: the text as it was read, what it is as a number, and why it is not there. */
#ifndef GEODEC_VERDICT_VALUES_H
#define GEODEC_VERDICT_VALUES_H

#include "base/err.h"
#include "verdict/expr.h"

#include <stddef.h>

enum { GEODEC_VALUES_MAX = 32, GEODEC_VALUE_TEXT = 256, GEODEC_SENTENCE_MAX = 4096 };

typedef struct geodec_value {
    char name[GEODEC_EXPR_NAME];
    char text[GEODEC_VALUE_TEXT];   /* "" when it is not there */
    char reason[GEODEC_VALUE_TEXT]; /* why it is not a finite number; "" when it is */
    geodec_expr_state state;
    double x;
    bool optional; /* a verdict does not wait for it */
} geodec_value;

typedef struct geodec_values {
    int n;
    geodec_value v[GEODEC_VALUES_MAX];
} geodec_values;

/* Adds a value, not there yet. GEODEC_INVAL: a bad name, or one that is taken; GEODEC_LIMIT. */
GEODEC_API geodec_status geodec_values_add(geodec_values *v, const char *name, geodec_value **out,
                                           geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_value *geodec_values_find(geodec_values *v, const char *name); /* NULL when there is none */
/* Takes the text in: a finite number, NaN, infinity, or neither ("", "-", words). */
GEODEC_API void geodec_value_set(geodec_value *v, const char *text);
/* The number in a printed figure: "46.9 %", "557,056". */
GEODEC_API void geodec_value_set_printed(geodec_value *v, const char *text);
GEODEC_API void geodec_value_missing(geodec_value *v, const char *reason);
/* A geodec_expr_lookup; ctx is a geodec_values. */
GEODEC_API geodec_expr_state geodec_values_lookup(void *ctx, const char *name, double *value);

/* A template with {NAME} or {NAME:FORMAT}: g3 (significant digits), f2 (decimals), p1 (percent of a share, with
 * decimals), i (rounded to a whole number), s (the text). Without one: the text, long numbers with five digits. A value
 * that is not there is a dash. GEODEC_FORMAT: an unknown name or format. */
GEODEC_API geodec_status geodec_values_fill(const geodec_values *v, const char *template, char *out, size_t room,
                                            geodec_err *err) GEODEC_MUST_USE;

#endif
