/* The H63 block of the paper, 28 + 31 + 4 bytes for 128 values. For the record, not for use: 80 of the 154 coefficients
 * are stored nowhere, so half of the energy is lost whatever the calibration.
 *
 * A vector is padded with its mean from 128 to 154 values and transformed (vht2.h). Of the coefficients the block keeps
 * a skeleton S of 14, and the residual R, those 60 with mu(i + 1) = 0, as differences from a prediction W S:
 *
 *   0..27   the skeleton in fp16, ascending index
 *   28..50  60 levels of 3 bits, least significant first
 *   51..58  60 phases of 1 bit
 *   59..62  amax, fp32
 *
 * pred = W s with the decoded fp16 values, d = c - pred, amax = max |d|; level = floor(7 |d| / amax + 1/2), phase = d <
 * 0 and level > 0; decoded c = pred +- level amax / 7. Second reading (`reading`): the phase is the sign of the
 * prediction, the level a mid-rise code of d over +-3 amax, and amax the mean of |d|. All sums in double.
 *
 * Other head dimensions have the same shares: pad = the least length of VHT2 that is at least 154/128 dim, 14/128 dim
 * skeleton values (rounded). */
#ifndef GEODEC_INTEGER_CODES_BLOCK_H63_H
#define GEODEC_INTEGER_CODES_BLOCK_H63_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_BLOCK_H63_DIM_MAX = 256 };

/* Numbers are those of files. */
typedef enum geodec_block_h63_reading {
    GEODEC_BLOCK_H63_MAGNITUDE,
    GEODEC_BLOCK_H63_PREDICTION,
    GEODEC_BLOCK_H63_READINGS
} geodec_block_h63_reading;

typedef struct geodec_block_h63 {
    int32_t dim, pad, n_skeleton, n_residual;
    geodec_block_h63_reading reading;
    int32_t *skeleton, *residual; /* ascending indices of coefficients */
    uint16_t *w;                  /* [n_residual][n_skeleton] fp16 */
} geodec_block_h63;

/* The residual's indices, the first squarefree ones as the skeleton, W = 0. GEODEC_RANGE: 8 <= dim <= 256. */
geodec_status geodec_block_h63_create(int64_t dim, geodec_block_h63_reading reading, geodec_block_h63 *h,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_block_h63_clear(geodec_block_h63 *h);
/* The skeleton with the largest mean squares over n vectors x [n][dim], and W by ridge regression X'X + 1e-4 n I. */
geodec_status geodec_block_h63_fit(geodec_block_h63 *h, int64_t n, const float *x, geodec_err *err) GEODEC_MUST_USE;
int64_t geodec_block_h63_bytes(const geodec_block_h63 *h);
/* A vector's coefficients [pad] and back. */
void geodec_block_h63_transform(const geodec_block_h63 *h, const float *x, float *coefficient);
void geodec_block_h63_restore(const geodec_block_h63 *h, const float *coefficient, float *x);
/* coefficient [pad] finite; skeleton values beyond fp16 are clipped. */
void geodec_block_h63_encode(const geodec_block_h63 *h, const float *coefficient, uint8_t *block);
/* The kept coefficients [pad], others 0, in double. */
void geodec_block_h63_decode(const geodec_block_h63 *h, const uint8_t *block, double *coefficient);

/* The header of a file of blocks: "GH63", version 1, reading, the id of the order behind the residual (mobius.h: mu1),
 * a zero byte, dim, pad, n_skeleton, n_residual as u16, both index lists as u16, W. Little-endian. */
int64_t geodec_block_h63_header_bytes(const geodec_block_h63 *h);
void geodec_block_h63_header_write(const geodec_block_h63 *h, uint8_t *header);
/* GEODEC_FORMAT: not such a header, or truncated. */
geodec_status geodec_block_h63_header_read(const uint8_t *header, int64_t n, geodec_block_h63 *h,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
