/* Signed integers of 128 bits, for the named wide steps of the fixed-point functions. A processor without such a type
 * (32-bit ones) uses four products of 32 bits; both forms give the same bits. `>>` is floor. */
#ifndef GEODEC_INTEGER_FIXED_WIDE_H
#define GEODEC_INTEGER_FIXED_WIDE_H

#include <stdint.h>

typedef struct geodec_wide {
    uint64_t low;
    int64_t high;
} geodec_wide;

/* a b, from four products. */
static inline geodec_wide geodec_wide_mul_portable(int64_t a, int64_t b)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b, x0 = x & 0xffffffffu, x1 = x >> 32, y0 = y & 0xffffffffu,
                   y1 = y >> 32;
    const uint64_t p00 = x0 * y0, p01 = x0 * y1, p10 = x1 * y0;
    const uint64_t middle = (p00 >> 32) + (p01 & 0xffffffffu) + (p10 & 0xffffffffu);
    uint64_t high = x1 * y1 + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
    if (a < 0) high -= y;
    if (b < 0) high -= x;
    return (geodec_wide){(middle << 32) | (p00 & 0xffffffffu), (int64_t)high};
}

static inline geodec_wide geodec_wide_mul(int64_t a, int64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef __int128 i128;
    __extension__ typedef unsigned __int128 u128;
    const u128 p = (u128)((i128)a * b);
    return (geodec_wide){(uint64_t)p, (int64_t)(uint64_t)(p >> 64)};
#else
    return geodec_wide_mul_portable(a, b);
#endif
}

static inline geodec_wide geodec_wide_add(geodec_wide a, geodec_wide b)
{
    const uint64_t low = a.low + b.low;
    return (geodec_wide){low, (int64_t)((uint64_t)a.high + (uint64_t)b.high + (low < a.low))};
}

/* floor((v + 2^(s-1)) / 2^s), 0 <= s <= 127 (0: v); a result that does not fit becomes the nearest int64. */
static inline int64_t geodec_wide_round(geodec_wide v, int s)
{
    if (s > 0) {
        const geodec_wide half =
            s <= 64 ? (geodec_wide){(uint64_t)1 << (s - 1), 0} : (geodec_wide){0, (int64_t)1 << (s - 65)};
        v = geodec_wide_add(v, half);
        if (s >= 64)
            v = (geodec_wide){(uint64_t)(v.high >> (s == 64 ? 0 : s - 64)), v.high >> 63};
        else
            v = (geodec_wide){(v.low >> s) | ((uint64_t)v.high << (64 - s)), v.high >> s};
    }
    if (v.high == (int64_t)v.low >> 63) return (int64_t)v.low;
    return v.high < 0 ? INT64_MIN : INT64_MAX;
}

/* floor(n / d) of a value below 2^127; d > 0 and the quotient below 2^64. */
static inline uint64_t geodec_wide_divide(geodec_wide n, uint64_t d)
{
    uint64_t high = (uint64_t)n.high, low = n.low;
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)(((u128)high << 64 | low) / d);
#else
    for (int i = 0; i < 64; i++) { /* one bit of the quotient enters `low` from the right */
        const uint64_t carry = high >> 63;
        high = high << 1 | low >> 63;
        low <<= 1;
        if (carry || high >= d) {
            high -= d;
            low |= 1;
        }
    }
    return low;
#endif
}

/* floor((x + 2^(s-1)) / 2^s) for s > 0, x 2^-s for s <= 0. A result that does not fit becomes the nearest int64. */
static inline int64_t geodec_wide_shift(int64_t x, int s)
{
    if (s > 0) return s > 63 ? 0 : (x >> s) + (x >> (s - 1) & 1);
    if (s == 0 || x == 0) return x;
    if (s < -62 || x > INT64_MAX >> -s || x < INT64_MIN >> -s) return x < 0 ? INT64_MIN : INT64_MAX;
    return (int64_t)((uint64_t)x << -s);
}

/* The nearest value of at most 2^61: sums of two of them do not overflow. */
static inline int64_t geodec_wide_limit(int64_t x)
{
    const int64_t most = (int64_t)1 << 61;
    return x > most ? most : x < -most ? -most : x;
}

/* Bits of |x|: 0 for 0, 64 for INT64_MIN. */
static inline int geodec_wide_bits(int64_t x)
{
    const uint64_t m = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    return m ? 64 - __builtin_clzll(m) : 0;
}

#endif
