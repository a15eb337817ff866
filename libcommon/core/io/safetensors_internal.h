/* Internal: shared by the reader and the writer of safetensors files. */
#ifndef GEODEC_IO_SAFETENSORS_INTERNAL_H
#define GEODEC_IO_SAFETENSORS_INTERNAL_H

#include "io/safetensors.h"

typedef struct geodec__safetensor_place {
    geodec_safetensor t;
    int64_t begin, bytes; /* bytes after the header */
} geodec__safetensor_place;

/* "F32"; NULL for a type that the format does not have. */
const char *geodec__safetensors_dtype(geodec_type t);
/* Bytes of a tensor: GEODEC_FORMAT for a bad type, rank or shape, GEODEC_LIMIT for an overflow. */
geodec_status geodec__safetensors_size(const geodec_safetensor *t, int64_t *bytes, geodec_err *err) GEODEC_MUST_USE;

#endif
