/* Internal: how the tensors of a file are bound to their places (weights.c), for files that bind parts of a layer. */
#ifndef GEODEC_MODEL_BIND_INTERNAL_H
#define GEODEC_MODEL_BIND_INTERNAL_H

#include "session/arch_internal.h"
#include "session/model_internal.h"

enum {
    GEODEC__BIND_NAME = 80,  /* bytes of a tensor's name */
    GEODEC__BIND_SUFFIX = 48 /* of its part within a block */
};

/* State of binding. */
typedef struct geodec__binder {
    const geodec_gguf *g;
    const geodec__arch *arch;
    const geodec_model_config *c;
    const geodec_store *store; /* the experts' matrices are described there; NULL: in the file's tensors */
    const float *ones;         /* in place of weights */
    float *vector_at;          /* next free vector */
    const uint8_t **expert_at; /* next free slot of an expert */
    bool *bound;               /* [tensors] that were bound */
    geodec_err *err;
    char name[GEODEC__BIND_NAME]; /* name of the current tensor */
} geodec__binder;

/* layer < 0: not in a block. suffix with its .weight or .bias. One of size zero has no values and counts as missing. */
const geodec_gguf_tensor *geodec__bind_find(geodec__binder *b, int32_t layer, const char *suffix);
/* The tensor was read. */
void geodec__bind_mark(const geodec__binder *b, const geodec_gguf_tensor *t);
/* The error for the tensor that was looked for last. */
geodec_status geodec__bind_missing(const geodec__binder *b) GEODEC_MUST_USE;
/* Shape, and that values of the type can be read. */
geodec_status geodec__bind_shape(const geodec__binder *b, const geodec_gguf_tensor *t, int64_t cols, int64_t rows,
                                 geodec_err *err) GEODEC_MUST_USE;
/* A matrix of cols inputs and rows outputs. */
geodec_status geodec__bind_matrix(geodec__binder *b, int32_t layer, const char *suffix, int64_t cols, int64_t rows,
                                  geodec__matrix *out) GEODEC_MUST_USE;
/* The norm before a layer's mixer, attention with it, and the feed-forward with its norms. */
geodec_status geodec__bind_entry(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;
geodec_status geodec__bind_attention(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;
geodec_status geodec__bind_feed(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;

/* recurrent_bind.c: a layer of an architecture with recurrent ones. */
geodec_status geodec__bind_hybrid(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;
/* GEODEC_UNSUPPORTED unless all recurrent layers have the same sizes. */
geodec_status geodec__bind_alike(const geodec__layer *layer, int32_t n, geodec_err *err) GEODEC_MUST_USE;
/* Numbers that the tensor takes when it is bound, beside those of a vector of its first dimension. */
int64_t geodec__bind_recurrent_floats(const geodec_gguf_tensor *t);

#endif
