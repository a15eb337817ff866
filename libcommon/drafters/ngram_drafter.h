/* The n-gram drafter, the control of the flow map: longest match of the context in a store of model text and in the
 * growing prompt and output, most frequent continuation, lowest id on ties. A continuation is the model's argmax after
 * that position where it is known, otherwise the text's own next token.
 *
 * Confidence. A continuation seen c times in n at order m claims r = (c + a_m) / (n + 1), a_m = share of agreeing pairs
 * of occurrences at order m in the store. Rare contexts claim too much, so the store calibrates itself: every position
 * is predicted from all others (leave one out), hits are counted by order and tenth of r, and the confidence is (hits +
 * 4 r) / (predictions + 4) of its cell. */
#ifndef GEODEC_DRAFTERS_NGRAM_DRAFTER_H
#define GEODEC_DRAFTERS_NGRAM_DRAFTER_H

#include "base/err.h"
#include "decode/drafter.h"
#include "drafters/ngram.h"

#include <stdint.h>

/* Immutable after creation; may be shared between drafters. */
typedef struct geodec_ngram geodec_ngram;

/* Position i of the store: token[i], its sequence (positions of a sequence are consecutive and in text order; a change
 * of value starts a new text), and argmax[i] = the model's most probable token after it (negative = unknown: the next
 * token of the sequence is used, if there is one). n >= 0. The arrays are copied. order: longest context. */
GEODEC_API geodec_status geodec_ngram_create(const int32_t *token, const int32_t *sequence, const int32_t *argmax,
                                             int64_t n, int32_t order, geodec_ngram **out,
                                             geodec_err *err) GEODEC_MUST_USE;
/* For trees of sampled texts: the model's probabilities of the next token, as far as they are known, in place of
 * counts. choice [n][k], probability [n][k] in 1/255: tokens (-1 = none) and their probabilities after position i of
 * the same texts. The sampled token counts too, for tokens outside the k. GEODEC_LIMIT: more positions than counts
 * hold; GEODEC_INVAL: k > 8. */
GEODEC_API geodec_status geodec_ngram_learn_probabilities(geodec_ngram *store, const int32_t *token,
                                                          const int32_t *sequence, int64_t n, int32_t k,
                                                          const int32_t *choice, const uint8_t *probability,
                                                          int32_t order, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_ngram_destroy(geodec_ngram *store);

/* store may be NULL: prompt lookup alone. It is borrowed. Sources: order m in the store: m-1; where the store has no
 * match and the text itself has: GEODEC_NGRAM_ORDER + m-1. */
GEODEC_API geodec_status geodec_ngram_drafter_create(const geodec_ngram *store, int32_t order, geodec_drafter **out,
                                                     geodec_err *err) GEODEC_MUST_USE;

#endif
