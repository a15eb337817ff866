/* Parameters: initial values, and reading and writing GGUF files. */
#ifndef GEODEC_TRAIN_PARAMS_H
#define GEODEC_TRAIN_PARAMS_H

#include "base/err.h"
#include "gguf/gguf.h"
#include "tokenizer/tokenizer.h"
#include "train/layout.h"

#include <stdbool.h>
#include <stdint.h>

/* A llama: normal with deviation 0.02 (matrices that write into the residual stream: 0.02 / sqrt(2 n_layer), Radford et
 * al. 2019), norm gains one. A PERSPECTIVE model: normal with deviation 1/sqrt(inputs) (the embedding 1/sqrt(d_model),
 * matrices that write into the stream 0.3 of it); gates begin at 0.95; the experts of a layer are one matrix and 2 %
 * noise; experts are on their lattice. A pure function of (layout, seed). params [layout->total] */
void geodec_params_init(const geodec_layout *l, uint64_t seed, float *params);

/* Decodes every tensor of the layout from an open GGUF; GEODEC_FORMAT names a tensor that is missing or has another
 * shape. */
geodec_status geodec_params_read(const geodec_layout *l, const geodec_gguf *g, float *params,
                                 geodec_err *err) GEODEC_MUST_USE;

/* Writes a model file: the architecture's keys, the tokenizer's keys and all tensors. Matrices get `type` (F32, F16,
 * BF16 or Q8_0; rows that are not a multiple of a Q8_0 block fall back to F16); norms, biases, routers and places stay
 * F32. `ternary`: experts are F16, or F32 if type is, which hold ternary values exactly. */
geodec_status geodec_params_write(const geodec_layout *l, const float *params, const geodec_tokenizer *t,
                                  const char *name, int type, bool ternary, const char *path,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
