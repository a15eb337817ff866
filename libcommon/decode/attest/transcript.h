/* Transcripts: the exact sums of all products of a run, next to its record (attest.h).
 *
 * The file begins with "GDTRANS1" and the first link of the record (32 bytes). For each token of the prompt and each
 * output but the last follow
 *
 *     8 bytes   size of what follows
 *     4 bytes   number P of products
 *     2 P       bits and zeros of each product, in the order of the pass
 *     ...       the sums of each product, from a whole byte on: two's complement, lowest bits first, then zeros
 *
 * Numbers are little-endian. A sum is the number times 2^zeros. 1 <= bits <= 57 and bits + zeros <= 59, so that no sum
 * is above 2^58 in magnitude; bits 0: the sums are left out, and whoever reads computes them. A token takes
 * 12 + 2 P + (the sum over its products of rows x bits / 8) bytes. */
#ifndef GEODEC_INTEGER_ATTEST_TRANSCRIPT_H
#define GEODEC_INTEGER_ATTEST_TRANSCRIPT_H

#include "base/sha256.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GEODEC_TRANSCRIPT_BINDING = 32, /* bytes */
    GEODEC_TRANSCRIPT_BITS = 57,    /* most of a sum in the file */
    GEODEC_TRANSCRIPT_RANGE = 59    /* most of a sum, with its zeros */
};

typedef struct geodec_transcript_sums {
    const uint8_t *packed; /* [(n bits + 7) / 8] */
    int bits, zeros;       /* bits 0: left out */
} geodec_transcript_sums;
/* Bits and zeros of acc [n]; bits 0 if they do not fit. */
void geodec_transcript_measure(const int64_t *acc, int64_t n, geodec_transcript_sums *out);
void geodec_transcript_pack(const int64_t *acc, int64_t n, int bits, int zeros, uint8_t *packed);
void geodec_transcript_unpack(const geodec_transcript_sums *s, int64_t n, int64_t *acc);
static inline int64_t geodec_transcript_bytes(int64_t n, int bits) { return (n * bits + 7) / 8; }

/* The sums from number `begin` on, a multiple of 8. */
static inline geodec_transcript_sums geodec_transcript_part(const geodec_transcript_sums *s, int64_t begin)
{
    return (geodec_transcript_sums){s->packed + begin / 8 * s->bits, s->bits, s->zeros};
}

/* ---- writing ---- */

typedef struct geodec_transcript_writer geodec_transcript_writer;
/* rows: most of a pass. The file comes into place at the end. */
geodec_status geodec_transcript_create(const char *path, const uint8_t binding[GEODEC_TRANSCRIPT_BINDING], int32_t rows,
                                       geodec_transcript_writer **out, geodec_err *err) GEODEC_MUST_USE;
/* Appends a product of a row of the current pass; acc NULL: left out. False: no memory; then flush fails. */
bool geodec_transcript_add(geodec_transcript_writer *w, int32_t row, const int64_t *acc, int64_t n);
/* Writes the first n rows of the pass, and begins the next one. */
geodec_status geodec_transcript_flush(geodec_transcript_writer *w, int32_t n, geodec_err *err) GEODEC_MUST_USE;
/* Puts the file in place; its size and digest. */
geodec_status geodec_transcript_commit(geodec_transcript_writer *w, int64_t *size, char digest[GEODEC_SHA256_HEX],
                                       geodec_err *err) GEODEC_MUST_USE;
void geodec_transcript_abandon(geodec_transcript_writer *w); /* NULL ok; also after commit */

/* ---- reading ---- */

typedef struct geodec_transcript geodec_transcript;
/* GEODEC_FORMAT: no transcript. rows: most of a pass. */
geodec_status geodec_transcript_open(const char *path, int32_t rows, geodec_transcript **out,
                                     geodec_err *err) GEODEC_MUST_USE;
void geodec_transcript_close(geodec_transcript *t); /* NULL ok */
int64_t geodec_transcript_size(const geodec_transcript *t);
/* [GEODEC_TRANSCRIPT_BINDING] */
const uint8_t *geodec_transcript_binding(const geodec_transcript *t);
/* The next n tokens become rows 0 to n - 1. GEODEC_FORMAT: the file has no n more. */
geodec_status geodec_transcript_pass(geodec_transcript *t, int32_t n, geodec_err *err) GEODEC_MUST_USE;
/* The next product of a row, of n sums, valid until the file is closed. False: there is no such product. */
bool geodec_transcript_next(geodec_transcript *t, int32_t row, int64_t n, geodec_transcript_sums *out);
/* Products of a row that were not read. */
int64_t geodec_transcript_left(const geodec_transcript *t, int32_t row);
/* Whether the last token has been read. */
bool geodec_transcript_ended(const geodec_transcript *t);

#endif
