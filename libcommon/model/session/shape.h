/* Models of a public shape with random weights, for measurements of speed only.
 *
 * Matrices are uniform (block types: uniform codes, so every block is valid) with standard deviation 1/sqrt(inputs):
 * products keep the magnitude of their inputs, so activations are finite. An embedding that is not the head has
 * deviation 1. Norm weights are 1 + 0.1 u. Element groups
 * are pure functions of (seed, tensor name, index): the same file for any number of threads. */
#ifndef GEODEC_MODEL_SHAPE_H
#define GEODEC_MODEL_SHAPE_H

#include "base/err.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "gguf/tensor_types.h"

#include <stdbool.h>
#include <stdint.h>

/* Dimensions from a model card. */
typedef struct geodec_shape {
    const char *name, *title, *arch;
    int32_t n_layer, d_model, n_head, n_kv_head, head_dim, d_ff, n_vocab, n_ctx;
    int32_t n_expert, n_expert_used; /* 0 = dense; d_ff is that of one expert */
    double rope_base;
    float rms_eps;
    bool tied;    /* no output.weight */
    bool qk_norm; /* attn_q_norm and attn_k_norm over the whole width */
} geodec_shape;

/* Names in the order of the table. */
#define GEODEC_SHAPE_CHOICES "smollm2-135m|llama-3.2-1b|olmoe-1b-7b"
/* Shape i, from 0; NULL after the last one. */
const geodec_shape *geodec_shape_at(int i);
/* NULL when there is no such shape. */
const geodec_shape *geodec_shape_named(const char *name);

/* Types of the matrices: the recipes of gguf/quantize.h, and the types that can only be read. */
#define GEODEC__SHAPE_TYPE(X, NAME, name, ...) #name "|"
#define GEODEC_SHAPE_TYPES GEODEC_TENSOR_TYPES(GEODEC__SHAPE_TYPE, ) "q4_k_s|q4_k_m|q5_k_s|q5_k_m"

/* type: a recipe of gguf/quantize.h, which chooses the type of every matrix, or a type that can only be read, for all
 * of them (F16 where the rows are not a multiple of its block); router and norms are float32. The
 * vocabulary is made of byte tokens and letter strings. Keys general.name and general.description say that the weights
 * are random, and the last component of path must contain "random" (GEODEC_INVAL). GEODEC_NOTFOUND: no such type.
 * Memory: a few MB, whatever the file's size. */
geodec_status geodec_shape_write(const char *path, const geodec_shape *s, const char *type, uint64_t seed,
                                 geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
