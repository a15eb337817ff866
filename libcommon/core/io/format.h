/* Numbers as the shortest text that reads back as the same value. LC_NUMERIC must be "C" (tools set it). */
#ifndef GEODEC_IO_FORMAT_H
#define GEODEC_IO_FORMAT_H

#include "base/err.h"
#include "io/type.h"

enum { GEODEC_FORMAT_ROOM = 32 };

/* "0.1", "1e-300", "nan", "inf", "-inf". Return buf. */
const char *geodec_format_f64(double v, char buf[GEODEC_FORMAT_ROOM]);
const char *geodec_format_f32(float v, char buf[GEODEC_FORMAT_ROOM]);
/* Element i of an array of type t as exact text. */
const char *geodec_format_element(geodec_type t, const void *data, int64_t i, char buf[GEODEC_FORMAT_ROOM]);
/* Element i of an array of type t as a number; 64-bit integers beyond 2^53 are rounded. */
double geodec_format_element_f64(geodec_type t, const void *data, int64_t i);

#endif
