/* Internal: a weight matrix, and the strides of rows. */
#ifndef GEODEC_MODEL_KERNELS_MATRIX_INTERNAL_H
#define GEODEC_MODEL_KERNELS_MATRIX_INTERNAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC__LANES = 16 /* partial sums of a dot product, and keys in a block of the cache */ };

/* Rounded up to whole vectors: row strides of all activation buffers; the padding is zero. */
static inline int64_t geodec__pad(int64_t n) { return (n + GEODEC__LANES - 1) / GEODEC__LANES * GEODEC__LANES; }

/* Stride of rows that are read together: strides that are multiples of half a page would map them all to the same few
 * sets of the first-level cache. */
static inline int64_t geodec__apart(int64_t n)
{
    const int64_t stride = geodec__pad(n);
    return stride % 512 ? stride : stride + GEODEC__LANES;
}

/* A weight matrix inside the map: `rows` outputs of `cols` inputs, row o at data + o * row_bytes. */
typedef struct geodec__matrix {
    const uint8_t *data;
    int64_t rows, cols, row_bytes;
    int type;                     /* geodec_ggml_type */
    const uint8_t *const *expert; /* [n_expert] start of each expert's matrix, when the file has one tensor each */
    const uint8_t *next;          /* weights that are read after this matrix, if known: prefetched near its end */
    bool owned;                   /* not in the file's map: a factor (factors.h) */
    int trits;              /* 0, or geodec_ternary_encoding: the rows are trits, multiplied as float32 (type F32) */
    float scale;            /* of trits without row_scale */
    const float *row_scale; /* of trits [rows], or NULL */
} geodec__matrix;

/* Expert e of a matrix of all experts. */
static inline geodec__matrix geodec__expert(const geodec__matrix *all, int64_t e)
{
    geodec__matrix m = *all;
    m.data = all->expert ? all->expert[e] : all->data + e * all->rows * all->row_bytes;
    m.expert = NULL;
    return m;
}

#endif
