/* Attention weights as functions of the state that attends: how the score s_(t,j), and the logarithm of the weight
 * p_(t,j) = softmax_j s_(t,j), that row t gives row j in one block change with row t of the block's input,
 *
 *     d s_(t,j) / d x_t = J_q^T (t' scale k_j)
 *     d log p_(t,j) / d x_t = d s_(t,j) / d x_t - sum_i p_(t,i) d s_(t,i) / d x_t
 *
 * in closed form, J_q and J_k the derivatives of query and key through norm, projection, QK-norm and rotation, t' the
 * slope of a soft-cap. Rows before t are held fixed; the row's own key (i = t) moves with it. */
#ifndef GEODEC_REFERENCE_ATTENDED_H
#define GEODEC_REFERENCE_ATTENDED_H

#include "reference/reference.h"

typedef struct geodec_reference_pair {
    int32_t query, key; /* rows, key < query */
} geodec_reference_pair;

/* x [n][d_model]: a whole sequence at boundary `block`, the input of that block (0 .. n_layer - 1). For each pair and
 * head: score and weight [pairs][n_head], their gradients gscore and gweight (of log p)
 * [pairs][n_head][d_model]. Any of the four may be NULL. Time: one pass through the block, and for each query two
 * products of 2 n_head rows a pair; pairs of one query should follow each other. Errors: GEODEC_RANGE (block, n, a pair
 * that is not there or outside the block's window), GEODEC_NOMEM. */
geodec_status geodec_reference_attended(const geodec_reference *r, int32_t block, int64_t n, const double *x,
                                        int64_t pairs, const geodec_reference_pair *pair, double *score, double *weight,
                                        double *gscore, double *gweight, geodec_err *err) GEODEC_MUST_USE;

#endif
