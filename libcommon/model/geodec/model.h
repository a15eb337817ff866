/* A model: a decoder-only transformer read from GGUF. */
#ifndef GEODEC_MODEL_H
#define GEODEC_MODEL_H

#include "geodec/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_model geodec_model; /* immutable after open; may be shared between sessions and threads */

/* A GGUF file, a store of experts (streaming/store.h), or the folder of one of ternary experts (ternary_store.h). */
GEODEC_API geodec_status geodec_model_open(const char *path, geodec_model **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_model_close(geodec_model *m);
GEODEC_API const geodec_tokenizer *geodec_model_tokenizer(const geodec_model *m);

/* geodec_gguf_tensor_digest, computed on first use: it reads the whole file. Of a store: that of its GGUF. */
GEODEC_API const char *geodec_model_fingerprint(const geodec_model *m);
GEODEC_API const char *geodec_model_name(const geodec_model *m); /* general.name or the file's name */

/* Sizes; no expert in a dense model. */
typedef struct geodec_model_size {
    int32_t n_layer, d_model, n_vocab;
    int32_t n_ctx; /* the context length of the file; sessions may be longer or shorter */
    int32_t n_expert, n_expert_used;
} geodec_model_size;
GEODEC_API geodec_model_size geodec_model_size_of(const geodec_model *m);

#endif
