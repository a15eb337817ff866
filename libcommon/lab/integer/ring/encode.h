/* Real numbers as ring elements with b = 0, and back.
 *
 * A step is 2^e, e the smallest integer with max |w| f <= (2^q_max - 1) 2^e; a = round-half-away(w f / 2^e). The factor
 * f = num / den is 1 except in tests of the cancellation theorem and in the shim (shim.h). All of it is integer
 * arithmetic on the bits of w, so every machine gives the same codes; with f = 1, decoding errs by at most half a step.
 */
#ifndef GEODEC_INTEGER_RING_ENCODE_H
#define GEODEC_INTEGER_RING_ENCODE_H

#include "lab/integer/ring/ring.h"

enum {
    GEODEC_RING_ENCODE_BITS = 62, /* largest q_max */
    GEODEC_RING_ENCODE_F16_EXPONENT = -24,
};
/* Largest num and den of a factor: with a weight's 24 bits their products fit in 62. */
#define GEODEC_RING_ENCODE_FACTOR_MAX ((int64_t)1 << 38)

/* The value of code a is a 2^exponent den / num. */
typedef struct geodec_ring_scale {
    int64_t num, den; /* positive, without a common divisor */
    int exponent;
} geodec_ring_scale;

/* Multiplies the factor by num / den. GEODEC_RANGE: a number outside 1 .. GEODEC_RING_ENCODE_FACTOR_MAX, before or
 * after. */
geodec_status geodec_ring_encode_factor(geodec_ring_scale *s, int64_t num, int64_t den,
                                        geodec_err *err) GEODEC_MUST_USE;

/* Encodes w [n] into x [n] with the factor of *s, and sets its exponent (0 for zeros alone). q_max 1 ..
 * GEODEC_RING_ENCODE_BITS. GEODEC_RANGE (q_max, n, factor), GEODEC_NUMERIC (NaN, infinity: names the index). */
geodec_status geodec_ring_encode(const float *w, int64_t n, int q_max, geodec_ring_scale *s, geodec_ring_element *x,
                                 geodec_err *err) GEODEC_MUST_USE;
/* The two halves of geodec_ring_encode: the exponent for all of w, then the codes of a part of it. */
geodec_status geodec_ring_encode_step(const float *w, int64_t n, int q_max, geodec_ring_scale *s,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_ring_encode_part(const float *w, int64_t n, const geodec_ring_scale *s, geodec_ring_element *x);
/* binary16 with the step 2^-24: without loss, |a| < 2^40. GEODEC_NUMERIC. */
geodec_status geodec_ring_encode_f16(const uint16_t *w, int64_t n, geodec_ring_scale *s, geodec_ring_element *x,
                                     geodec_err *err) GEODEC_MUST_USE;
/* The value of a code: exact while |a| < 2^53 with the factor 1, else rounded. */
double geodec_ring_encode_value(geodec_ring_scale s, int64_t a);
/* w [n] of x [n], b being 0 (GEODEC_INVAL: it is not). A value beyond float32 becomes infinite. */
geodec_status geodec_ring_encode_back(const geodec_ring_element *x, int64_t n, geodec_ring_scale s, float *w,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
