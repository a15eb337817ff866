#include "base/finite.h"

#include <math.h>
#include <string.h>

enum { GROUP = 64 };

/* With the sign cleared, adding one to the exponent carries into the sign bit exactly when all bits of the exponent are
 * set. */
int64_t geodec_finite_first_not_f32(const float *x, int64_t n)
{
    int64_t i = 0;
    for (; i + GROUP <= n; i += GROUP) {
        uint32_t u[GROUP], carry[4] = {0};
        memcpy(u, x + i, sizeof u);
        for (int k = 0; k < GROUP; k += 4)
            for (int l = 0; l < 4; l++) carry[l] |= (u[k + l] & 0x7fffffffu) + 0x00800000u;
        if ((carry[0] | carry[1] | carry[2] | carry[3]) >> 31) break;
    }
    for (; i < n; i++)
        if (!isfinite(x[i])) return i;
    return -1;
}

int64_t geodec_finite_first_not_f16(const uint16_t *x, int64_t n)
{
    int64_t i = 0;
    for (; i + GROUP <= n; i += GROUP) {
        uint16_t carry[8] = {0};
        for (int k = 0; k < GROUP; k += 8)
            for (int l = 0; l < 8; l++) carry[l] = (uint16_t)(carry[l] | ((x[i + k + l] & 0x7fffu) + 0x0400u));
        uint16_t all = 0;
        for (int l = 0; l < 8; l++) all |= carry[l];
        if (all >> 15) break;
    }
    for (; i < n; i++)
        if ((x[i] & 0x7c00u) == 0x7c00u) return i;
    return -1;
}
