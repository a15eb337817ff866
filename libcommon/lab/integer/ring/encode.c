#include "lab/integer/ring/encode.h"

#include "base/f16.h"
#include "base/finite.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* |w| = mantissa 2^exponent. */
typedef struct parts {
    uint64_t mantissa; /* below 2^24 */
    int exponent;
    int negative;
} parts;

static parts parts_of(float w)
{
    uint32_t bits;
    memcpy(&bits, &w, sizeof bits);
    const int field = (int)(bits >> 23 & 255);
    const uint32_t fraction = bits & 0x7fffff;
    return (parts){field ? fraction | 0x800000u : fraction, (field ? field : 1) - 150, (int)(bits >> 31)};
}

/* v 2^shift / den: its floor, or anything from 2^62 on where that is larger, and how the rest compares with 1/2: -1
 * below, 0 equal, 1 above; exact: no rest. v < 2^62, den <= 2^38. */
typedef struct quotient {
    uint64_t floor;
    int rest;
    bool exact;
} quotient;

static int bits_of(uint64_t v) { return v ? 64 - __builtin_clzll(v) : 0; }

static quotient divide(uint64_t v, int shift, uint64_t den)
{
    uint64_t q = v / den, r = v % den;
    if (r == 0 && shift >= 0 && (q == 0 || bits_of(q) + shift <= 63)) return (quotient){q ? q << shift : 0, -1, true};
    if (shift >= 0) {
        for (int i = 0; i < shift && q < (uint64_t)1 << 62; i++) { /* one bit of the quotient at a time */
            r *= 2;
            q = 2 * q + (uint64_t)(r >= den);
            if (r >= den) r -= den;
        }
        return (quotient){q, r * 2 < den ? -1 : r * 2 > den, r == 0};
    }
    if (shift < -62) return (quotient){0, -1, v == 0};
    const uint64_t mask = ((uint64_t)1 << -shift) - 1, half = (uint64_t)1 << (-shift - 1), low = q & mask;
    return (quotient){q >> -shift, low < half ? -1 : low > half || r > 0, low == 0 && r == 0};
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static bool factor_fits(int64_t v) { return v >= 1 && v <= GEODEC_RING_ENCODE_FACTOR_MAX; }

geodec_status geodec_ring_encode_factor(geodec_ring_scale *s, int64_t num, int64_t den, geodec_err *err)
{
    if (!factor_fits(num) || !factor_fits(den) || !factor_fits(s->num) || !factor_fits(s->den))
        GEODEC_FAIL(GEODEC_RANGE, "a factor of %lld / %lld: numbers outside 1 to 2^38", (long long)num, (long long)den);
    const uint64_t across = divisor((uint64_t)num, (uint64_t)s->den), other = divisor((uint64_t)den, (uint64_t)s->num);
    int64_t n = num / (int64_t)across, d = den / (int64_t)other;
    const int64_t common = (int64_t)divisor((uint64_t)n, (uint64_t)d);
    n /= common;
    d /= common;
    if (__builtin_mul_overflow(n, s->num / (int64_t)other, &n) ||
        __builtin_mul_overflow(d, s->den / (int64_t)across, &d) || !factor_fits(n) || !factor_fits(d))
        GEODEC_FAIL(GEODEC_RANGE, "a factor times %lld / %lld: numbers outside 1 to 2^38", (long long)num,
                    (long long)den);
    s->num = n;
    s->den = d;
    return GEODEC_OK;
}

/* The smallest e with m num / den <= (2^q_max - 1) 2^e, m the magnitude in parts. */
static int exponent_of(parts m, int q_max, const geodec_ring_scale *s)
{
    const uint64_t v = m.mantissa * (uint64_t)s->num, den = (uint64_t)s->den, most = ((uint64_t)1 << q_max) - 1;
    /* 2^(bits - 2) < m f / 2^exponent < 2^bits */
    const int bits = bits_of(v) - bits_of(den) + 1;
    for (int e = m.exponent + bits - q_max - 2;; e++) {
        const quotient t = divide(v, m.exponent - e, den);
        if (t.floor < most || (t.floor == most && t.exact)) return e;
    }
}

geodec_status geodec_ring_encode_step(const float *w, int64_t n, int q_max, geodec_ring_scale *s, geodec_err *err)
{
    if (n < 0) GEODEC_FAIL(GEODEC_RANGE, "%lld weights", (long long)n);
    if (q_max < 1 || q_max > GEODEC_RING_ENCODE_BITS)
        GEODEC_FAIL(GEODEC_RANGE, "codes of %d bits are outside 1 to %d", q_max, GEODEC_RING_ENCODE_BITS);
    if (!factor_fits(s->num) || !factor_fits(s->den))
        GEODEC_FAIL(GEODEC_RANGE, "a factor of %lld / %lld: numbers outside 1 to 2^38", (long long)s->num,
                    (long long)s->den);
    const int64_t bad = geodec_finite_first_not_f32(w, n);
    if (bad >= 0) GEODEC_FAIL(GEODEC_NUMERIC, "weight %lld is %g", (long long)bad, (double)w[bad]);
    float top = 0;
    for (int64_t i = 0; i < n; i++) {
        const float m = fabsf(w[i]);
        if (m > top) top = m;
    }
    s->exponent = top > 0 ? exponent_of(parts_of(top), q_max, s) : 0;
    return GEODEC_OK;
}

void geodec_ring_encode_part(const float *w, int64_t n, const geodec_ring_scale *s, geodec_ring_element *x)
{
    for (int64_t i = 0; i < n; i++) {
        const parts p = parts_of(w[i]);
        const quotient t = divide(p.mantissa * (uint64_t)s->num, p.exponent - s->exponent, (uint64_t)s->den);
        const int64_t a = (int64_t)(t.floor + (uint64_t)(t.rest >= 0));
        x[i] = (geodec_ring_element){p.negative ? -a : a, 0};
    }
}

geodec_status geodec_ring_encode(const float *w, int64_t n, int q_max, geodec_ring_scale *s, geodec_ring_element *x,
                                 geodec_err *err)
{
    GEODEC_PASS(geodec_ring_encode_step(w, n, q_max, s, err));
    geodec_ring_encode_part(w, n, s, x);
    return GEODEC_OK;
}

geodec_status geodec_ring_encode_f16(const uint16_t *w, int64_t n, geodec_ring_scale *s, geodec_ring_element *x,
                                     geodec_err *err)
{
    if (n < 0) GEODEC_FAIL(GEODEC_RANGE, "%lld weights", (long long)n);
    const int64_t bad = geodec_finite_first_not_f16(w, n);
    if (bad >= 0) GEODEC_FAIL(GEODEC_NUMERIC, "weight %lld is %g", (long long)bad, (double)geodec_f16_to_f32(w[bad]));
    for (int64_t i = 0; i < n; i++) {
        const int field = w[i] >> 10 & 31;
        const int64_t fraction = w[i] & 1023, a = field ? (fraction | 1024) << (field - 1) : fraction;
        x[i] = (geodec_ring_element){w[i] >> 15 ? -a : a, 0};
    }
    *s = (geodec_ring_scale){1, 1, GEODEC_RING_ENCODE_F16_EXPONENT};
    return GEODEC_OK;
}

double geodec_ring_encode_value(geodec_ring_scale s, int64_t a)
{
    return ldexp((double)a * (double)s.den / (double)s.num, s.exponent);
}

geodec_status geodec_ring_encode_back(const geodec_ring_element *x, int64_t n, geodec_ring_scale s, float *w,
                                      geodec_err *err)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i].b != 0) GEODEC_FAIL(GEODEC_INVAL, "element %lld has b = %lld", (long long)i, (long long)x[i].b);
    for (int64_t i = 0; i < n; i++) w[i] = (float)geodec_ring_encode_value(s, x[i].a);
    return GEODEC_OK;
}
