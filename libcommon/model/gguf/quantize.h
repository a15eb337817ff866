/* A copy of a GGUF file with its matrices in other types.
 *
 * Keys are copied verbatim but for general.file_type and general.quantization_version, which are set, and
 * general.alignment, which is left out (the copy has 32). Vectors, norm gains, expert routers, other small weights and
 * tensors whose type does not change keep their bytes. Tensors are converted one by one in slabs of rows, so memory is
 * bounded. The bytes do not depend on the number of threads. */
#ifndef GEODEC_GGUF_QUANTIZE_H
#define GEODEC_GGUF_QUANTIZE_H

#include "base/hooks.h"
#include "base/pool.h"
#include "gguf/gguf.h"

typedef struct geodec_quantize_options {
    /* One of geodec_quantize_recipes(). The mixes (q4_k_m ...) give some tensors more bits by llama.cpp's rules, as
     * iq4_xs does; all quantised recipes give Q6_K to the output matrix (or the tied embedding). mxfp4 is for experts,
     * where there are any: all other matrices get Q8_0, and the output matrix in any case. NULL: only the overrides
     * count, all other tensors keep their type. */
    const char *recipe;
    /* "PATTERN=TYPE,PATTERN=TYPE": shell patterns of tensor names, the first match counts; NULL = none. */
    const char *overrides;
    bool pure;    /* every matrix in the recipe's main type */
    bool nearest; /* plain rounding instead of the encoders' search */
} geodec_quantize_options;

/* Rows that are not a multiple of a type's block get the type in the table's column `instead` (gguf/tensor_types.h), or
 * F16 where that does not fit either. An override is refused instead. */

/* Errors of one tensor. x: decoded values of the input, y: of the output. Zeros (cosine 1) for a copied tensor. */
typedef struct geodec_quantize_row {
    const char *name; /* the input's */
    int from, to;     /* geodec_ggml_type */
    int64_t values;
    size_t bytes;   /* of the output */
    double size;    /* rms of x */
    double rms;     /* of y - x */
    double largest; /* |y - x| */
    double cosine;  /* <x, y> / |x| |y| */
    double nearest; /* control: rms of y - x with plain rounding to the same type */
    double q8_0;    /* control: the same for Q8_0; NaN when rows are not a multiple of 32 */
} geodec_quantize_row;

/* Names of the recipes separated by '|': types with encoders, then mixes. */
#define GEODEC__CHOICE_READ_ONLY(name)
#define GEODEC__CHOICE_PLAIN(name) #name "|"
#define GEODEC__CHOICE_SEARCHED(name) #name "|"
#define GEODEC__CHOICE(X, NAME, name, number, block, bytes, codec, ...) GEODEC__CHOICE_##codec(name)
#define GEODEC_QUANTIZE_CHOICES GEODEC_TENSOR_TYPES(GEODEC__CHOICE, ) "q4_k_s|q4_k_m|q5_k_s|q5_k_m"
const char *geodec_quantize_recipes(void);

/* Inputs of the mixes' rules other than a matrix's name and width. */
typedef struct geodec_quantize_facts {
    int n_layer;
    int64_t n_expert;
    bool tied;           /* no output.weight: the embedding is tied */
    int64_t heads_a_key; /* query heads that share a key head; 0: as 1 */
} geodec_quantize_facts;
/* The type of matrix `name` with rows of cols values under a recipe; -1: no such recipe. */
int geodec_quantize_type(const char *recipe, const geodec_quantize_facts *f, const char *name, int64_t cols);

/* Writes `path` (atomically). rows [tensors of in], or NULL. GEODEC_INVAL (recipe, override), GEODEC_UNSUPPORTED (a
 * type that cannot be decoded), GEODEC_NUMERIC (a value that the new type cannot hold; names the tensor), GEODEC_IO. */
geodec_status geodec_quantize(const geodec_gguf *in, const char *path, const geodec_quantize_options *o,
                              geodec_pool *pool, const geodec_hooks *hooks, geodec_quantize_row *rows,
                              geodec_err *err) GEODEC_MUST_USE;

#endif
