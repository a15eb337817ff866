/* How much text goes into a model's drafting tables, by the time given and the model's measured speed.
 *
 * Rule. Of T seconds, 70 % read and write texts; the rest bakes the map and tries the drafters. With s and r tokens a
 * second for sampling and reading, A tokens of text at hand and C = 196608 tokens at most (768 texts of 256, the size
 * the speeds of docs/results/speed.md were measured with: a larger map drafts little better and costs more to search):
 *   text tokens   = min(A, C, 0.7 T r)
 *   sample tokens = min(C - text, (0.7 T - text / r) / (1 / s + 1 / r)), 0 where the model cannot begin a text
 *   length        = min(context, 256), less where there would be fewer than 16 texts, but at least min(context, 64)
 * Under 1024 tokens there is no map worth having. */
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
#define GEODEC_PREPARE_STORE_SHARE 0.70 /* of the time: sampling and reading */
#define GEODEC_PREPARE_TRIAL_SHARE 0.15 /* trying the drafters */

typedef struct geodec_prepare_speed {
    double sample, read; /* tokens a second of all threads together; sample 0: the model cannot begin a text */
} geodec_prepare_speed;

typedef struct geodec_prepare_plan {
    int32_t length;        /* of a window, and of a sampled text at most */
    int64_t text_tokens;   /* read from the text given */
    int64_t sample_tokens; /* wanted from the model; its texts may end early, then there are more of them */
} geodec_prepare_plan;

/* n_ctx: the model's context, at least 2. available: tokens of the text given, 0 = none. GEODEC_SCARCE: too little time
 * or text for GEODEC_PREPARE_TOKENS_MIN tokens; GEODEC_RANGE: seconds not above 0, or no speed of reading. */
GEODEC_API geodec_status geodec_prepare_plan_make(double seconds, const geodec_prepare_speed *speed, int32_t n_ctx,
                                                  int64_t available, geodec_prepare_plan *out,
                                                  geodec_err *err) GEODEC_MUST_USE;

#endif
