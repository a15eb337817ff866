/* Lookup in the current text: the continuations of the longest suffix of prompt and output that occurred before (prompt
 * lookup; SuffixDecoding, Oliaro et al. 2024), found exactly by a suffix automaton (drafters/suffix.h). Needs no
 * artifact.
 *
 * Probabilities are those of prediction by partial matching (Cleary and Witten 1984) with measured escape
 * probabilities. Let m be the length of a match, n the number of its places and S the set of tokens that followed
 * there:
 *
 *     P(x) = q c(x) / sum_S c              for x in S
 *     P(x) = (1 - q) P_shorter(x)          else, P_shorter over the next shorter match without the tokens of S
 *     q    = (hits + 6 q_0) / (trials + 6)     P(the next token is in S), counted in this text at matches of this
 *                                              length and number of places; q_0: a prior that rises with m
 *
 * Every probability thus estimates the share of such drafts that are right. The drafter reads only the committed text,
 * and only when it is asked. */
#ifndef GEODEC_DRAFTERS_LOOKUP_DRAFTER_H
#define GEODEC_DRAFTERS_LOOKUP_DRAFTER_H

#include "decode/drafter.h"

/* Sources: the length of the match: "1", "2", "3", "4-5", "6-8", "9-15", "16+". */
geodec_status geodec_lookup_drafter_create(geodec_drafter **out, geodec_err *err) GEODEC_MUST_USE;

#endif
