/* Ternary experts in training (Ma et al. 2024, BitNet b1.58): the forward and backward pass see W_q = a clip(round(W /
 * a), -1, 1) with a = mean |W| of each matrix, rounded to float16; the gradient of W_q is given to W unchanged. */
#ifndef GEODEC_TRAIN_TERNARY_H
#define GEODEC_TRAIN_TERNARY_H

#include "base/pool.h"
#include "train/layout.h"

/* Writes the experts' matrices of params [layout->total] in that form to out [layout->total], where all others are to
 * be already. Ties of the rounding go to 0. pool may be NULL; the result does not depend on it. */
void geodec_ternary_experts(const geodec_layout *l, const float *params, float *out, geodec_pool *pool);

/* Adds the derivative of beta * sum over layers, matrices and edges of mean |W_i - W_j| / a_ij to grad (a_ij: mean of
 * the two scales, taken as a constant), and returns the value. edge [n][2]: neighbours on the lattice. beta 0: only the
 * value per unit of beta. */
double geodec_ternary_neighbours(const geodec_layout *l, const float *params, int64_t n, const int32_t (*edge)[2],
                                 double beta, float *grad);

#endif
