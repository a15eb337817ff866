/* Token recycling (Luo et al. 2024, "Turning Trash into Treasure"): what a pass computed is kept. For every token the
 * matrix holds the GEODEC_DRAFT_TOP tokens that the target held most probable after it when it last stood in a pass,
 * whether as part of the text or as a draft that came to nothing; trees follow the matrix from the newest token, best
 * first. Needs no artifact. After a prompt's token, whose logits nobody computed, stands the token that followed it.
 *
 * The steadier a row, the more it is worth. The chance of the entry at rank r is
 *
 *     P(r) = (hits_r + 8 q_r) / (trials + 8)
 *
 * over the tokens of the text so far whose row was of the same class (number of times in a row that the best entry
 * stayed what it was: 0, 1, 2, 3 or more); q: what a small model did on held-out stories, greedily. */
#ifndef GEODEC_DRAFTERS_RECYCLE_DRAFTER_H
#define GEODEC_DRAFTERS_RECYCLE_DRAFTER_H

#include "decode/drafter.h"

/* Sources: the rank, "1" .. "8". n_vocab: rows of the matrix, which `begin` empties. */
GEODEC_API geodec_status geodec_recycle_drafter_create(int32_t n_vocab, geodec_drafter **out,
                                                       geodec_err *err) GEODEC_MUST_USE;

#endif
