/* Vector conversions; private to the base folder. */
#ifndef GEODEC_BASE_F16_INTERNAL_H
#define GEODEC_BASE_F16_INTERNAL_H

#include <stdint.h>

/* Converts whole groups of eight; the result is bit for bit that of geodec_f32_to_f16. Returns the number of values
 * converted. */
int64_t geodec__f32_to_f16_avx2(const float *f, uint16_t *h, int64_t n);

#endif
