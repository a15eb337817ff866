/* The amount of text for a model's drafting artifacts, from the given time and the model's measured speed.
 *
 * Of T seconds, 70 % read and write texts; the rest of the time bakes the flow map and tries the drafters. With s and r
 * tokens a second for sampling and reading, A tokens of available text and at most C = 196608 tokens (768 texts of 256,
 * the size of the measurements in docs/results/speed.md: a larger map is hardly better at drafting and costs more to
 * search):
 *   text tokens   = min(A, C, 0.7 T r)
 *   sample tokens = min(C - text, (0.7 T - text / r) / (1 / s + 1 / r)), 0 if the model cannot begin a text
 *   length        = min(context, 256), less for fewer than 16 texts, but at least min(context, 64)
 * Fewer than 1024 tokens are too few for a map. */
#ifndef GEODEC_PREPARE_PLAN_H
#define GEODEC_PREPARE_PLAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GEODEC_PREPARE_LENGTH = 256,
    GEODEC_PREPARE_LENGTH_MIN = 64,
    GEODEC_PREPARE_TEXTS_MIN = 16,
    GEODEC_PREPARE_TOKENS_MIN = 1024,
    GEODEC_PREPARE_TOKENS_MAX = 768 * 256,
};
#define GEODEC_PREPARE_STORE_SHARE 0.70 /* share of the time for sampling and reading */
#define GEODEC_PREPARE_TRIAL_SHARE 0.15 /* share for trying the drafters */

typedef struct geodec_prepare_speed {
    double sample, read; /* tokens per second over all threads; sample 0: the model cannot begin a text */
} geodec_prepare_speed;

typedef struct geodec_prepare_plan {
    int32_t length;        /* of a window, and at most of a sampled text */
    int64_t text_tokens;   /* read from the given text */
    int64_t sample_tokens; /* sampled from the model; texts may end early, and more of them are then sampled */
} geodec_prepare_plan;

/* n_ctx: the model's context, at least 2. available: tokens of the given text, 0 = none. GEODEC_SCARCE: too little time
 * or text for GEODEC_PREPARE_TOKENS_MIN tokens; GEODEC_RANGE: seconds not above 0, or no speed of reading. */
geodec_status geodec_prepare_plan_make(double seconds, const geodec_prepare_speed *speed, int32_t n_ctx,
                                       int64_t available, geodec_prepare_plan *out, geodec_err *err) GEODEC_MUST_USE;

#endif
