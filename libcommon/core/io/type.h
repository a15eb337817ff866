/* Types of the numbers in files. */
#ifndef GEODEC_IO_TYPE_H
#define GEODEC_IO_TYPE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef enum geodec_type {
    GEODEC_F64,
    GEODEC_F32,
    GEODEC_F16, /* uint16_t in memory and on disk, attribute encoding = "ieee-binary16" */
    GEODEC_I64,
    GEODEC_I32,
    GEODEC_I16,
    GEODEC_I8,
    GEODEC_U64,
    GEODEC_U32,
    GEODEC_U16,
    GEODEC_U8,
    GEODEC_BF16, /* uint16_t in memory; of safetensors files only */
} geodec_type;
size_t geodec_type_size(geodec_type t);      /* bytes; 0 for an unknown one */
const char *geodec_type_name(geodec_type t); /* "f64", ..; "?" for an unknown one */

/* Limits of a text and of all numbers of a dataset, checked before memory is allocated. */
enum { GEODEC_ATTR_TEXT_MAX = 32768 };
#define GEODEC_FIELD_BYTES_MAX ((int64_t)64 << 30)

#endif
