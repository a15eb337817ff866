/* Random blocks of the tensor types; the number of weights. */
#ifndef GEODEC_MODEL_SHAPE_INTERNAL_H
#define GEODEC_MODEL_SHAPE_INTERNAL_H

#include "gguf/gguf.h"
#include "session/shape.h"

#include <stdint.h>

/* A group of blocks, the unit of fill. */
typedef struct geodec__random_blocks {
    const geodec_ggml_traits *type;
    int elements, bytes; /* of a group */
    /* Group `index` of the stream: values of mean 0 and standard deviation sigma, before rounding, for types without
     * their own generator. */
    void (*fill)(const geodec_ggml_traits *type, uint64_t seed, uint64_t stream, int64_t index, double sigma,
                 uint8_t *out);
} geodec__random_blocks;

/* Random blocks of any type. */
geodec__random_blocks geodec__shape_random_blocks_of(int type);

#endif
