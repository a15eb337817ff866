/* Ternary matrices to and from the tensor types of GGUF, without loss.
 *
 * TQ1_0 and TQ2_0 have blocks of 256 weights d (c - 1) with a binary16 d; a matrix of GEODEC_GGML_Q4_0, blocks of 32
 * weights d (c - 8), is ternary if its codes are 7, 8 and 9. All blocks of a matrix (of a row, with row scales) must
 * have one d, apart from blocks of zeros. A matrix becomes such blocks if its scales are binary16 values and its rows
 * are whole blocks. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_CONVERT_H
#define GEODEC_PERSPECTIVE_TERNARY_CONVERT_H

#include "ternary/ternary.h"

/* src: rows of a tensor of this type, data: packed rows; scale: [1], or [rows] with by_row; of zeros alone the d of the
 * first block. GEODEC_UNSUPPORTED (type, columns, differing scales, a code beyond -1, 0, 1: names row and block),
 * GEODEC_NUMERIC (a scale is not finite), GEODEC_INVAL, GEODEC_LIMIT, GEODEC_NOMEM. */
geodec_status geodec_ternary_from_gguf(int type, const void *src, int64_t rows, int64_t cols, int encoding, bool by_row,
                                       uint8_t *data, float *scale, geodec_err *err) GEODEC_MUST_USE;
/* dst: rows of a tensor of this type. GEODEC_UNSUPPORTED (type, columns), GEODEC_RANGE (a scale is no binary16 value),
 * GEODEC_NOMEM. */
geodec_status geodec_ternary_to_gguf(const geodec_ternary_matrix *m, int type, void *dst,
                                     geodec_err *err) GEODEC_MUST_USE;

/* The published reference's format: rows of ceil(cols / 5) bytes, byte = sum_i digit_i 3^i, digits 0, 1, 2 for -1,
 * 0, 1. Digits beyond the last column are not looked at. GEODEC_FORMAT: a byte above 242. */
geodec_status geodec_ternary_from_digits(const uint8_t *src, int64_t rows, int64_t cols, int encoding, uint8_t *data,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
