/* IEEE 754 binary16 and bfloat16, exact reference conversions (round to nearest even; NaN stays NaN). */
#ifndef GEODEC_BASE_F16_H
#define GEODEC_BASE_F16_H

#include "geodec/err.h"

#include <stdint.h>

float geodec_f16_to_f32(uint16_t h);
uint16_t geodec_f32_to_f16(float f);
/* Converts n values as geodec_f32_to_f16 does one, with the processor's conversion instruction if it has one. */
void geodec_f32_to_f16_n(const float *f, uint16_t *h, int64_t n);
float geodec_bf16_to_f32(uint16_t b);
uint16_t geodec_f32_to_bf16(float f);

#endif
