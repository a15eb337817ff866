/* Rows of the cache during a measurement of codes. */
#ifndef GEODEC_INTEGER_KEYCODES_KEY_CODES_INTERNAL_H
#define GEODEC_INTEGER_KEYCODES_KEY_CODES_INTERNAL_H

#include "lab/integer/keycodes/key_codes.h"
#include "session/rewrite.h"

enum { GEODEC__KEY_CODES_GROUP = GEODEC_CODES_ROWS_MAX };

struct geodec_key_codes_rows {
    const geodec_model *model;
    geodec_session *session;
    int32_t window;
    int64_t layers, vectors, heads, dim; /* vectors of a layer, key heads of a vector, values of a vector */
    int64_t n, capacity;                 /* rows */
    float *k[2], *v;                     /* [layers][vectors][capacity][dim]; keys rotated, and before */
    double *moment;                      /* [layers][vectors][dim][dim] of queries, by key head; rotated */
    float *query;                        /* [layers][capacity][n_head * head_dim]; NULL: not kept */
};

/* capacity in rows; a session of its own for documents of `window` tokens. */
geodec_status geodec__key_codes_begin(const geodec_model *m, const geodec_key_codes_options *o, int64_t capacity,
                                      bool query, geodec_key_codes_rows **out, geodec_err *err) GEODEC_MUST_USE;
/* Appends the rows of a document, in whole groups, as many as fit. */
geodec_status geodec__key_codes_read(geodec_key_codes_rows *r, const int32_t *token, int64_t n,
                                     geodec_err *err) GEODEC_MUST_USE;
static inline int64_t geodec__key_codes_at(const geodec_key_codes_rows *r, int64_t layer, int64_t vector)
{
    return (layer * r->vectors + vector) * r->capacity * r->dim;
}

struct geodec_key_codes_set {
    geodec_key_codes_case which;
    int64_t layers, vectors, dim;
    geodec_codes **k, **v; /* [layers][vectors] */
    geodec_rewrite rewrite;
};
/* Encodes and decodes n rows [n][dim], whole groups, in place. */
void geodec__key_codes_pass(const geodec_codes *c, int64_t n, int64_t dim, float *x);

#endif
