/* Fits shared by the encoders. An encoder looks for the block that minimises the squared error of the decoded values;
 * with `search` false it only rounds to the nearest level under the scale that the block's extremes give: the control.
 *
 * Every encoder works on one block alone in a fixed order of float32 operations, so its bytes do not depend on threads
 * or on the machine. Input is finite and below the type's limit (gguf.h). */
#ifndef GEODEC_GGUF_ENCODE_INTERNAL_H
#define GEODEC_GGUF_ENCODE_INTERNAL_H

#include "gguf/types_internal.h"

#include <stdbool.h>

/* The nearest integer from lo to hi. Adding 1.5 2^23 leaves no bits for a fraction: ties go to even. */
static inline float geodec__level(float v, float lo, float hi)
{
    v = v < lo ? lo : v > hi ? hi : v;
    return (v + 12582912.0f) - 12582912.0f;
}

/* 1 / scale, 0 for a scale so small that this overflows. */
static inline float geodec__inverse(float scale)
{
    const float inverse = 1.0f / scale;
    return inverse - inverse == 0 ? inverse : 0.0f;
}

/* The scale a (either sign) that minimises sum (x[i] - a q[i])^2 over levels q = -top .. top-1, over a grid of starting
 * scales about largest / top with one least-squares step each. 0 for zeros. n <= 32. */
float geodec__fit_scale(const float *x, int n, int top, bool search);

/* Scale a >= 0 and minimum b of a q - b for q = 0 .. top, likewise; b >= 0 unless any_sign. */
void geodec__fit_affine(const float *x, int n, int top, bool search, bool any_sign, float *a, float *b);

#endif
