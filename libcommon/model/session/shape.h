/* Models of a public shape with random weights, for measurements of speed only.
 *
 * Matrices are uniform (block types: uniform codes, so every block is valid) with standard deviation 1/sqrt(inputs):
 * products keep the magnitude of their inputs, so activations are finite. An embedding that is not the head has
 * deviation 1. Vectors have the means and deviations of a table in shape.c. Element groups are pure functions of (seed,
 * tensor name, index): the same file for any number of threads. */
#ifndef GEODEC_MODEL_SHAPE_H
#define GEODEC_MODEL_SHAPE_H

#include "base/err.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "gguf/tensor_types.h"

#include <stdbool.h>
#include <stdint.h>

/* A model's sizes, from its card, in words apart by blanks. */
typedef struct geodec_shape {
    const char *name, *title, *arch;
    int32_t n_layer; /* fewer: the first layers of the model */
    /* NAME=VALUE; of several with one name the last counts. A name with a point or an underscore is a key of
     * the architecture, without its prefix; shape.c has short names of the commonest keys (d, H, ...); others are no
     * keys. A value is an integer, a number with a point or an exponent, a word, or a list of integers, an item for
     * each layer: "6*2,1" is 6, 6, 1 and from the start again, "6*2,1*" is 6, 6 and 1 for the others. "+LIST" is the
     * sum of the items of all layers. */
    const char *values;
    /* "NAME(DIMENSION,...)": a tensor of each layer, or with '/' before its name of the model. ".weight" is left out;
     * a name that ends with a point has nothing behind it. Dimensions are products and quotients of integers, values
     * and L, the number of layers. Tensors behind "?NAME" are only where this value is not 0. The embedding and the
     * last norm go without saying. */
    const char *tensors;
} geodec_shape;

/* Names in the order of the table. */
#define GEODEC_SHAPE_DENSE                                                                                             \
    "smollm2-135m|llama-3.2-1b|llama-3.1-8b|phi-3.5-mini|gemma-3-270m|gemma-3-1b|gemma-4-e2b|qwen3-4b|gpt2-small"
#define GEODEC_SHAPE_MIXTURES "olmoe-1b-7b|gpt-oss-20b|qwen3-30b-a3b|deepseek-v2-lite|qwen3-next-80b-a3b"
#define GEODEC_SHAPE_CHOICES GEODEC_SHAPE_DENSE "|" GEODEC_SHAPE_MIXTURES
/* Shape i, from 0; NULL after the last one. */
const geodec_shape *geodec_shape_at(int i);
/* NULL when there is no such shape. */
const geodec_shape *geodec_shape_named(const char *name);
/* Weights of a shape, without the divisors of rotations, which no model card counts. */
geodec_status geodec_shape_weights(const geodec_shape *s, int64_t *n, geodec_err *err) GEODEC_MUST_USE;

/* Types of the matrices: the recipes of gguf/quantize.h, and the types that can only be read. */
#define GEODEC__SHAPE_TYPE(X, NAME, name, ...) #name "|"
#define GEODEC_SHAPE_TYPES GEODEC_TENSOR_TYPES(GEODEC__SHAPE_TYPE, ) "q4_k_s|q4_k_m|q5_k_s|q5_k_m"

/* type: a recipe of gguf/quantize.h, which chooses the type of every matrix, or a type that can only be read, for all
 * of them (F16 where the rows are not a multiple of its block); vectors, routers, positions and convolutions are
 * float32. The vocabulary is made of byte tokens and letter strings. Keys general.name and general.description say that
 * the weights are random, and the last component of path must contain "random" (GEODEC_INVAL). GEODEC_NOTFOUND: no such
 * type. Memory: 4 MB and the vocabulary, whatever the file's size. */
geodec_status geodec_shape_write(const char *path, const geodec_shape *s, const char *type, uint64_t seed,
                                 geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
