/* Drafters that are models, by name: "model" (a second file), "exit:N" (the first N blocks of the target) and "exit" (N
 * = the depth sink); with -sampled behind the first word the stochastic variant: "model-sampled", "exit-sampled:N". */
#ifndef GEODEC_DRAFTERS_DRAFTING_MODELS_H
#define GEODEC_DRAFTERS_DRAFTING_MODELS_H

#include "decode/draft.h"
#include "model/model.h"

typedef struct drafting_models {
    geodec_model *second; /* NULL = none given */
    geodec_session_options how;
    geodec_arithmetic second_arithmetic;
    int32_t sink; /* 0 = not measured */
} drafting_models;

bool geodec__models_know(const char *name);
/* Names the depth sink is needed for. */
bool geodec__models_want_sink(const char *name);
geodec_status geodec__models_create(const drafting_models *d, const geodec_model *target, const char *name,
                                    geodec_drafter **out, geodec_err *err) GEODEC_MUST_USE;

#endif
