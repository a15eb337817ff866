/* The exact verification walk for candidates sampled from the drafter's distribution q (Leviathan et al. 2023, Chen et
 * al. 2023; several candidates: SpecInfer, Miao et al. 2024, and recursive rejection sampling, Jeon et al. 2024). At a
 * node with target distribution p and candidates x_1, x_2, .. in the order they were sampled:
 *
 *     p_1 = p,  q_1 = q
 *     accept x_k with probability min(1, p_k(x_k) / q_k(x_k)); otherwise
 *     p_{k+1} = norm(max(0, p_k - q_k)),
 *     q_{k+1} = q_k when candidates are sampled independently, q_k without x_k and renormalised when they are sampled
 *     without replacement
 *
 * and after the last rejection the token comes from the last residual. The emitted token has the distribution p, for
 * any q and any number of candidates, provided that no candidate was left out because of its value: the shape of a tree
 * may depend on tokens sampled before a candidate, never on the candidate. Therefore a tree grown best first by the
 * drafter's own probabilities must not be verified by this walk, and drafts that were sampled but not forwarded are
 * examined too. */
#ifndef GEODEC_DECODE_VERIFY_STOCHASTIC_H
#define GEODEC_DECODE_VERIFY_STOCHASTIC_H

#include "decode/verify.h"

/* ---- one node: p, q [n], each of sum 1 -------------------------------------------------------------------------- */

/* min(1, p(token) / q(token)); 0 where q is 0. */
double geodec_verify_acceptance(const double *p, const double *q, int32_t token);
/* p and q after the rejection of `token`. */
void geodec_verify_reject(double *p, double *q, int32_t n, int32_t token, bool replacement);
/* q without `token`, renormalised. False, and q all zero, when every other token has probability 0. */
bool geodec_verify_remove(double *q, int32_t n, int32_t token);
/* The token at which the cumulative distribution, in id order, first exceeds u in [0,1). */
int32_t geodec_verify_sample(const double *p, int32_t n, double u);

/* ---- random numbers of a request: streams of its seed, separate from plain sampling ----------------------------- */

/* Uniform number for the token of draft `node`, in the round whose first output token is `index`. */
double geodec_verify_draft_uniform(uint64_t seed, int64_t index, int32_t node);

/* ---- the walk --------------------------------------------------------------------------------------------------- */

typedef struct geodec_verify_candidates {
    int32_t n;
    const int32_t *token;  /* [n] in the order sampled; siblings may be equal only with replacement */
    const int32_t *parent; /* [n] an earlier candidate, -1 = follows the newest token; NULL = a chain */
    const int32_t *row;    /* [n] row of the pass, 0 = was not sent: if accepted, it is the last token of the round */
    bool replacement;      /* siblings were sampled independently */
    /* q [n_vocab] from which the first candidate below a node was sampled; node 0 = newest token, i + 1 = candidate
     * i. */
    geodec_status (*distribution)(void *ctx, int32_t node, double *q, geodec_err *err);
    void *ctx;
} geodec_verify_candidates;

/* As geodec_verify_tree, with rows of logits numbered by the pass. path[k] is the row of the k-th token of the walk, or
 * -1 - i for an accepted candidate i that was not sent. At a node without candidates the token is sampled as in plain
 * decoding. work [2 n_vocab]. GEODEC_INTERNAL: a candidate has probability 0 in its own distribution. */
geodec_status geodec_verify_stochastic(geodec_sampler *s, const geodec_guard *guard, int64_t index, float *logits,
                                       int32_t n_vocab, const geodec_verify_candidates *c, double *work,
                                       int32_t *argmax, int32_t *path, geodec_verdict *out,
                                       geodec_err *err) GEODEC_MUST_USE;

#endif
