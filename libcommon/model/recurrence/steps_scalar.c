/* Any CPU: the lanes are loops. */
#define PORTABLE
#include "base/simd_internal.h"
#include "recurrence/recurrence_internal.h"

static inline fvec power_of_two(fvec t)
{
    uint32_t bits[16];
    memcpy(bits, t.x, sizeof bits);
    for (int l = 0; l < 16; l++) bits[l] = (bits[l] + 127u) << 23;
    memcpy(t.x, bits, sizeof bits);
    return t;
}

static inline float total(fvec a)
{
    for (int width = 8; width > 0; width /= 2)
        for (int l = 0; l < width; l++) a.x[l] += a.x[l + width];
    return a.x[0];
}

#define VARIANT(name) name##_scalar
#include "recurrence/steps_body.h"

const geodec__recurrence *const geodec__recurrence_scalar = &steps_scalar;
