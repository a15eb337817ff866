/* The drafter alone: what it writes when nobody checks. For taking speculative decoding apart (verifier alone, drafter
 * alone, both); its text is not the model's. The prompt is read by the model, for the states some drafters start from;
 * after it the model makes no pass, which its own counter confirms. A drafter says what it can in one draft of up to
 * GEODEC_DRAFT_MAX tokens (the state behind an unchecked token does not exist) and falls silent. */
#ifndef GEODEC_MEASURE_DRAFT_ALONE_H
#define GEODEC_MEASURE_DRAFT_ALONE_H

#include "decode/loop.h"

/* Greedy; options: max_tokens, min_tokens, stop, clock and hooks. counters: emitted, decided, prompt_passes, the times;
 * target_passes = 0. end: GEODEC_END_LENGTH also when the drafter has no more to say. GEODEC_INTERNAL: the model made a
 * pass behind the prompt; GEODEC_INVAL: no drafter. */
GEODEC_API geodec_status geodec_draft_alone(const geodec_target *target, const int32_t *prompt, int64_t n,
                                            geodec_drafter *drafter, const geodec_decode_options *options,
                                            geodec_decoded *out, geodec_err *err) GEODEC_MUST_USE;

#endif
