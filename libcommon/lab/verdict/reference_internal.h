/* A parsed reference. */
#ifndef GEODEC_VERDICT_REFERENCE_INTERNAL_H
#define GEODEC_VERDICT_REFERENCE_INTERNAL_H

#include "artifact/artifact.h"
#include "io/table.h"
#include "lab/verdict/reference.h"

enum { REFERENCE_KEYS = 8 };

typedef struct reference_key { /* KEY=WORD or KEY~WORD; key NULL: a plain index */
    char *key, *word;
    bool nearest;
    int64_t index;
} reference_key;

typedef struct reference {
    char text[GEODEC_REFERENCE_MAX]; /* the text, split in place */
    char *file, *name, *summary;     /* summary: NULL if there is none */
    reference_key select[REFERENCE_KEYS], axis[GEODEC_RANK_MAX];
    int n_select, n_axis;
} reference;

/* True for the same word, or for numbers that are equal within a relative 1e-9. */
bool geodec__reference_same(const char *a, const char *b);
/* A cell as a number, if all of it is one. */
bool geodec__reference_number(const char *s, double *x);

geodec_status geodec__reference_parse(const char *text, reference *r, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_cell(const geodec_table *t, const reference *r, char *value,
                                     geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_member(const geodec_artifact *a, const reference *r, char *value,
                                       geodec_err *err) GEODEC_MUST_USE;
/* The summary named `word` of n numbers (which are reordered). */
geodec_status geodec__reference_summary(const char *word, int64_t n, double *x, double *out,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif
