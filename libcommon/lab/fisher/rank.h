/* The number of directions of the residual stream that change the next-token distribution.
 *
 * With G the Fisher metric of p = softmax(logits of the last row) on that row's stream (geodec_reference_fisher), its
 * effective rank is the participation ratio (tr G)^2 / tr(G^2), 1 .. d_model. A concentrated p alone makes it small for
 * any model. The control is therefore the same number for G0 = J0^T (diag p - p p^T) J0 with the same p and J0
 * [n_vocab][d_model] of independent standard normals (the scale cancels). Only a difference from the control is a
 * property of the model's Jacobian.
 *
 * A check: the second difference of KL(p(x) || p(x + u)) along a random u in the range of G against u^T G u. */
#ifndef GEODEC_LAB_FISHER_RANK_H
#define GEODEC_LAB_FISHER_RANK_H

#include "reference/reference.h"

typedef struct geodec_fisher_figures {
    double entropy; /* of p, nats */
    double trace;   /* of G */
    double largest; /* eigenvalue of G, as a share of the trace */
    double rank;    /* effective */
    double check;   /* relative difference between the second difference and u^T G u */
} geodec_fisher_figures;

/* x [n][d_model]: a whole sequence at boundary `from`; u is a function of (seed, stream). probability [n_vocab], or
 * NULL. Time: geodec_reference_fisher, and d_model^3 for the eigenvalue. Errors: those of geodec_reference_fisher;
 * GEODEC_NUMERIC when G is not finite. */
geodec_status geodec_fisher_at(const geodec_reference *r, int32_t from, int64_t n, const double *x, uint64_t seed,
                               uint64_t stream, geodec_fisher_figures *out, double *probability,
                               geodec_err *err) GEODEC_MUST_USE;
/* The control of a distribution p [n_vocab] at width d_model: mean over `draws` (>= 1) matrices J0, functions of (seed,
 * stream). Time n_vocab d_model^2 a matrix. */
geodec_status geodec_fisher_control(int64_t d_model, int64_t n_vocab, const double *p, int draws, uint64_t seed,
                                    uint64_t stream, double *rank, geodec_err *err) GEODEC_MUST_USE;

#endif
