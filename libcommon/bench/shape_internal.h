/* Random blocks of each tensor type, and which type a tensor of a file gets. */
#ifndef GEODEC_BENCH_SHAPE_INTERNAL_H
#define GEODEC_BENCH_SHAPE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* ggml's numbers. */
enum {
    SHAPE_F32 = 0,
    SHAPE_F16 = 1,
    SHAPE_Q4_0 = 2,
    SHAPE_Q5_0 = 6,
    SHAPE_Q8_0 = 8,
    SHAPE_Q4_K = 12,
    SHAPE_Q6_K = 14,
    SHAPE_BF16 = 30,
};

typedef struct geodec__random_blocks {
    int type;
    int elements, bytes; /* of the group that fill makes; a multiple of the type's block */
    /* Group `index` of the stream: values of mean 0 and standard deviation sigma. */
    void (*fill)(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out);
} geodec__random_blocks;

/* NULL for a type without random blocks. */
const geodec__random_blocks *geodec__random_blocks_of(int type);

/* What a tensor is, as far as its type depends on it. */
typedef enum geodec__role {
    ROLE_EMBEDDING,
    ROLE_OUTPUT, /* also the embedding of a tied model */
    ROLE_ATTN_V,
    ROLE_FFN_DOWN,
    ROLE_OTHER
} geodec__role;
/* Type of a tensor with rows of `cols`; -1 when there is no file type of that name. */
int geodec__shape_type(const char *file_type, geodec__role role, int64_t cols, int32_t layer, int32_t n_layer);

#endif
