/* Finds NaN and infinity in arrays, without a branch per value. */
#ifndef GEODEC_BASE_FINITE_H
#define GEODEC_BASE_FINITE_H

#include "geodec/err.h"

#include <stdint.h>

/* Index of the first value that is NaN or infinite, or -1. f16: IEEE binary16. */
int64_t geodec_finite_first_not_f32(const float *x, int64_t n);
int64_t geodec_finite_first_not_f16(const uint16_t *x, int64_t n);

#endif
