/* A model's network for the integer engine (integer/engine/network.h), made from its weights.
 *
 * Weights of Q8_0 keep their codes of 8 bits and those of Q4_0 their 4 bits; all others are rounded to `bits` in blocks
 * of 32 (integer/engine/coded.h). Routers have 16 bits, and so has an embedding of floats that is not the head.
 * Conversion uses floats and happens once; afterwards no float is used. */
#ifndef GEODEC_MODEL_INTEGER_NETWORK_H
#define GEODEC_MODEL_INTEGER_NETWORK_H

#include "integer/engine/network.h"
#include "session/model.h"

typedef struct geodec_integer_options {
    int32_t bits;            /* of weights that have no codes of their own, 4, 8 or 16; 0: 8 */
    int32_t activation_bits; /* 8 or 16; 0: 16 */
} geodec_integer_options;

/* GEODEC_UNSUPPORTED: experts on disk, factored matrices, caches of low rank; GEODEC_NUMERIC: a weight is not finite.
 */
geodec_status geodec_integer_network_make(const geodec_model *m, const geodec_integer_options *o, geodec_pool *pool,
                                          geodec_network **out, geodec_err *err) GEODEC_MUST_USE;

#endif
