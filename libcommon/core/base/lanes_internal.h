/* Internal: four floats side by side, for loops that must not depend on what a compiler vectorises. Every operation is
 * elementwise, so the bits are the same on every machine. */
#ifndef GEODEC_BASE_LANES_INTERNAL_H
#define GEODEC_BASE_LANES_INTERNAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { GEODEC__LANES = 4 };
typedef float geodec__lanes __attribute__((vector_size(16)));
typedef int32_t geodec__lanes_int __attribute__((vector_size(16)));

static inline geodec__lanes geodec__lanes_of(float x) { return (geodec__lanes){x, x, x, x}; }

/* The first n values of x, the others zero. */
static inline geodec__lanes geodec__lanes_load(const float *x, int64_t n)
{
    geodec__lanes v = {0};
    if (n >= GEODEC__LANES)
        memcpy(&v, x, sizeof v);
    else
        for (int64_t i = 0; i < n; i++) v[i] = x[i];
    return v;
}

static inline void geodec__lanes_store(geodec__lanes v, float *x, int64_t n)
{
    if (n >= GEODEC__LANES)
        memcpy(x, &v, sizeof v);
    else
        for (int64_t i = 0; i < n; i++) x[i] = v[i];
}

/* a where the mask is set (a comparison), else b. */
static inline geodec__lanes geodec__lanes_choose(geodec__lanes_int mask, geodec__lanes a, geodec__lanes b)
{
    return (geodec__lanes)(((geodec__lanes_int)a & mask) | ((geodec__lanes_int)b & ~mask));
}

/* The second value if one is not a number. */
static inline geodec__lanes geodec__lanes_max(geodec__lanes a, geodec__lanes b)
{
    return geodec__lanes_choose(a > b, a, b);
}
static inline geodec__lanes geodec__lanes_min(geodec__lanes a, geodec__lanes b)
{
    return geodec__lanes_choose(a < b, a, b);
}

static inline geodec__lanes geodec__lanes_sqrt(geodec__lanes a)
{
    for (int i = 0; i < GEODEC__LANES; i++) a[i] = sqrtf(a[i]);
    return a;
}

static inline float geodec__lanes_sum(geodec__lanes a) { return (a[0] + a[2]) + (a[1] + a[3]); }
static inline float geodec__lanes_top(geodec__lanes a)
{
    const float x = a[0] > a[1] ? a[0] : a[1], y = a[2] > a[3] ? a[2] : a[3];
    return x > y ? x : y;
}

/* e^x for x in -80 .. 80, relative error below 2 ulp (Cephes expf, Moshier). */
static inline geodec__lanes geodec__lanes_exp(geodec__lanes x)
{
    const geodec__lanes shifted = x * 1.44269504F + 12582912.0F; /* 1.5 2^23: its lowest bits are the integer n */
    const geodec__lanes n = shifted - 12582912.0F, r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
    geodec__lanes p = r * 1.9875691500e-4F + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r + 1;
    return p * (geodec__lanes)(((geodec__lanes_int)shifted + 127) << 23);
}

#endif
