/* The v1 container: 63 bytes with up to 55 values in int8.
 *
 *   0..3   scale, fp32: largest |x|, or 1 where all are zero
 *   4..6   exponent, basis and a reserved byte, all 0
 *   7..61  code i at 7 + 17 i mod 55: round(127 (x / scale)), halves away from zero, quotient and product in float32
 *   62     CRC-8 (polynomial 0x07, initial 0, not reflected) of bytes 0..61
 *
 * Longer vectors are ceil(k / 55) blocks of contiguous values, balanced, larger ones first (128 = 43 + 43 + 42). */
#ifndef GEODEC_INTEGER_CODES_BLOCK_V1_H
#define GEODEC_INTEGER_CODES_BLOCK_V1_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_BLOCK_V1_BYTES = 63, GEODEC_BLOCK_V1_CODES = 55 };

uint8_t geodec_block_v1_crc8(const uint8_t *bytes, int64_t n);
/* x [k] finite, 1 <= k <= 55. */
void geodec_block_v1_encode(const float *x, int64_t k, uint8_t block[GEODEC_BLOCK_V1_BYTES]);
/* GEODEC_CHECKSUM; GEODEC_FORMAT: an exponent, basis or reserved byte that is not 0, a scale that is not positive and
 * finite, a code beside the k ones that is not 0. */
geodec_status geodec_block_v1_decode(const uint8_t block[GEODEC_BLOCK_V1_BYTES], int64_t k, float *x,
                                     geodec_err *err) GEODEC_MUST_USE;

/* Vectors of any length. Values of block i of a vector of n values: */
int64_t geodec_block_v1_blocks(int64_t n);
int64_t geodec_block_v1_split(int64_t n, int64_t i);
void geodec_block_v1_encode_vector(const float *x, int64_t n, uint8_t *blocks);
geodec_status geodec_block_v1_decode_vector(const uint8_t *blocks, int64_t n, float *x,
                                            geodec_err *err) GEODEC_MUST_USE;

#endif
