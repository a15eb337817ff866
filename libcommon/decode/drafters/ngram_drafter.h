/* The n-gram drafter, the control of the flow map. It finds the longest match of the context in a store of model text
 * and in the current prompt and output, and proposes the most frequent continuation, lowest id on ties. A continuation
 * is the model's argmax after that position where it is known, otherwise the next token of the text.
 *
 * Confidence. A continuation seen c times in n at order m has the raw confidence r = (c + a_m) / (n + 1), where a_m is
 * the share of agreeing pairs of occurrences at order m in the store. For rare contexts r is too high, so it is
 * calibrated on the store: every position is predicted from all others (leave one out), hits are counted by order and
 * tenth of r, and the confidence is (hits + 4 r) / (predictions + 4) of its cell. */
#ifndef GEODEC_DRAFTERS_NGRAM_DRAFTER_H
#define GEODEC_DRAFTERS_NGRAM_DRAFTER_H

#include "base/err.h"
#include "decode/drafter.h"
#include "drafters/ngram.h"

#include <stdint.h>

/* Immutable after creation; may be shared between drafters. */
typedef struct geodec_ngram geodec_ngram;

/* Position i of the store has token[i], sequence[i] (positions of a sequence are consecutive and in text order; a
 * change of value starts a new text) and argmax[i], the model's most probable token after it (negative = unknown: the
 * next token of the sequence is used, if there is one). n >= 0. The arrays are copied. order: longest context. */
geodec_status geodec_ngram_create(const int32_t *token, const int32_t *sequence, const int32_t *argmax, int64_t n,
                                  int32_t order, geodec_ngram **out, geodec_err *err) GEODEC_MUST_USE;
/* For trees when tokens are sampled: uses the model's probabilities of the next token, as far as they are known, in
 * place of counts. choice [n][k], probability [n][k] in 1/255: tokens (-1 = none) and their probabilities after
 * position i of the same texts. The sampled token is counted too, for tokens outside the k. GEODEC_LIMIT: too many
 * positions for the counts; GEODEC_INVAL: k > 8. */
geodec_status geodec_ngram_learn_probabilities(geodec_ngram *store, const int32_t *token, const int32_t *sequence,
                                               int64_t n, int32_t k, const int32_t *choice, const uint8_t *probability,
                                               int32_t order, geodec_err *err) GEODEC_MUST_USE;
void geodec_ngram_destroy(geodec_ngram *store);

/* store is borrowed; NULL: prompt lookup only. Sources: m-1 for a match of order m in the store; GEODEC_NGRAM_ORDER +
 * m-1 when only the current text has a match. */
geodec_status geodec_ngram_drafter_create(const geodec_ngram *store, int32_t order, geodec_drafter **out,
                                          geodec_err *err) GEODEC_MUST_USE;

#endif
