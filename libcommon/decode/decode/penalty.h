/* Changes of the logits that depend on the text: bias, and penalties of tokens that occurred. They belong to the
 * target's distribution, so drafts are verified against it and the text is that of plain decoding.
 *
 * Of the last `window` tokens of the text (prompt, output, and in a round the drafts accepted before the row), let c be
 * the number of times that a token occurs. Its logit x becomes, in this order:
 *     x + bias                                                              (OpenAI's logit_bias)
 *     c > 0: x / repeat if x > 0, else x * repeat                           (Keskar et al. 2019, CTRL)
 *     x - c * frequency - (c > 0) * presence                                (OpenAI's definitions)
 * as llama.cpp does. Temperature, top-k, top-p and min-p come after this. */
#ifndef GEODEC_DECODE_PENALTY_H
#define GEODEC_DECODE_PENALTY_H

#include "base/err.h"
#include "geodec/sampler.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_penalty geodec_penalty; /* options and work space; one thread at a time */

/* Whether the options change any logit. */
bool geodec_penalty_is(const geodec_penalty_options *o);
/* *out is NULL if they change none. GEODEC_INVAL: a number out of range, a token outside of the vocabulary. */
geodec_status geodec_penalty_create(const geodec_penalty_options *o, int32_t n_vocab, geodec_penalty **out,
                                    geodec_err *err) GEODEC_MUST_USE;
void geodec_penalty_destroy(geodec_penalty *p);
/* Changes row [n_vocab], which decides the token after text [n] and more [n_more]. p NULL: nothing. */
void geodec_penalty_apply(geodec_penalty *p, const int32_t *text, int64_t n, const int32_t *more, int64_t n_more,
                          float *row);

#endif
