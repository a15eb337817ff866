/* The unchecked output of a drafter alone, for the comparison of verifier alone, drafter alone and both. The text is
 * not that of the model. The model processes the prompt, because some drafters start from its states. After the prompt
 * it makes no pass; its own counter is checked for this. A drafter writes one draft of up to GEODEC_DRAFT_MAX tokens
 * (the state after an unchecked token does not exist), then ends. */
#ifndef GEODEC_MEASURE_DRAFT_ALONE_H
#define GEODEC_MEASURE_DRAFT_ALONE_H

#include "decode/loop.h"

/* Greedy; options: max_tokens, min_tokens, stop, clock and hooks. counters: emitted, decided, prompt_passes, the times;
 * target_passes = 0. end: GEODEC_END_LENGTH, also when the drafter proposes fewer tokens. GEODEC_INTERNAL: the model
 * made a pass after the prompt; GEODEC_INVAL: no drafter. */
geodec_status geodec_draft_alone(const geodec_target *target, const int32_t *prompt, int64_t n, geodec_drafter *drafter,
                                 const geodec_decode_options *options, geodec_decoded *out,
                                 geodec_err *err) GEODEC_MUST_USE;

#endif
