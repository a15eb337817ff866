/* Fused multiply-add of float32 without the hardware instruction, correctly rounded. */
#ifndef GEODEC_MODEL_KERNELS_FMA32_INTERNAL_H
#define GEODEC_MODEL_KERNELS_FMA32_INTERNAL_H

#include <stdint.h>
#include <string.h>

/* The product is exact in double. The sum is rounded to odd there (Boldo and Melquiond 2008): when it is not exact and
 * its last bit is even, the neighbour on the side of the error is taken; then rounding to float is the only rounding.
 */
static inline float geodec__fma32(float a, float b, float c)
{
    const double p = (double)a * (double)b, z = (double)c, s = p + z;
    const double zz = s - p, error = (p - (s - zz)) + (z - zz); /* Knuth's exact error of p + z */
    uint64_t u;
    double odd;
    memcpy(&u, &s, sizeof u);
    if ((error > 0 || error < 0) && !(u & 1u)) u += (error > 0) == (s > 0) ? 1u : UINT64_MAX;
    memcpy(&odd, &u, sizeof odd);
    return (float)odd;
}

#endif
