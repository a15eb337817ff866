/* Fixed-point functions: golden values, monotony, error limits, the portable wide product. */
#include "base/mem.h"
#include "base/rng.h"
#include "integer/fixed/fixed_tables.h"
#include "support/json.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

#define EACH(object, key, c)                                                                                           \
    for (const json_t *list_ = test_json_get(object, key), *at_ = list_, *c; at_; at_ = NULL)                          \
        for (size_t i_ = 0; i_ < json_array_size(list_) && (c = json_array_get(list_, i_)); i_++)

Test(fixed, golden)
{
    json_t *j = test_json("golden/integer/fixed_point.json");
    int64_t cases = 0;
    int64_t *coarse = test_json_i64s(j, "table_T_q30", NULL), *fine = test_json_i64s(j, "table_U_q30", NULL);
    for (int i = 0; i < GEODEC__FIXED_EXP; i++) {
        cr_assert_eq(geodec__fixed_exp_coarse[i], coarse[i]);
        cr_assert_eq(geodec__fixed_exp_fine[i], fine[i]);
    }
    geodec_mem_free(coarse);
    geodec_mem_free(fine);
    EACH(j, "exp", c)
    {
        cr_assert_eq(geodec_fixed_exp((uint32_t)test_json_u64(c, "d")), test_json_u64(c, "e"));
        cases++;
    }
    EACH(j, "isqrt", c)
    {
        cr_assert_eq(geodec_fixed_isqrt(test_json_u64(c, "v")), test_json_u64(c, "r"));
        cases++;
    }
    EACH(j, "softmax", c)
    {
        int64_t n, *z = test_json_i64s(c, "z_q16", &n), *p = test_json_i64s(c, "p_q30", NULL);
        int32_t *x = geodec_mem_new(n, sizeof *x);
        uint32_t *y = geodec_mem_new(n, sizeof *y);
        for (int64_t i = 0; i < n; i++) x[i] = (int32_t)z[i];
        cr_assert_eq(geodec_fixed_softmax(x, n, y), test_json_u64(c, "sum"));
        int64_t total = 0;
        for (int64_t i = 0; i < n; i++) {
            cr_assert_eq(y[i], p[i]);
            total += y[i];
        }
        cr_assert_leq(llabs(total - GEODEC_FIXED_ONE), n);
        GEODEC_FREE(z, p, x, y);
        cases++;
    }
    EACH(j, "rmsnorm", c)
    {
        int64_t n, *x = test_json_i64s(c, "x", &n), *w = test_json_i64s(c, "w_q16", NULL),
                   *y = test_json_i64s(c, "y_q16", NULL);
        int32_t *xi = geodec_mem_new(n, sizeof *xi), *wi = geodec_mem_new(n, sizeof *wi);
        int64_t *out = geodec_mem_new(n, sizeof *out);
        uint64_t ss = 0;
        for (int64_t i = 0; i < n; i++) {
            xi[i] = (int32_t)x[i];
            wi[i] = (int32_t)w[i];
            ss += (uint64_t)(x[i] * x[i]);
        }
        cr_assert_eq(ss, test_json_u64(c, "sumsq"));
        if (ss > 0) {
            const geodec_fixed_rms r = geodec_fixed_rms_of(ss, n);
            cr_assert_eq(r.k, test_json_i64(c, "k"));
            cr_assert_eq(r.inv, test_json_u64(c, "inv"));
            for (int64_t i = 0; i < n; i++) out[i] = geodec_fixed_rms_apply(r, xi[i], wi[i]);
        }
        for (int64_t i = 0; i < n; i++) cr_assert_eq(out[i], y[i]);
        GEODEC_FREE(x, w, y, xi, wi, out);
        cases++;
    }
    cr_assert_geq(cases, 1);
    cr_log_info("%lld cases", (long long)cases);
    json_decref(j);
}

Test(fixed, exponential_is_monotone_and_near)
{
    uint32_t before = geodec_fixed_exp(0);
    cr_assert_eq(before, GEODEC_FIXED_ONE);
    for (uint32_t d = 1; d < 1500000; d++) {
        const uint32_t e = geodec_fixed_exp(d);
        cr_assert_leq(e, before);
        before = e;
        const double real = exp(-d / 65536.0) * GEODEC_FIXED_ONE;
        cr_assert_leq(fabs(e - real), 5.3e-6 * real + 0.51, "d = %u", d);
    }
    cr_assert_eq(geodec_fixed_exp(UINT32_MAX), 0);
}

Test(fixed, gates_are_near)
{
    for (int64_t x = -40 * 65536; x <= 40 << 16; x += 997) {
        cr_assert_float_eq(geodec_fixed_sigmoid(x) / 1073741824.0, 1 / (1 + exp(-(double)x / 65536)), 2e-6);
        cr_assert_float_eq(geodec_fixed_tanh(x) / 1073741824.0, tanh((double)x / 65536), 6e-6);
        cr_assert_eq(geodec_fixed_tanh(x), -geodec_fixed_tanh(-x));
    }
    for (int64_t x = -((int64_t)40 << 24); x <= (int64_t)40 << 24; x += 99991) {
        const double v = (double)x / (1 << 24), near = 1e-5 * (1 + fabs(v));
        cr_assert_float_eq((double)geodec_fixed_silu(x) / (1 << 24), v / (1 + exp(-v)), near);
        const double gelu = 0.5 * v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
        cr_assert_float_eq((double)geodec_fixed_gelu(x) / (1 << 24), gelu, near, "%g", v);
    }
    cr_assert_eq(geodec_fixed_sigmoid(INT64_MIN), 0);
    cr_assert_eq(geodec_fixed_sigmoid(INT64_MAX), GEODEC_FIXED_ONE);
    cr_assert_eq(geodec_fixed_silu((int64_t)1 << 50), (int64_t)1 << 50);
}

Test(fixed, turns_are_near)
{
    for (uint64_t i = 0; i < 200000; i++) {
        const uint64_t a = geodec_rng_at(5, 1, i);
        const geodec_fixed_turn t = geodec_fixed_turn_of(a);
        const double r = 6.283185307179586 * ((double)a / 18446744073709551616.0);
        cr_assert_float_eq(t.cosine, cos(r) * 1073741824.0, 2.5);
        cr_assert_float_eq(t.sine, sin(r) * 1073741824.0, 2.5);
    }
    int64_t x = 1 << 29, y = 0;
    geodec_fixed_rotate(geodec_fixed_turn_of((uint64_t)1 << 62), &x, &y);
    cr_assert_eq(x, 0);
    cr_assert_eq(y, 1 << 29);
}

Test(fixed, wide_products)
{
    for (uint64_t i = 0; i < 100000; i++) {
        const int64_t a = (int64_t)geodec_rng_at(6, 1, i) >> geodec_rng_at(6, 2, i) % 64;
        const int64_t b = (int64_t)geodec_rng_at(6, 3, i) >> geodec_rng_at(6, 4, i) % 64;
        const geodec_wide p = geodec_wide_mul(a, b), q = geodec_wide_mul_portable(a, b);
        cr_assert_eq(p.low, q.low);
        cr_assert_eq(p.high, q.high);
        const int s = (int)(geodec_rng_at(6, 5, i) % 127);
        const long double whole = floorl(ldexpl((long double)a * (long double)b, -s) + (s ? 0.5L : 0));
        if (fabsl(whole) < 0x1p53L && (a == 0 || llabs(a) < (1LL << 31)) && llabs(b) < (1LL << 31))
            cr_assert_eq(geodec_wide_round(p, s), (int64_t)whole);
    }
    cr_assert_eq(geodec_wide_round(geodec_wide_mul(INT64_MAX, INT64_MAX), 3), INT64_MAX);
    cr_assert_eq(geodec_wide_round(geodec_wide_mul(INT64_MIN, INT64_MAX), 3), INT64_MIN);
    cr_assert_eq(geodec_wide_shift(5, 1), 3);
    cr_assert_eq(geodec_wide_shift(-5, 1), -2);
    cr_assert_eq(geodec_wide_shift(INT64_MAX, 8), (int64_t)1 << 55);
    cr_assert_eq(geodec_wide_shift(INT64_MIN, 63), -1);
    cr_assert_eq(geodec_wide_shift(INT64_MAX / 2, -3), INT64_MAX);
    cr_assert_eq(geodec_wide_divide(geodec_wide_mul(INT64_MAX, 6), 7), INT64_MAX / 7 * 6);
}

Test(fixed, tables_have_a_digest)
{
    char hex[65];
    geodec_fixed_digest(hex);
    cr_assert_str_eq(hex, "b4661bdbd0b7a4e2ad9fd78ac52da54a6a031786f3ae61a3e59c8b262a37a293");
}
