/* Token recycling (Luo et al. 2024, "Turning Trash into Treasure"): candidates that a pass computed are kept. For every
 * token the matrix holds the GEODEC_DRAFT_TOP most probable next tokens of the last pass in which the token was, in the
 * text or in a rejected draft; trees follow the matrix from the newest token, best first. Needs no artifact. After a
 * prompt's token, whose logits were not computed, the matrix has the token that followed it.
 *
 * The steadier a row, the more it predicts. The probability of the entry at rank r is
 *
 *     P(r) = (hits_r + 8 q_r) / (trials + 8)
 *
 * over the tokens of the text so far whose row was of the same class (number of times in sequence that the best entry
 * stayed the same: 0, 1, 2, 3 or more); q: rates of a small model on held-out stories, greedy. */
#ifndef GEODEC_DRAFTERS_RECYCLE_DRAFTER_H
#define GEODEC_DRAFTERS_RECYCLE_DRAFTER_H

#include "decode/drafter.h"

/* Sources: the rank, "1" .. "8". n_vocab: rows of the matrix, which `begin` empties. */
GEODEC_API geodec_status geodec_recycle_drafter_create(int32_t n_vocab, geodec_drafter **out,
                                                       geodec_err *err) GEODEC_MUST_USE;

#endif
