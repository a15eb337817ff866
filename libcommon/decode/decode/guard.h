/* What stands between the model's logits and the sampler: penalties, and the minimum-length guard, a mask on each logit
 * row by its absolute output index. The row that decides output token g gets its stop ids set to -inf iff g <
 * min_tokens. The mask depends only on the row, not on the position in the loop, so plain and speculative decoding use
 * the same masked model: their outputs are equal and the KV cache always agrees with the text. */
#ifndef GEODEC_DECODE_GUARD_H
#define GEODEC_DECODE_GUARD_H

#include "decode/penalty.h"
#include "geodec/drafter.h"
#include "geodec/err.h"

#include <stdbool.h>
#include <stdint.h>

/* True for an id that ends the output. guard NULL: false. */
bool geodec_guard_is_stop(const geodec_guard *guard, int32_t id);
/* True when `id` may not be output token `index` (0 = the first after the prompt). guard NULL: false. */
bool geodec_guard_forbids(const geodec_guard *guard, int64_t index, int32_t id);
/* Applies penalties and the mask to row [n_vocab], the logits that decide output token `index`, in place. more
 * [n_more]: tokens of the round between the newest token and this row. */
void geodec_guard_mask(const geodec_guard *guard, int64_t index, const int32_t *more, int64_t n_more, float *row,
                       int32_t n_vocab);

#endif
