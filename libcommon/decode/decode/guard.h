/* What stands between the model's logits and the sampler: penalties, and the minimum-length guard, a mask on each logit
 * row by its absolute output index. The row that decides output token g gets its stop ids set to -inf iff g <
 * min_tokens. The mask depends only on the row, not on the position in the loop, so plain and speculative decoding use
 * the same masked model: their outputs are equal and the KV cache always agrees with the text. */
#ifndef GEODEC_DECODE_GUARD_H
#define GEODEC_DECODE_GUARD_H

#include "geodec/err.h"
#include "decode/penalty.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_guard {
    int64_t min_tokens;  /* output tokens before a stop id is allowed; <= 0 switches the guard off */
    const int32_t *stop; /* [n_stop] ids that end the output, borrowed */
    int32_t n_stop;
    /* Penalties of the text so far (decode/penalty.h), or NULL; text [n_text] up to the newest token. */
    geodec_penalty *penalty;
    const int32_t *text;
    int64_t n_text;
} geodec_guard;

/* True for an id that ends the output. guard NULL: false. */
GEODEC_API bool geodec_guard_is_stop(const geodec_guard *guard, int32_t id);
/* True when `id` may not be output token `index` (0 = the first after the prompt). guard NULL: false. */
GEODEC_API bool geodec_guard_forbids(const geodec_guard *guard, int64_t index, int32_t id);
/* Applies penalties and the mask to row [n_vocab], the logits that decide output token `index`, in place. more
 * [n_more]: tokens of the round between the newest token and this row. */
GEODEC_API void geodec_guard_mask(const geodec_guard *guard, int64_t index, const int32_t *more, int64_t n_more,
                                  float *row, int32_t n_vocab);

#endif
