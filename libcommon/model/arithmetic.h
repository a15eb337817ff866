/* Which arithmetic suits a model's file.
 *
 * fast rounds activations to bytes where the weights lie in block types and is as exact elsewhere
 * (model/kernels/products_internal.h). The rule goes by bytes, since reading the weights is what a pass costs: share =
 * bytes of the matrices in block types that fast takes / bytes of all matrices that a pass multiplies fast where share
 * >= 1/2, exact otherwise Vectors (norms, biases) do not count, nor does the embedding where the head is a matrix of
 * its own. */
#ifndef GEODEC_MODEL_ARITHMETIC_H
#define GEODEC_MODEL_ARITHMETIC_H

#include "model/model.h"

/* 0 to 1. */
GEODEC_API double geodec_model_block_share(const geodec_model *m);
/* The rule on a share. */
GEODEC_API geodec_arithmetic geodec_arithmetic_of_share(double share);
GEODEC_API geodec_arithmetic geodec_model_arithmetic(const geodec_model *m);
GEODEC_API const char *geodec_arithmetic_name(geodec_arithmetic a); /* "exact", "fast" */

#endif
