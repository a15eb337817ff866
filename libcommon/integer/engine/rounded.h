/* Activations of the integer engine: rows of 16-bit integers in blocks of 32, each with a shift of its own.
 *
 *     x = v 2^-(exponent + shift(block)),   |v| <= 32767,   0 <= shift <= 8
 *
 * The exponent follows from the largest magnitude of the row, the shift from that of the block, so a small block beside
 * a large one keeps its precision. Both depend on the row alone, never on its neighbours in a batch. */
#ifndef GEODEC_INTEGER_ENGINE_ROUNDED_H
#define GEODEC_INTEGER_ENGINE_ROUNDED_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_ROUNDED_SHIFT = 8 /* most of a block */ };

typedef struct geodec_rounded {
    int16_t *v;       /* [32 blocks], zeros behind the last column */
    uint8_t *up;      /* [blocks] 8 - shift */
    int32_t exponent; /* of the row */
} geodec_rounded;

/* y [n] in Q(unit) becomes a row; bits: of v without its sign, 15, or 7 for activations of one byte. */
GEODEC_API void geodec_rounded_of(const int64_t *y, int64_t n, int unit, int bits, geodec_rounded *out);

#endif
