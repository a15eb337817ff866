/* The Fisher metric of the next token in a chart: at each of many states the pull-back
 *
 *     G = B J^T (diag p - p p^T) J B^T,   J = d logits / d state,   p = softmax(logits),
 *
 * of the Fisher information of p to the coordinates y of the chart x = x_0 + B^T y, B [n][d_model] with orthonormal
 * rows. The state is one row of the residual stream at a boundary; rows before it are held fixed. Moving it by B^T dy
 * changes the next-token distribution by KL = dy^T G dy / 2 + O(dy^3), so the unit of G is nat / (unit of x)^2 (Amari
 * 1998). G is zero in directions that the head ignores: a Riemannian metric needs a ridge there.
 *
 * Each state costs n forward tangents of one row. At the last boundary rows are independent, so states need no text and
 * run in batches: final norm and head alone, 2 n d_model n_vocab multiplications and additions a state. Before it, a
 * state at position t also costs two passes over the t + 1 tokens up to it. (n tangents are exact for n directions;
 * pulling back single outputs instead would take as many as carry the probability.) */
#ifndef GEODEC_LAB_HARNESS_FISHER_METRIC_H
#define GEODEC_LAB_HARNESS_FISHER_METRIC_H

#include "base/hooks.h"
#include "reference/reference.h"

/* States at which the network is evaluated. */
typedef struct geodec_fisher_states {
    int32_t layer;       /* boundary */
    int64_t count;       /* states */
    const double *state; /* [count][d_model] */
    /* The tokens each state comes after, its own included: token[first[i] .. first[i] + position[i]]. Not read at the
     * last boundary (may be NULL there). States of one text should follow each other. */
    const int32_t *token;    /* [tokens] */
    int64_t tokens;          /* length of token */
    const int64_t *first;    /* [count] */
    const int32_t *position; /* [count] */
} geodec_fisher_states;

/* basis [n][d_model]; g [count][n][n], symmetric and positive semidefinite; entropy [count] of p in nats, or NULL. swap
 * [n_vocab] is a permutation of the vocabulary: control [count][n][n] is then the same with the rows of J in another
 * order, dlogits_v read from row swap[v]: a head unrelated to p. Both or neither NULL. Time and bytes as above; memory
 * about 64 MiB and the logits. The pool is the reference's. Errors: GEODEC_RANGE (layer, n, missing tokens),
 * GEODEC_NUMERIC (not finite), GEODEC_INTERRUPTED, those of reference.h. */
geodec_status geodec_fisher_metric(const geodec_reference *r, const geodec_fisher_states *s, int64_t n,
                                   const double *basis, const int32_t *swap, const geodec_hooks *hooks, double *g,
                                   double *control, double *entropy, geodec_err *err) GEODEC_MUST_USE;

/* A permutation of 0..n-1 for `swap`, a function of the seed. */
void geodec_fisher_swap(int64_t n, uint64_t seed, int32_t *swap);

/* g' = g + (ridge tr(g) / n) I for each of count matrices [n][n], in place; eigenvalues below 1e-12 of the median
 * tr(g) / n are then lifted to it. trace [count] of g before; condition [count] of g'; floored [count] eigenvalues that
 * were lifted. Any of the three may be NULL. GEODEC_NUMERIC when g is not finite, or zero at half of the states or
 * more; GEODEC_RANGE (ridge < 0). */
geodec_status geodec_fisher_regularise(int64_t count, int64_t n, double ridge, double *g, double *trace,
                                       double *condition, int32_t *floored, geodec_err *err) GEODEC_MUST_USE;

/* The divergence that the metric approximates: kl[j] = KL(p(x_i) || p(y_j)) in nats, and form[j] = u^T G u / 2 with the
 * metric of the whole stream (u = y_j - x_i, no chart), for pairs j = 0 .. pairs-1: state i = of[j] of s is replaced by
 * moved[j] (moved [pairs][d_model]), everything before it kept. form may be NULL. Pairs of one state should be
 * contiguous. Errors as geodec_fisher_metric. */
geodec_status geodec_fisher_divergence(const geodec_reference *r, const geodec_fisher_states *s, int64_t pairs,
                                       const int64_t *of, const double *moved, const geodec_hooks *hooks, double *kl,
                                       double *form, geodec_err *err) GEODEC_MUST_USE;

#endif
