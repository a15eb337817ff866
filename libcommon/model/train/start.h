/* The start of a training run: tokenizer, shape and initial values, either new or from a model file. */
#ifndef GEODEC_TRAIN_START_H
#define GEODEC_TRAIN_START_H

#include "base/err.h"
#include "session/model.h"
#include "train/layout.h"

#include <stdint.h>

typedef struct geodec_start {
    const geodec_tokenizer *tokenizer;
    geodec_layout *layout;
    float *params;                   /* [layout->total] */
    geodec_tokenizer *own_tokenizer; /* tokenizer of a new model */
    geodec_model *model;             /* of an existing model: owns its tokenizer */
} geodec_start;

/* A new model with the tokenizer of the GGUF file `vocab`. shape: used as given, except that n_vocab is set from the
 * tokenizer, and head_dim and rope_dim are set to d_model / n_head if they are 0. *s must be zero or cleared. */
geodec_status geodec_start_new(const char *vocab, const geodec_model_config *shape, uint64_t seed, geodec_start *s,
                               geodec_err *err) GEODEC_MUST_USE;
/* The model of a file, its weights decoded to float32; n_ctx > 0 replaces its context length. */
geodec_status geodec_start_from(const char *model, int32_t n_ctx, geodec_start *s, geodec_err *err) GEODEC_MUST_USE;
/* The PERSPECTIVE model of a GGUF file, its weights decoded to float32. GEODEC_UNSUPPORTED: another architecture,
 * experts in a store, scales that the layout does not have. */
geodec_status geodec_start_recurrent(const char *model, geodec_start *s, geodec_err *err) GEODEC_MUST_USE;
void geodec_start_clear(geodec_start *s);

#endif
