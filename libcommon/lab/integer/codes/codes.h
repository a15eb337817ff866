/* Codes of vectors of keys or values: one table of kinds (codes.c). A kind turns `rows` consecutive vectors of one
 * dimension into a fixed number of bytes, all metadata of the vectors included; what a kind shares between vectors
 * (calibrated bases, distributions) is counted apart. Codes are immutable and may be shared between threads. The same
 * vectors and tables give the same bytes on every processor. */
#ifndef GEODEC_INTEGER_CODES_CODES_H
#define GEODEC_INTEGER_CODES_CODES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_CODES_DIM_MAX = 256, GEODEC_CODES_ROWS_MAX = 32 };

typedef struct geodec_codes geodec_codes;               /* a kind for a dimension, with its shared tables */
typedef struct geodec_codes_method geodec_codes_method; /* codes_internal.h */

typedef struct geodec_codes_kind {
    const char *name, *about;
    const char *value; /* the kind for values beside these keys; NULL: the same */
    bool calibrated;   /* needs vectors to fit its tables */
    const geodec_codes_method *method;
    int32_t parameter; /* of the method */
} geodec_codes_kind;

/* Row i of the table, from 0; NULL after the last one. */
const geodec_codes_kind *geodec_codes_at(int i);
const geodec_codes_kind *geodec_codes_named(const char *name);
/* Vectors coded together. */
int32_t geodec_codes_rows(const geodec_codes_kind *k);
/* Bytes of that many vectors; 0: no such dimension. */
int64_t geodec_codes_bytes(const geodec_codes_kind *k, int64_t dim);
/* Bytes of a vector in all codes with 63 bytes for 128 values: floor(63 dim / 128), at least 2. */
int64_t geodec_codes_budget(int64_t dim);

typedef struct geodec_codes_sample {
    int64_t n;
    const float *x;       /* [n][dim] calibration vectors */
    const double *metric; /* [dim][dim] symmetric positive definite: the error e counts as e^T metric e; NULL: |e|^2 */
} geodec_codes_sample;

/* GEODEC_RANGE (dimension), GEODEC_SCARCE (a calibrated kind with fewer than 2 vectors), GEODEC_NUMERIC. */
geodec_status geodec_codes_create(const geodec_codes_kind *k, int64_t dim, const geodec_codes_sample *sample,
                                  geodec_codes **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_codes_destroy(geodec_codes *c); /* NULL ok */
const geodec_codes_kind *geodec_codes_kind_of(const geodec_codes *c);
/* Bytes of the tables that all vectors share. */
int64_t geodec_codes_shared(const geodec_codes *c);
/* x [rows][dim] finite; bytes [geodec_codes_bytes]. */
void geodec_codes_encode(const geodec_codes *c, const float *x, uint8_t *bytes);
/* GEODEC_CHECKSUM, GEODEC_FORMAT: of kinds whose bytes can be wrong. */
geodec_status geodec_codes_decode(const geodec_codes *c, const uint8_t *bytes, float *x,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
