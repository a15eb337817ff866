/* What the other folders use beyond geodec/records.h. */
#ifndef GEODEC_RECORDS_RECORDS_H
#define GEODEC_RECORDS_RECORDS_H

#include "chain/activations.h"
#include "chain/propagators.h"
#include "chain/validity.h"
#include "geodec/records.h"
#include "records/compress.h"

extern const geodec_kind geodec_records_kind;

/* Position on record i at parameter t: x [n]. */
void geodec_records_x(const geodec_records *r, int64_t i, double t, double *x);

/* Bytes of the store's arrays, and of the same content uncompressed: every node, x, v and Phi in float32. */
int64_t geodec_records_bytes(const geodec_records *r);
int64_t geodec_records_bytes_plain(const geodec_records *r);

#endif
