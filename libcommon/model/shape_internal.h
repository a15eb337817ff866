/* Random blocks of each tensor type, and which type a tensor of a file gets. */
#ifndef GEODEC_MODEL_SHAPE_INTERNAL_H
#define GEODEC_MODEL_SHAPE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* A group of blocks of a type of gguf/gguf.h: what fill makes at a time. */
typedef struct geodec__random_blocks {
    int type;   /* geodec_ggml_type */
    int blocks; /* of a group */
    /* Group `index` of the stream: values of mean 0 and standard deviation sigma. */
    void (*fill)(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out);
} geodec__random_blocks;

/* NULL for a type without random blocks. */
const geodec__random_blocks *geodec__shape_random_blocks_of(int type);
/* Of a group: values, bytes. */
int geodec__shape_group_elements(const geodec__random_blocks *b);
int geodec__shape_group_bytes(const geodec__random_blocks *b);

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
