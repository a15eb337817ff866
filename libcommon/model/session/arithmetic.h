/* The arithmetic that suits a model's file.
 *
 * fast rounds activations to bytes where the weights are of block types, and is as exact elsewhere
 * (model/kernels/products_internal.h). Reading the weights dominates the cost of a pass, so the rule compares bytes:
 *     share = bytes of matrices in block types that fast supports / bytes of all matrices that a pass multiplies
 *     fast if share >= 1/2, else exact; integer if the file holds integers (integer/engine/network_file.h)
 * Vectors (norms, biases) do not count, nor does the embedding when the head is a matrix of its own. */
#ifndef GEODEC_MODEL_ARITHMETIC_H
#define GEODEC_MODEL_ARITHMETIC_H

#include "session/model.h"

/* 0 to 1. */
double geodec_model_block_share(const geodec_model *m);
/* The rule on a share. */
geodec_arithmetic geodec_arithmetic_of_share(double share);
geodec_arithmetic geodec_model_arithmetic(const geodec_model *m);
const char *geodec_arithmetic_name(geodec_arithmetic a); /* "exact", "fast", "integer" */

#endif
