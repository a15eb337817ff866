/* Activations of the integer engine: rows of 16-bit integers in blocks of 32, each with a shift of its own.
 *
 *     x = v 2^-(exponent + shift(block)),   |v| < 0.9922 2^bits,   0 <= shift <= 8
 *
 * The exponent follows from the largest magnitude of the row, the shift from that of the block, so a small block beside
 * a large one keeps its precision. Both depend on the row alone, never on its neighbours in a batch. The bound below
 * 2^bits makes v = 256 high + low with two signed bytes, which is how products with bytes read it. */
#ifndef GEODEC_INTEGER_ENGINE_ROUNDED_H
#define GEODEC_INTEGER_ENGINE_ROUNDED_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_ROUNDED_SHIFT = 8 /* most of a block */ };

/* One block in every form that products read. */
typedef struct geodec_rounded_block {
    int16_t v[32];       /* zeros behind the last column */
    int8_t digit[2][32]; /* low, high */
    int32_t start[2];    /* -8 and -128 times the sum of v: takes the offset of unsigned codes off */
    int32_t up;          /* 8 - shift */
    int32_t unused;
} geodec_rounded_block;

typedef struct geodec_rounded {
    geodec_rounded_block *block; /* [geodec_coded_places(n)] */
    int32_t exponent;            /* of the row */
    int32_t n_digits;            /* 1: high is zero */
} geodec_rounded;

/* y [n] in Q(unit) becomes a row; bits: of v without its sign, 15, or 7 for activations of one byte. */
void geodec_rounded_of(const int64_t *y, int64_t n, int unit, int bits, geodec_rounded *out);
/* Digits and starts from v, |v| <= 32639. */
void geodec_rounded_split(geodec_rounded *x, int64_t n);

#endif
