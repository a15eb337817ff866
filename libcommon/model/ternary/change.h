/* The changes between two ternary matrices of one shape and encoding, as a stream that serves both directions.
 *
 * Weights are counted in the order of rows and columns, without padding. For each weight that differs: the gap is the
 * number of equal weights since the change before (or since the first weight); m = 0 or 1 with
 *   code of B = (code of A + 1 + m) mod 3,   code of A = (code of B - 1 - m) mod 3
 * and the symbol 2 gap + m is written with 7 bits a byte, the lowest first; the last byte has its highest bit clear,
 * and is not zero unless it is the only one. So there is one stream for each pair of matrices. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_CHANGE_H
#define GEODEC_PERSPECTIVE_TERNARY_CHANGE_H

#include "ternary/ternary.h"

/* Bytes of the stream from a to b, and the number of changes. out: room for these bytes, or NULL (only counts). Both
 * matrices have the same encoding, rows and columns, and are such as geodec_ternary_check accepts; rows cols < 2^32.
 * GEODEC_INVAL, GEODEC_NOMEM. */
geodec_status geodec_change_encode(const geodec_ternary_matrix *a, const geodec_ternary_matrix *b, uint8_t *out,
                                   int64_t *bytes, int64_t *changes, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_change_stream {
    const uint8_t *data;
    int64_t bytes;   /* that may be read */
    int64_t changes; /* that are in them */
} geodec_change_stream;

/* Applies a stream to the rows of a matrix in place: A becomes B with to_b, else B becomes A. *used: bytes of the
 * stream. GEODEC_FORMAT: the stream ends early, a symbol is longer than it must be, or a change lies outside the
 * matrix; earlier changes are then in place, and the matrix must not be used. Nothing outside the rows is written,
 * whatever the stream. */
geodec_status geodec_change_apply(int encoding, int64_t rows, int64_t cols, const geodec_change_stream *s, bool to_b,
                                  uint8_t *data, int64_t *used, geodec_err *err) GEODEC_MUST_USE;

/* For independent changes with probability p (0 < p < 1), a weight: the entropy H(p) + p in bits (which weight changes,
 * and one of two new values), and the expected bytes of this code, p (1 + sum_k>=1 (1-p)^(64 128^(k-1))), because a
 * symbol has more than k bytes if its gap is at least 64 128^(k-1). */
double geodec_change_floor(double p);
double geodec_change_bytes(double p);

#endif
