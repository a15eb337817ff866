/* Weights of a model that fits the caches, repacked so that one register holds a column of 16 weight rows.
 *
 * A dot product of a few dozen columns spends as long on the reduction of its 16 partial sums across lanes as on the
 * products. With one output per lane the same additions, in the same order (kernels_internal.h), need no reduction
 * across lanes, and a loaded weight serves several rows of x.
 *
 * A panel is 16 rows of a matrix (the last one padded with zeros). Its columns are divided into chunks of 16, the last
 * one padded with zeros; partial sum l takes column l of every chunk. Columns are stored in the order in which the
 * partial sums are reduced: 0 8, 4 12, 2 10, 6 14, 1 9, 5 13, 3 11, 7 15, for each pair all chunks, for each chunk both
 * columns. Elements are as wide as in the file; those of Q8_0 come after their scales, [cols / 32][16] binary16. */
#ifndef GEODEC_MODEL_KERNELS_COLUMNS_INTERNAL_H
#define GEODEC_MODEL_KERNELS_COLUMNS_INTERNAL_H

#include "gguf/gguf.h"
#include "kernels/matrix_internal.h"

enum { GEODEC__COLUMN_ROWS = 16 /* rows of a panel */ };

/* X(NAME, name) for the types whose weights are loaded as floats without a decoder, from the table of types. */
#define GEODEC__DIRECT_TYPES(X) GEODEC_TENSOR_TYPES(GEODEC__DIRECT_ROW, X)
#define GEODEC__DIRECT_ROW(X, NAME, name, number, block, bytes, codec, limit, instead, file, product, packing)         \
    GEODEC__DIRECT_##product(X, NAME, name)
#define GEODEC__DIRECT_FLOATS(X, NAME, name) X(NAME, name)
#define GEODEC__DIRECT_BYTES(X, NAME, name) X(NAME, name)
#define GEODEC__DIRECT_INTEGERS(X, NAME, name)
#define GEODEC__DIRECT_DECODED(X, NAME, name)

typedef struct geodec__columns {
    const uint8_t *data; /* NULL: no columns */
    int64_t rows, cols;
    int type; /* one of GEODEC__DIRECT_TYPES */
} geodec__columns;

/* The partial sum at index `l` of that order, and the index of partial sum l: four bits reversed. */
static inline int64_t geodec__column_rank(int64_t l) { return (l & 1) << 3 | (l & 2) << 1 | (l & 4) >> 1 | l >> 3; }
/* Offset of the 16 weights of column `col` among those of a panel. */
static inline int64_t geodec__column_place(int64_t col, int64_t chunks)
{
    const int64_t rank = geodec__column_rank(col % 16);
    return (rank / 2 * chunks + col / 16) * 2 + rank % 2;
}

/* Bytes of an element. */
static inline int64_t geodec__column_size(int type)
{
    return type == GEODEC_GGML_F32 ? 4 : type == GEODEC_GGML_Q8_0 ? 1 : 2;
}
/* Bytes of a panel. */
static inline int64_t geodec__column_panel(int type, int64_t cols)
{
    return (geodec__pad(cols) * geodec__column_size(type) + (type == GEODEC_GGML_Q8_0 ? cols / 32 * 2 : 0)) *
           GEODEC__COLUMN_ROWS;
}

/* w as columns of `type`: w's own, or GEODEC_GGML_F32. data: whole panels of zeros; room [cols]: scratch. */
void geodec__columns_pack(const geodec__matrix *w, int type, uint8_t *data, float *room);

#endif
