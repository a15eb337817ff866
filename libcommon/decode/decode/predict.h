/* Closed forms of speculative decoding (Leviathan et al. 2023, with the cost of a wide pass kept):
 *
 *     E(alpha, gamma) = (1 - alpha^(gamma+1)) / (1 - alpha)         tokens per pass, constant acceptance alpha
 *     E(beta)         = 1 + sum_i prod_{j<=i} beta_j      beta_j = P(draft j accepted | those before it were)
 *     speed-up        = E (1 + o_plain) / (gamma c + v(gamma+1) + o)
 *
 * v(b) = T(b)/T(1): a pass over b rows; c: drafter time per draft; o: the rest of a round (sampling, bookkeeping);
 * o_plain: the rest of a round of plain decoding; all in units of T(1), the one-row pass. The textbook form has v = 1
 * and no cost but c; on a CPU v is far from 1. */
#ifndef GEODEC_DECODE_PREDICT_H
#define GEODEC_DECODE_PREDICT_H

#include "decode/cost.h"

#include <stdint.h>

/* alpha in [0,1], gamma >= 0; gamma + 1 at alpha = 1. */
double geodec_predict_tokens(double alpha, int32_t gamma);
/* beta [gamma]. */
double geodec_predict_tokens_by_position(const double *beta, int32_t gamma);
/* Mean cost of a round, in one-row passes, when rounds[g] rounds sent g drafts (g = 0 .. gamma): sum_g rounds[g] (g c +
 * v(g+1)) / sum_g rounds[g] + o. NaN without a round. */
double geodec_predict_round(const geodec_cost *cost, const int64_t *rounds, int32_t gamma);
/* Speed-up of rounds that give `tokens` tokens each from gamma drafts. */
double geodec_predict_speedup(const geodec_cost *cost, double tokens, int32_t gamma);

#endif
