/* Matrices of integers: what the integer engine multiplies by.
 *
 * A row is cut into blocks of 32 columns (the last one is filled with zeros). The weight at (r, c) is
 *     w = code(r, c) multiplier(r, c / 32) 2^-shift(r)
 * with codes of 4, 8 or 16 bits, multipliers of 16 bits with a sign, and one shift a row, chosen so that the largest
 * multiplier of the row has 15 bits (8 bits with codes of 16). From Q8_0 and Q4_0 the codes are those of the file, and
 * the multiplier of a block is exact while its scale has at most 4 binary orders less than the largest of the row. */
#ifndef GEODEC_INTEGER_ENGINE_CODED_H
#define GEODEC_INTEGER_ENGINE_CODED_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GEODEC_CODED_BLOCK = 32,          /* columns */
    GEODEC_CODED_COLS = 1 << 16,      /* most of a matrix: sums of products stay below 2^62 (rounded.h) */
    GEODEC_CODED_ROWS = 1 << 24,      /* most */
    GEODEC_CODED_MULTIPLIER = 15,     /* bits of the largest one of a row, without the sign */
    GEODEC_CODED_MULTIPLIER_WIDE = 8, /* with codes of 16 bits, so that sums stay in range */
    GEODEC_CODED_SHIFT = 1000         /* largest magnitude of a shift */
};

/* Row-major, as in a file. */
typedef struct geodec_coded {
    int64_t rows, cols;
    int bits;            /* 4, 8, 16 */
    const uint8_t *code; /* [rows][code_bytes]: two codes a byte, the even column in the low nibble; or int8; or int16,
                          * little-endian */
    const int16_t *multiplier; /* [rows][blocks] */
    const int16_t *shift;      /* [rows] */
} geodec_coded;

static inline int64_t geodec_coded_blocks(int64_t cols) { return (cols + GEODEC_CODED_BLOCK - 1) / GEODEC_CODED_BLOCK; }
/* Blocks in memory, where rows are filled to an even number of them. */
static inline int64_t geodec_coded_places(int64_t cols) { return (geodec_coded_blocks(cols) + 1) / 2 * 2; }
/* Bytes of the codes of a row: whole blocks. */
static inline int64_t geodec_coded_row_bytes(int64_t cols, int bits) { return geodec_coded_blocks(cols) * 4 * bits; }

/* One row from values [cols], finite; bits 4, 8 or 16: the scale of a block is its largest magnitude over 127 (or
 * 32767, or that value over -8), its multiplier is rounded away from zero, codes half away from zero. Uses floats:
 * conversion happens once. */
void geodec_coded_row(const float *x, int64_t cols, int bits, uint8_t *code, int16_t *multiplier, int16_t *shift);
/* One row from given scales [blocks] and codes [32 blocks]. */
void geodec_coded_row_of(const double *scale, const int8_t *value, int64_t cols, int bits, uint8_t *code,
                         int16_t *multiplier, int16_t *shift);

/* Memory for the codes of many matrices, one behind the other: products prefetch beyond the end of one. NULL: none yet.
 */
typedef struct geodec_coded_area geodec_coded_area;
void geodec_coded_area_free(geodec_coded_area *a); /* NULL ok */

/* A coded matrix in panels of 16 rows, for products. */
typedef struct geodec_panels16 geodec_panels16;
/* area NULL: in memory of its own; else in an area, which is extended and must outlive the matrix. GEODEC_FORMAT: a
 * shift is out of range. GEODEC_LIMIT: too wide or high. */
geodec_status geodec_coded_pack_in(const geodec_coded *m, geodec_coded_area **area, geodec_panels16 **out,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Packing in two steps: geodec_coded_room, then geodec_coded_fill. A matrix of zeros (area NULL: in memory of
 * its own): GEODEC_LIMIT, GEODEC_NOMEM. */
geodec_status geodec_coded_room(int64_t rows, int64_t cols, int bits, geodec_coded_area **area, geodec_panels16 **out,
                                geodec_err *err) GEODEC_MUST_USE;
/* Rows first .. first + m->rows - 1 of p, whose columns and bits are those of m. Threads may fill parts at the same
 * time, each a multiple of 16 rows from its first one but the last part. GEODEC_FORMAT: a shift is out of range. */
geodec_status geodec_coded_fill(geodec_panels16 *p, int64_t first, const geodec_coded *m,
                                geodec_err *err) GEODEC_MUST_USE;
void geodec_coded_free(geodec_panels16 *p); /* NULL ok */
int64_t geodec_coded_bytes(const geodec_panels16 *p);
int64_t geodec_coded_rows(const geodec_panels16 *p);
int64_t geodec_coded_cols(const geodec_panels16 *p);
/* Row r in Q24: out [cols]. */
void geodec_coded_decode(const geodec_panels16 *p, int64_t r, int64_t *out);

#endif
