/* Banded quantisation: coefficients in bands of floor(n / bands), the last with the rest. A band is an fp16 scale =
 * largest / (2^(b-1) - 1), rounded to nearest even, then its codes round(x / scale) + 2^(b-1) - 1 of b bits, least
 * significant first, padded to a byte. Halves are rounded away from zero. */
#ifndef GEODEC_INTEGER_CODES_BAND_H
#define GEODEC_INTEGER_CODES_BAND_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_BAND_MAX = 16 };

typedef struct geodec_band_layout {
    int64_t n;                     /* coefficients */
    int32_t bands;                 /* 1 .. GEODEC_BAND_MAX, at most n */
    uint8_t bits[GEODEC_BAND_MAX]; /* 2 .. 8 */
} geodec_band_layout;

/* GEODEC_RANGE. */
geodec_status geodec_band_check(const geodec_band_layout *l, geodec_err *err) GEODEC_MUST_USE;
/* Bytes of n coefficients. */
int64_t geodec_band_bytes(const geodec_band_layout *l);
/* x [n] finite; a band beyond the range of fp16 is clipped there. */
void geodec_band_encode(const geodec_band_layout *l, const float *x, uint8_t *bytes);
void geodec_band_decode(const geodec_band_layout *l, const uint8_t *bytes, float *x);

#endif
