/* Gradients of attention weights in a chart, for lab/varadhan/varadhan.h: the change of the logarithm of the weight
 * that state x gives to state y, when x moves.
 *
 * The chart is x = x_0 + B^T u, B [n][d_model] with orthonormal rows; a gradient of the stream is pulled back to it by
 * B. Four earlier rows a, b, c, d belong to each query: its keys. Forms of the gradient in the query's state:
 *
 *     weight   d log p_(t,a)
 *     score    d s_(t,a), the logarithm before the normalisation of the softmax
 *     pair     d (log p_(t,a) - log p_(t,b)): the normalisation cancels
 *
 * for each head, and for all heads together (log of the mean weight; mean score). */
#ifndef GEODEC_LAB_VARADHAN_ATTENTION_GRADIENT_H
#define GEODEC_LAB_VARADHAN_ATTENTION_GRADIENT_H

#include "reference/attended.h"

enum { GEODEC_ATTENTION_KEYS = 4, GEODEC_ATTENTION_FORMS = 3 };

typedef struct geodec_attention_query {
    int32_t row, key[GEODEC_ATTENTION_KEYS]; /* rows of the text; keys before the row */
} geodec_attention_query;

/* Arrays of the caller, H = n_head + 1 columns: the heads, then all together. The last four may be NULL. */
typedef struct geodec_attention_gradients {
    double *gradient; /* [queries][H][FORMS][n] */
    double *inside;   /* [queries][H][FORMS] share of the gradient's squared length that lies in the chart */
    double *along;    /* [queries][H][FORMS][2] cosine in the whole stream with x_a - x_t (pair: x_a - x_b), and the
                         control, with x_c - x_t (x_c - x_d): another key's */
    double *weight;   /* [queries][H] that row t gives row a */
} geodec_attention_gradients;

/* token [length]: a text from its beginning; layer 0 .. n_layer - 1: boundary of the states, input of the block whose
 * attention is examined. basis [n][d_model]. Queries of one row should follow each other. Errors: GEODEC_RANGE, those
 * of reference/attended.h. A gradient that is zero has inside and along 0. */
geodec_status geodec_attention_gradient(const geodec_reference *r, int32_t layer, const int32_t *token, int64_t length,
                                        int64_t queries, const geodec_attention_query *query, int64_t n,
                                        const double *basis, const geodec_attention_gradients *out,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif
