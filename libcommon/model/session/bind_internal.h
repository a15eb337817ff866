/* Internal: how the tensors of a file are bound to their places (bind.c); weights.c and recurrent_bind.c bind the parts
 * of a layer. */
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
    const float *same;         /* [d_model][d_model] the matrix that changes nothing; NULL before it is needed */
    geodec__arena *arena;      /* of the model: vectors, and places of experts */
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
/* Shape ([cols][rows][count]), and that values of the type can be read. */
geodec_status geodec__bind_shape(const geodec__binder *b, const geodec_gguf_tensor *t, int64_t cols, int64_t rows,
                                 int64_t count, geodec_err *err) GEODEC_MUST_USE;
/* cols inputs, rows outputs, count matrices in one tensor (experts; 1 otherwise). */
geodec_status geodec__bind_matrices(geodec__binder *b, int32_t layer, const char *suffix, int64_t cols, int64_t rows,
                                    int64_t count, geodec__matrix *out) GEODEC_MUST_USE;
/* Places of all experts of a matrix, [n_expert]. */
geodec_status geodec__bind_experts(const geodec__binder *b, const uint8_t ***out) GEODEC_MUST_USE;
/* Rows first .. first + rows - 1 of a matrix. */
static inline geodec__matrix geodec__bind_slice(const geodec__matrix *all, int64_t first, int64_t rows)
{
    geodec__matrix m = *all;
    m.data += first * all->row_bytes;
    m.rows = rows;
    return m;
}
/* n numbers and their padding, all zero. */
geodec_status geodec__bind_floats(const geodec__binder *b, int64_t n, float **out) GEODEC_MUST_USE;
/* The values of a tensor as count rows of n numbers, each padded. GEODEC_FORMAT: one is not finite. */
geodec_status geodec__bind_values(const geodec__binder *b, const geodec_gguf_tensor *t, int64_t n, int64_t count,
                                  const float **out) GEODEC_MUST_USE;
/* Decoded to float32. A missing one stays NULL unless it is required. */
geodec_status geodec__bind_vector(geodec__binder *b, geodec__presence presence, int32_t layer, const char *suffix,
                                  int64_t n, const float **out) GEODEC_MUST_USE;
/* count rows of n numbers, each padded. */
geodec_status geodec__bind_rows(geodec__binder *b, geodec__presence p, int32_t layer, const char *suffix, int64_t n,
                                int64_t count, const float **out) GEODEC_MUST_USE;
/* A bias, which any matrix may have, unless the row says that it must. */
geodec_status geodec__bind_bias(geodec__binder *b, int32_t layer, const char *name, int64_t n,
                                const float **out) GEODEC_MUST_USE;
/* The norm `name` of rows of `width` numbers, of heads of `head` (0: of none): one vector for the row, one for every
 * head, one for each head, or a factor for each head. plain: ones stand for the vector. */
geodec_status geodec__bind_norm(geodec__binder *b, geodec__presence presence, bool plain, int32_t layer,
                                const char *name, int64_t width, int64_t head, geodec__norm *out) GEODEC_MUST_USE;
/* A norm of the stream. given: its name, or several of which the first that is there counts; NULL: `otherwise`; "":
 * there is none. */
geodec_status geodec__bind_stream_norm(geodec__binder *b, int32_t layer, const char *given, const char *otherwise,
                                       geodec__norm *out) GEODEC_MUST_USE;
/* Whether a name of n bytes is among those of a list, apart by blanks. */
bool geodec__bind_listed(const char *list, const char *name, size_t n);
/* Of a tensor by the architecture's row, from its name without ".weight". */
geodec__presence geodec__bind_presence(const geodec__arch *a, const char *name);
/* The norm before a layer's mixer, attention with it, and the feed-forward with its norms. */
geodec_status geodec__bind_entry(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;
geodec_status geodec__bind_attention(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;
geodec_status geodec__bind_feed(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;

/* latent.c: what attention from latent vectors has in place of queries, keys and values. */
geodec_status geodec__bind_latent(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;

/* recurrent_bind.c: a layer of an architecture in which the tensors say what a layer has. */
geodec_status geodec__bind_hybrid(geodec__binder *b, int32_t layer, geodec__layer *l) GEODEC_MUST_USE;
/* GEODEC_UNSUPPORTED unless all recurrent layers have the same sizes. */
geodec_status geodec__bind_alike(const geodec__layer *layer, int32_t n, geodec_err *err) GEODEC_MUST_USE;

#endif
