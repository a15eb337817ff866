#include "integer/engine/rounded.h"

#include "integer/engine/coded.h"
#include "integer/fixed/wide.h"

/* v 2^-s to the nearest, at most `most` in magnitude. */
static int16_t code(int64_t v, int s, int64_t most)
{
    const int64_t c = s > 0 ? s > 62 ? 0 : (v + ((int64_t)1 << (s - 1))) >> s : (int64_t)((uint64_t)v << -s);
    return (int16_t)(c > most ? most : c < -most ? -most : c);
}

void geodec_rounded_of(const int64_t *y, int64_t n, int unit, int bits, geodec_rounded *out)
{
    const int64_t blocks = geodec_coded_blocks(n), limit = (int64_t)1 << 61, most = ((int64_t)1 << bits) - 1;
    uint64_t all = 0; /* the complement of a negative number has as many bits as its magnitude, or one less for a power
                         of two, which is then cut to `most` */
    for (int64_t i = 0; i < n; i++) all |= (uint64_t)(y[i] < 0 ? -(y[i] + 1) : y[i]);
    const int top = geodec_wide_bits((int64_t)all);
    out->exponent = unit - (top - bits);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t *at = y + b * GEODEC_CODED_BLOCK, left = n - b * GEODEC_CODED_BLOCK;
        const int64_t count = left < GEODEC_CODED_BLOCK ? left : GEODEC_CODED_BLOCK;
        int16_t *v = out->v + b * GEODEC_CODED_BLOCK;
        uint64_t part = 0;
        for (int64_t i = 0; i < count; i++) part |= (uint64_t)(at[i] < 0 ? -(at[i] + 1) : at[i]);
        int shift = top - geodec_wide_bits((int64_t)part);
        if (shift > GEODEC_ROUNDED_SHIFT) shift = GEODEC_ROUNDED_SHIFT;
        out->up[b] = (uint8_t)(GEODEC_ROUNDED_SHIFT - shift);
        const int s = top - bits - shift;
        for (int64_t i = 0; i < count; i++) {
            const int64_t x = at[i] > limit ? limit : at[i] < -limit ? -limit : at[i];
            v[i] = code(x, s, most);
        }
        for (int64_t i = count; i < GEODEC_CODED_BLOCK; i++) v[i] = 0;
    }
}
