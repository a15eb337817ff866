/* Ternary matrices: weights t s with t in {-1, 0, 1} and one scale s for the matrix or for each row.
 *
 * Two encodings. Both store the code c = t + 1 of a column in blocks of 64 bytes, in planes: byte j of a block has
 * columns j, 64 + j, 128 + j, ... of the block, so that a register of bytes has consecutive columns.
 *   BASE3  320 columns a block, five digits a byte, the first column most significant: with v = 81 c0 + 27 c1 + 9 c2 +
 *          3 c3 + c4 the byte is ceil(256 v / 243). Decoding needs no division: digit = floor(3 q / 256), q = 3 q mod
 *          256, five times. 1.6 bits a weight.
 *   BITS2  256 columns a block, four codes a byte, the first column in bits 0 and 1. 2 bits a weight.
 * A row is a whole number of blocks; columns beyond the last have the code 1 (weight 0). 243 of the 256 bytes are codes
 * of BASE3, 81 of BITS2; the others decode to something, and geodec_ternary_check refuses them. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_TERNARY_H
#define GEODEC_PERSPECTIVE_TERNARY_TERNARY_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum geodec_ternary_encoding { GEODEC_TERNARY_BASE3 = 1, GEODEC_TERNARY_BITS2 = 2 } geodec_ternary_encoding;

enum {
    GEODEC_TERNARY_BLOCK = 64,        /* bytes of a block */
    GEODEC_TERNARY_COLUMNS = 1 << 18, /* limits: sums of products fit in int32 */
    GEODEC_TERNARY_ROWS = 1 << 24
};

/* A matrix. Row o is at data + o row bytes. */
typedef struct geodec_ternary_matrix {
    int encoding; /* geodec_ternary_encoding */
    int64_t rows, cols;
    const uint8_t *data;
    float scale;            /* of the matrix, where row_scale is NULL */
    const float *row_scale; /* [rows], or NULL */
} geodec_ternary_matrix;

/* "base3", "bits2"; "?" for another number. */
const char *geodec_ternary_name(int encoding);
/* Columns of a block (320, 256) and bytes of a row of `cols` columns. 0 for another encoding. */
int64_t geodec_ternary_block(int encoding);
int64_t geodec_ternary_row_bytes(int encoding, int64_t cols);
/* GEODEC_INVAL (encoding), GEODEC_LIMIT (rows or columns outside 1 .. the limits). */
geodec_status geodec_ternary_shape(int encoding, int64_t rows, int64_t cols, geodec_err *err) GEODEC_MUST_USE;

/* ---- packing ---------------------------------------------------------------------------------------------------- */

/* The byte of v = 0 .. 242, and the v of any byte: floor(243 byte / 256), the inverse on codes. */
static inline uint8_t geodec_ternary_byte(int v) { return (uint8_t)((256 * v + 242) / 243); }
static inline int geodec_ternary_digits(uint8_t byte) { return 243 * byte >> 8; }

/* One row of trits t [cols], each -1, 0 or 1, to and from its bytes. */
void geodec_ternary_pack(int encoding, const int8_t *t, int64_t cols, uint8_t *row);
void geodec_ternary_unpack(int encoding, const uint8_t *row, int64_t cols, int8_t *t);
/* Counts the weights that are not zero, and checks that every byte is a code and that columns beyond the last are zero.
 * GEODEC_FORMAT names the row and the column. */
geodec_status geodec_ternary_check(const geodec_ternary_matrix *m, int64_t *nonzeros, geodec_err *err) GEODEC_MUST_USE;
/* The code of a column of a row, and its replacement (0, 1 or 2). */
int geodec_ternary_get(int encoding, const uint8_t *row, int64_t col);
void geodec_ternary_put(int encoding, uint8_t *row, int64_t col, int code);

/* Adds a row w [cols] of weights that are exactly -s, 0 or s: its trits, and s. *scale is 0 until a weight is not zero,
 * then all of them must have that s. Returns the column of the first weight that does not, -1: none. */
int64_t geodec_ternary_collect(const float *w, int64_t cols, float *scale, int8_t *t);

#endif
