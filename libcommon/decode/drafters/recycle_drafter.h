/* Token recycling (Luo et al. 2024, "Turning Trash into Treasure"): keeps the candidates that passes computed. For
 * every token a matrix holds the GEODEC_DRAFT_TOP most probable next tokens from the last pass that contained the
 * token, in the text or in a rejected draft. Trees follow the matrix from the newest token, best first. The drafter
 * needs no artifact. For a token of the prompt, whose logits are not computed, the matrix holds the token that followed
 * it.
 *
 * A row that changes rarely predicts better. The probability of the entry at rank r is
 *
 *     P(r) = (hits_r + 8 q_r) / (trials + 8)
 *
 * counted over the tokens of the text so far whose row was in the same class: the number of consecutive times that the
 * best entry stayed the same (0, 1, 2, 3 or more). q: rates measured with a small model on held-out stories, greedy. */
#ifndef GEODEC_DRAFTERS_RECYCLE_DRAFTER_H
#define GEODEC_DRAFTERS_RECYCLE_DRAFTER_H

#include "decode/drafter.h"

/* Sources: the rank, "1" .. "8". n_vocab: number of rows of the matrix. `begin` clears the matrix. */
geodec_status geodec_recycle_drafter_create(int32_t n_vocab, geodec_drafter **out, geodec_err *err) GEODEC_MUST_USE;

#endif
