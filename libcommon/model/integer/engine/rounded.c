#include "integer/engine/rounded.h"

#include "integer/engine/coded.h"
#include "integer/fixed/wide.h"

void geodec_rounded_split(geodec_rounded *x, int64_t n)
{
    const int64_t blocks = geodec_coded_blocks(n);
    int any = 0;
    for (int64_t i = 0; i < blocks; i++) {
        geodec_rounded_block *b = &x->block[i];
        int32_t sum = 0;
        for (int c = 0; c < GEODEC_CODED_BLOCK; c++) {
            const int high = (b->v[c] + 128) >> 8;
            sum += b->v[c];
            b->digit[1][c] = (int8_t)high;
            b->digit[0][c] = (int8_t)(b->v[c] - 256 * high);
            any |= high;
        }
        b->start[0] = sum * -8;
        b->start[1] = sum * -128;
    }
    x->n_digits = any ? 2 : 1;
}

/* Largest magnitude, at most 2^61. */
static int64_t largest(const int64_t *y, int64_t n)
{
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = y[i] < low ? y[i] : low;
        high = y[i] > high ? y[i] : high;
    }
    low = -geodec_wide_limit(low);
    high = geodec_wide_limit(high);
    return low > high ? low : high;
}

/* Binary orders of a row or block whose largest magnitude is m, at most 2^61: m 2^-orders < 0.9922. */
static int orders(int64_t m) { return geodec_wide_bits(m + (m >> 7)); }

void geodec_rounded_of(const int64_t *y, int64_t n, int unit, int bits, geodec_rounded *out)
{
    const int64_t blocks = geodec_coded_blocks(n);
    const int top = orders(largest(y, n));
    out->exponent = unit - (top - bits);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t *at = y + b * GEODEC_CODED_BLOCK, left = n - b * GEODEC_CODED_BLOCK;
        const int64_t count = left < GEODEC_CODED_BLOCK ? left : GEODEC_CODED_BLOCK;
        int16_t *v = out->block[b].v;
        int shift = top - orders(largest(at, count));
        if (shift > GEODEC_ROUNDED_SHIFT) shift = GEODEC_ROUNDED_SHIFT;
        out->block[b].up = GEODEC_ROUNDED_SHIFT - shift;
        const int s = top - bits - shift;
        for (int64_t i = 0; i < count; i++) {
            const int64_t x = geodec_wide_limit(at[i]);
            v[i] = (int16_t)(s > 0 ? (x + ((int64_t)1 << (s - 1))) >> s : (int64_t)((uint64_t)x << -s));
        }
        for (int64_t i = count; i < GEODEC_CODED_BLOCK; i++) v[i] = 0;
    }
    geodec_rounded_split(out, n);
}
