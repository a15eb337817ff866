/* Power-of-two steps: golden codes, the smallest exponent, errors within half a step, binary16 without loss, factors.
 */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "integer/ring_cases.h"
#include "lab/integer/ring/encode.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef geodec_ring_element element;

static float from_hex(const json_t *value)
{
    const uint32_t bits = (uint32_t)strtoul(json_string_value(value), NULL, 16);
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

Test(ring_encode, golden)
{
    json_t *j = test_json("golden/integer/encode.json");
    int64_t cases = 0;
    EACH(j, "cases", c)
    {
        const json_t *hex = test_json_get(c, "w_f32_hex");
        int64_t n, *a = test_json_i64s(c, "a", &n);
        cr_assert_eq((size_t)n, json_array_size(hex));
        float *w = geodec_mem_new(n, sizeof *w), *back = geodec_mem_new(n, sizeof *back);
        element *x = geodec_mem_new(n, sizeof *x);
        geodec_ring_scale s = {1, 1, 0};
        double worst = 0;
        for (int64_t i = 0; i < n; i++) w[i] = from_hex(json_array_get(hex, (size_t)i));
        test_ok(geodec_ring_encode(w, n, (int)test_json_i64(c, "q_max"), &s, x, NULL), (geodec_err *)NULL);
        cr_assert_eq(s.exponent, test_json_i64(c, "exponent"));
        for (int64_t i = 0; i < n; i++) {
            cr_assert(x[i].a == a[i] && x[i].b == 0, "case %lld, weight %lld", (long long)cases, (long long)i);
            worst = fmax(worst, fabs((double)w[i] - geodec_ring_encode_value(s, x[i].a)));
        }
        cr_assert_eq(worst, strtod(json_string_value(test_json_get(c, "max_abs_err")), NULL));
        test_ok(geodec_ring_encode_back(x, n, s, back, NULL), (geodec_err *)NULL);
        for (int64_t i = 0; i < n; i++) cr_assert_eq(back[i], (float)ldexp((double)a[i], s.exponent));
        geodec_mem_free(a);
        GEODEC_FREE(w, back, x);
        cases++;
    }
    cr_assert_geq(cases, 1);
    cr_log_info("%lld cases", (long long)cases);
    json_decref(j);
}

/* Any float32 magnitude, any number of bits, against the definition in double (exact for up to 24 bits of code). */
Test(ring_encode, steps_are_the_smallest)
{
    geodec_rng g = geodec_rng_stream(15, 3);
    enum { N = 9 };
    for (int turn = 0; turn < 20000; turn++) {
        float w[N];
        element x[N];
        geodec_ring_scale s = {1, 1, 7};
        const int q = 1 + turn % 24, level = (int)geodec_rng_below(&g, 270) - 149;
        double top = 0;
        for (int i = 0; i < N; i++) {
            w[i] = (float)ldexp(2 * geodec_rng_uniform(&g) - 1, level);
            if (turn % 5 == 0) w[i] = (float)ldexp((double)geodec_rng_below(&g, 1 << q), level < 100 ? level : 100);
            top = fmax(top, fabs((double)w[i]));
        }
        test_ok(geodec_ring_encode(w, N, q, &s, x, NULL), (geodec_err *)NULL);
        if (top == 0) {
            cr_assert_eq(s.exponent, 0);
            continue;
        }
        const double most = ldexp(1, q) - 1;
        cr_assert_leq(top, ldexp(most, s.exponent));
        cr_assert_gt(top, ldexp(most, s.exponent - 1));
        for (int i = 0; i < N; i++) {
            cr_assert_eq(x[i].a, (int64_t)round(ldexp((double)w[i], -s.exponent)));
            cr_assert_leq(fabs(geodec_ring_encode_value(s, x[i].a) - (double)w[i]), ldexp(1, s.exponent - 1));
        }
    }
}

Test(ring_encode, extremes)
{
    const float w[] = {FLT_MAX, -FLT_MAX, FLT_MIN, 0x1p-149f, -0x1p-149f, 0, 1};
    enum { N = sizeof w / sizeof *w };
    element x[N];
    float back[N];
    geodec_ring_scale s = {1, 1, 0};
    test_ok(geodec_ring_encode(w, N, GEODEC_RING_ENCODE_BITS, &s, x, NULL), (geodec_err *)NULL);
    cr_assert_eq(s.exponent, 128 - GEODEC_RING_ENCODE_BITS);
    cr_assert(x[0].a == (int64_t)0xffffff << 38 && x[1].a == -x[0].a && x[3].a == 0);
    test_ok(geodec_ring_encode_back(x, N, s, back, NULL), (geodec_err *)NULL);
    cr_assert(back[0] == FLT_MAX && back[1] == -FLT_MAX && back[2] == 0);
    test_ok(geodec_ring_encode(w + 3, 3, GEODEC_RING_ENCODE_BITS, &s, x, NULL), (geodec_err *)NULL);
    test_ok(geodec_ring_encode_back(x, 3, s, back, NULL), (geodec_err *)NULL);
    cr_assert(back[0] == w[3] && back[1] == w[4] && back[2] == 0); /* the smallest float32 */
    /* halves are rounded away from zero */
    const float halves[] = {3, 0.5f, -0.5f, 1.5f, -1.5f, 0.49999997f};
    const int64_t wanted[] = {3, 1, -1, 2, -2, 0};
    test_ok(geodec_ring_encode(halves, 6, 2, &s, x, NULL), (geodec_err *)NULL);
    cr_assert_eq(s.exponent, 0);
    for (int i = 0; i < 6; i++) cr_assert_eq(x[i].a, wanted[i], "%g", (double)halves[i]);
}

Test(ring_encode, binary16_is_lossless)
{
    enum { ALL = 65536 };
    static uint16_t w[ALL];
    static element x[ALL];
    static float back[ALL];
    int64_t n = 0;
    geodec_ring_scale s;
    for (uint32_t bits = 0; bits < ALL; bits++)
        if ((bits & 0x7c00) != 0x7c00) w[n++] = (uint16_t)bits;
    test_ok(geodec_ring_encode_f16(w, n, &s, x, NULL), (geodec_err *)NULL);
    test_ok(geodec_ring_encode_back(x, n, s, back, NULL), (geodec_err *)NULL);
    for (int64_t i = 0; i < n; i++) {
        cr_assert_eq(back[i], geodec_f16_to_f32(w[i]));
        cr_assert_lt(llabs(x[i].a), (int64_t)1 << 40);
    }
    /* the largest value is 65504 2^24, beyond 32-bit lanes */
    cr_assert_eq(x[n / 2 - 1].a, (int64_t)65504 << 24);
    const uint16_t bad[] = {0x3c00, 0x7c00, 0x7e00};
    cr_assert_eq(geodec_ring_encode_f16(bad, 2, &s, x, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_ring_encode_f16(bad + 2, 1, &s, x, NULL), GEODEC_NUMERIC);
}

Test(ring_encode, refusals)
{
    const float bad[] = {1, NAN, INFINITY};
    element x[3] = {{1, 0}, {1, 1}};
    float w[3];
    geodec_ring_scale s = {1, 1, 0}, none = {0, 1, 0};
    geodec_err err = {0};
    cr_assert_eq(geodec_ring_encode(bad, 2, 8, &s, x, &err), GEODEC_NUMERIC);
    cr_assert(strstr(err.frame[0].text, "weight 1"));
    cr_assert_eq(geodec_ring_encode(bad + 2, 1, 8, &s, x, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_ring_encode(bad, 1, 0, &s, x, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_encode(bad, 1, 63, &s, x, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_encode(bad, -1, 8, &s, x, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_encode(bad, 1, 8, &none, x, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_encode_back((element[]){{1, 0}, {1, 1}}, 2, s, w, NULL), GEODEC_INVAL);
}

/* Factors are kept in lowest terms; what leaves 38 bits is refused. */
Test(ring_encode, factors)
{
    geodec_ring_scale s = {1, 1, 0};
    test_ok(geodec_ring_encode_factor(&s, 37, 100, NULL), (geodec_err *)NULL);
    test_ok(geodec_ring_encode_factor(&s, 2825761, 37, NULL), (geodec_err *)NULL);
    cr_assert(s.num == 2825761 && s.den == 100);
    test_ok(geodec_ring_encode_factor(&s, 100, 2825761, NULL), (geodec_err *)NULL);
    cr_assert(s.num == 1 && s.den == 1);
    cr_assert_eq(geodec_ring_encode_factor(&s, GEODEC_RING_ENCODE_FACTOR_MAX + 1, 1, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_encode_factor(&s, 0, 1, NULL), GEODEC_RANGE);
    test_ok(geodec_ring_encode_factor(&s, GEODEC_RING_ENCODE_FACTOR_MAX, 3, NULL), (geodec_err *)NULL);
    cr_assert_eq(geodec_ring_encode_factor(&s, 5, 1, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_encode_factor(&s, 1, GEODEC_RING_ENCODE_FACTOR_MAX, NULL), GEODEC_OK);
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 u128;

/* |w| num / den against codes, exactly: |w num 2^-e - a den| <= den / 2, ties away from zero. */
Test(ring_encode, factors_round_exactly)
{
    static const int64_t factors[][2] = {{2, 1}, {4, 1}, {2825761, 1}, {37, 100}, {1, 3}, {999999937, 999999929}};
    geodec_rng g = geodec_rng_stream(15, 4);
    enum { N = 50 };
    for (int round = 0; round < 600; round++) {
        const int64_t *f = factors[round % 6];
        const int q = 2 + round % 20;
        float w[N];
        element x[N];
        geodec_ring_scale s = {1, 1, 0};
        for (int i = 0; i < N; i++) w[i] = (float)((int64_t)geodec_rng_below(&g, 1 << 24) - (1 << 23)); /* integers */
        test_ok(geodec_ring_encode_factor(&s, f[0], f[1], NULL), (geodec_err *)NULL);
        test_ok(geodec_ring_encode(w, N, q, &s, x, NULL), (geodec_err *)NULL);
        int64_t top = 0;
        for (int i = 0; i < N; i++) {
            const uint64_t m = (uint64_t)fabsf(w[i]), a = (uint64_t)llabs(x[i].a);
            const int up = s.exponent < 0 ? -s.exponent : 0, down = s.exponent > 0 ? s.exponent : 0;
            const u128 left = (u128)m * (uint64_t)s.num << (up + 1), step = (u128)(uint64_t)s.den << down;
            cr_assert(left >= (a ? (2 * (u128)a - 1) * step : 0) && left < (2 * (u128)a + 1) * step);
            cr_assert(x[i].a == 0 || (x[i].a < 0) == (w[i] < 0));
            if (x[i].a > top || -x[i].a > top) top = (int64_t)a;
        }
        cr_assert(top < (int64_t)1 << q && top >= (int64_t)1 << (q - 1) >> 1);
    }
}
#endif
