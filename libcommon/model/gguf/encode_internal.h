/* Fits shared by the encoders. An encoder minimises the squared error of the decoded values; without `search` it only
 * rounds to the nearest level of the scale that the block's extremes give: the control.
 *
 * Every encoder works on one block alone in a fixed order of float32 operations, so its bytes depend neither on threads
 * nor on the machine. Input is finite and below the type's limit (gguf.h). */
#ifndef GEODEC_GGUF_ENCODE_INTERNAL_H
#define GEODEC_GGUF_ENCODE_INTERNAL_H

#include "gguf/types_internal.h"

#include <stdbool.h>
#include <string.h>

/* The nearest integer from lo to hi. Adding 1.5 2^23 removes the fraction; ties go to even. */
static inline float geodec__level(float v, float lo, float hi)
{
    v = v < lo ? lo : v > hi ? hi : v;
    return (v + 12582912.0f) - 12582912.0f;
}

/* Four values at once, for the slow loops. Sums have four parts, added at the end in a fixed order. */
typedef float geodec__v4 __attribute__((vector_size(16)));
typedef int32_t geodec__i4 __attribute__((vector_size(16)));

static inline geodec__v4 geodec__v4_load(const float *p)
{
    geodec__v4 v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline geodec__v4 geodec__v4_set(float v) { return (geodec__v4){v, v, v, v}; }
static inline geodec__v4 geodec__v4_select(geodec__i4 mask, geodec__v4 a, geodec__v4 b)
{
    return (geodec__v4)((mask & (geodec__i4)a) | (~mask & (geodec__i4)b));
}
static inline geodec__v4 geodec__v4_level(geodec__v4 v, geodec__v4 lo, geodec__v4 hi)
{
    const geodec__v4 magic = geodec__v4_set(12582912.0f);
    v = geodec__v4_select(v < lo, lo, v);
    v = geodec__v4_select(v > hi, hi, v);
    return (v + magic) - magic;
}
static inline float geodec__v4_sum(geodec__v4 v) { return (v[0] + v[1]) + (v[2] + v[3]); }

/* 1 / scale, 0 for a scale so small that this overflows. */
static inline float geodec__inverse(float scale)
{
    const float inverse = 1.0f / scale;
    return inverse - inverse == 0 ? inverse : 0.0f;
}

/* The two encoders of a type from one call, which uses src, dst, n and search. */
#define GEODEC__ENCODERS(name, call)                                                                                   \
    void geodec__encode_##name(const float *src, void *dst, int64_t n)                                                 \
    {                                                                                                                  \
        const bool search = true;                                                                                      \
        call;                                                                                                          \
    }                                                                                                                  \
    void geodec__encode_nearest_##name(const float *src, void *dst, int64_t n)                                         \
    {                                                                                                                  \
        const bool search = false;                                                                                     \
        call;                                                                                                          \
    }

/* The scale a (either sign) that minimises sum (x[i] - a q[i])^2 over levels q = -top .. top-1, over a grid of starting
 * scales about largest / top with one least-squares step each. 0 for zeros. n is 16 or 32. */
float geodec__encode_fit_scale(const float *x, int n, int top, bool search);

/* Scale a >= 0 and minimum b of a q - b for q = 0 .. top, likewise; b >= 0 unless any_sign. */
void geodec__encode_fit_affine(const float *x, int n, int top, bool search, bool any_sign, float *a, float *b);

#endif
