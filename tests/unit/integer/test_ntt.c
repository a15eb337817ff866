/* Transforms: golden values in every code path, convolution, linearity, batches, lengths beyond the golden ones. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/integer/ntt/ntt_internal.h"
#include "support/json.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>

static geodec_ntt *ntt(const geodec_modulus *m, int64_t n, geodec_ntt_path path)
{
    geodec_ntt *t = NULL;
    geodec_err err = {0};
    cr_assert_eq(geodec_ntt_create(m, n, path, &t, &err), GEODEC_OK);
    return t;
}

static void *words(const geodec_ntt *t, int64_t n)
{
    void *p = geodec_mem_new(n, geodec_ntt_word(t));
    cr_assert(p);
    return p;
}

static void random_words(const geodec_ntt *t, geodec_rng *r, int64_t n, void *out)
{
    const uint64_t q = geodec_ntt_modulus(t)->q;
    for (int64_t i = 0; i < n; i++) geodec_ntt_set(t, out, i, i % 7 == 3 ? q - 1 : geodec_rng_u64(r) % q);
}

static void assert_equal(const geodec_ntt *t, const void *a, const void *b, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(geodec_ntt_get(t, a, i), geodec_ntt_get(t, b, i),
                     "%s: %s, N = %lld, paths %s and %s: word %lld: %llu, not %llu", what, geodec_ntt_modulus(t)->name,
                     (long long)geodec_ntt_length(t), geodec_ntt_path_name(geodec_ntt_path_single(t)),
                     geodec_ntt_path_name(geodec_ntt_path_batch(t)), (long long)i,
                     (unsigned long long)geodec_ntt_get(t, a, i), (unsigned long long)geodec_ntt_get(t, b, i));
}

/* One golden case, alone and as each member of a batch, forward and back. */
static void check_case(const geodec_ntt *t, const json_t *c)
{
    const int64_t n = geodec_ntt_length(t), many = n * GEODEC_NTT_BATCH;
    void *in = words(t, n), *want = words(t, n), *a = words(t, n), *b = words(t, n), *x = words(t, many),
         *y = words(t, many);
    for (int64_t i = 0; i < n; i++) {
        geodec_ntt_set(t, in, i, test_json_word(json_array_get(test_json_get(c, "input"), (size_t)i)));
        geodec_ntt_set(t, want, i, test_json_word(json_array_get(test_json_get(c, "forward"), (size_t)i)));
    }
    geodec_ntt_forward(t, in, a);
    geodec_ntt_to_natural(t, a, b);
    assert_equal(t, b, want, n, "forward");
    geodec_ntt_from_natural(t, want, a);
    geodec_ntt_inverse(t, a, b);
    assert_equal(t, b, in, n, "inverse");
    for (int64_t i = 0; i < many; i++) geodec_ntt_set(t, x, i, geodec_ntt_get(t, in, i / GEODEC_NTT_BATCH));
    geodec_ntt_forward_batch(t, x, y);
    int bits = 0;
    while ((int64_t)1 << bits < n) bits++;
    for (int lane = 0; lane < GEODEC_NTT_BATCH; lane++) {
        for (int64_t k = 0; k < n; k++) {
            int64_t at = 0;
            for (int bit = 0; bit < bits; bit++) at |= (k >> bit & 1) << (bits - 1 - bit);
            geodec_ntt_set(t, b, k, geodec_ntt_get(t, y, at * GEODEC_NTT_BATCH + lane));
        }
        assert_equal(t, b, want, n, "batch");
    }
    geodec_ntt_inverse_batch(t, y, y);
    assert_equal(t, y, x, many, "inverse of a batch");
    GEODEC_FREE(in, want, a, b, x, y);
}

/* Every path of the processor, on every file. */
Test(ntt, golden_in_every_path)
{
    int ran = 0, expected = 0;
    for (int m = 0; m < GEODEC_MODULI; m++) {
        const geodec_modulus *modulus = geodec_modulus_of((geodec_modulus_id)m);
        char file[64];
        (void)snprintf(file, sizeof file, "golden/integer/ntt_%s.json", modulus->name);
        json_t *j = test_json(file);
        const json_t *cases = test_json_get(j, "cases");
        for (int p = GEODEC_NTT_PORTABLE; p < GEODEC_NTT_PATHS; p++) {
            if (!geodec_ntt_path_available((geodec_ntt_path)p, modulus)) continue;
            bool own = false;
            for (size_t c = 0; c < json_array_size(cases); c++) {
                const json_t *one = json_array_get(cases, c);
                geodec_ntt *t = ntt(modulus, test_json_i64(one, "N"), (geodec_ntt_path)p);
                cr_assert_eq(geodec_ntt_path_batch(t), (geodec_ntt_path)p);
                own |= geodec_ntt_path_single(t) == (geodec_ntt_path)p;
                check_case(t, one);
                geodec_ntt_destroy(t);
            }
            cr_assert(own);
            ran++;
        }
        expected += 4;
        json_decref(j);
    }
    /* 4 paths of p60 (portable, scalar, avx512, ifma) and 4 of each other (scalar, avx2, avx512, ifma). */
    cr_log_info("%d of %d files x paths", ran, expected);
    if (geodec_ntt_path_available(GEODEC_NTT_IFMA, geodec_modulus_of(GEODEC_MODULUS_W1))) {
        cr_assert_eq(ran, expected);
    }
    cr_assert_geq(ran, 2 + 4);
}

/* Product of polynomials by its definition, coefficient `at`. */
static uint64_t coefficient(const geodec_ntt *t, const void *a, const void *b, int64_t at)
{
    const int64_t n = geodec_ntt_length(t);
    const uint64_t q = geodec_ntt_modulus(t)->q;
    const geodec_mulmod_barrett c = geodec_mulmod_tight(q);
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = (at - i + n) % n;
        const uint64_t p =
            geodec_mulmod_reduce(&c, geodec_mulmod_product(geodec_ntt_get(t, a, i), geodec_ntt_get(t, b, j)), NULL);
        sum = (sum + (i + j == at ? p : q - p)) % q;
    }
    return sum;
}

/* Convolution theorem, linearity, and equality with the scalar path, for every N up to 8192 and the largest one. */
static void check_length(const geodec_modulus *m, int64_t n, geodec_ntt_path path)
{
    geodec_rng r = geodec_rng_stream(m->q, (uint64_t)n);
    geodec_ntt *t = ntt(m, n, path), *s = ntt(m, n, GEODEC_NTT_SCALAR);
    void *a = words(t, n), *b = words(t, n), *x = words(t, n), *y = words(t, n), *z = words(t, n), *w = words(t, n);
    random_words(t, &r, n, a);
    random_words(t, &r, n, b);
    geodec_ntt_forward(t, a, x);
    geodec_ntt_to_natural(t, x, y);
    geodec_ntt_forward(s, a, z);
    geodec_ntt_to_natural(s, z, w);
    assert_equal(t, y, w, n, "path");
    for (int64_t i = 0; i < n; i++) cr_assert_lt(geodec_ntt_get(t, x, i), m->q);
    geodec_ntt_forward(t, b, y);
    for (int64_t i = 0; i < n; i++) geodec_ntt_set(t, z, i, (geodec_ntt_get(t, a, i) + geodec_ntt_get(t, b, i)) % m->q);
    geodec_ntt_forward(t, z, z);
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(geodec_ntt_get(t, z, i), (geodec_ntt_get(t, x, i) + geodec_ntt_get(t, y, i)) % m->q);
    geodec_ntt_multiply(t, x, y, z);
    const uint64_t dot = geodec_ntt_dot(t, x, y);
    geodec_ntt_inverse(t, z, z);
    cr_assert_eq(geodec_ntt_get(t, z, 0), dot);
    for (int i = 0; i < 8; i++) {
        const int64_t at = i == 0 ? 0 : i == 1 ? n - 1 : (int64_t)(geodec_rng_u64(&r) % (uint64_t)n);
        cr_assert_eq(geodec_ntt_get(t, z, at), coefficient(t, a, b, at), "%s N %lld %s", m->name, (long long)n,
                     geodec_ntt_path_name(path));
    }
    geodec_ntt_inverse(t, x, x);
    assert_equal(t, x, a, n, "there and back");
    GEODEC_FREE(a, b, x, y, z, w);
    geodec_ntt_destroy(t);
    geodec_ntt_destroy(s);
}

Test(ntt, lengths)
{
    for (int m = 0; m < GEODEC_MODULI; m++) {
        const geodec_modulus *modulus = geodec_modulus_of((geodec_modulus_id)m);
        for (int p = GEODEC_NTT_AUTO; p < GEODEC_NTT_PATHS; p++) {
            if (!geodec_ntt_path_available((geodec_ntt_path)p, modulus)) continue;
            for (int64_t n = 1; n <= modulus->most && n <= 8192; n *= 2) check_length(modulus, n, (geodec_ntt_path)p);
            check_length(modulus, modulus->most, (geodec_ntt_path)p);
        }
    }
}

/* Inputs that reach the ends of the lazy ranges, on every path, alone and in a batch, compared with the scalar path. A
 * value that leaves its range would wrap and give another residue. */
static void check_extremes(const geodec_modulus *m, int64_t n, geodec_ntt_path path)
{
    geodec_ntt *t = ntt(m, n, path), *s = ntt(m, n, GEODEC_NTT_SCALAR);
    const int64_t many = n * GEODEC_NTT_BATCH;
    void *a = words(t, many), *x = words(t, many), *y = words(t, many), *z = words(t, n);
    for (int pattern = 0; pattern < 6; pattern++) {
        for (int64_t i = 0; i < many; i++) {
            const int64_t at = i / GEODEC_NTT_BATCH;
            const bool high = pattern == 0 || (pattern == 1 && at % 2) || (pattern == 2 && at < n / 2) ||
                              (pattern == 3 && at >= n / 2) || (pattern == 4 && at % 16 < 8) ||
                              (pattern == 5 && at == n - 1);
            geodec_ntt_set(t, a, i, high ? m->q - 1 : 0);
        }
        for (int back = 0; back < 2; back++) {
            (back ? geodec_ntt_inverse_batch : geodec_ntt_forward_batch)(t, a, x);
            (back ? geodec_ntt_inverse_batch : geodec_ntt_forward_batch)(s, a, y);
            assert_equal(t, x, y, many, "extremes of a batch");
            for (int64_t i = 0; i < n; i++) geodec_ntt_set(t, z, i, geodec_ntt_get(t, a, i * GEODEC_NTT_BATCH));
            if (back) {
                geodec_ntt_from_natural(t, z, x);
                geodec_ntt_inverse(t, x, x);
                geodec_ntt_from_natural(s, z, y);
                geodec_ntt_inverse(s, y, y);
                assert_equal(t, x, y, n, "extremes, inverse");
            } else {
                geodec_ntt_forward(t, z, x);
                geodec_ntt_forward(s, z, y);
                geodec_ntt_to_natural(s, y, z);
                geodec_ntt_to_natural(t, x, y);
                assert_equal(t, y, z, n, "extremes");
            }
        }
        geodec_ntt_multiply_batch(t, a, a, x);
        for (int64_t i = 0; i < many; i++)
            cr_assert_eq(geodec_ntt_get(t, x, i), geodec_ntt_get(t, a, i) ? 1 : 0); /* (q - 1)^2 = 1 */
    }
    GEODEC_FREE(a, x, y, z);
    geodec_ntt_destroy(t);
    geodec_ntt_destroy(s);
}

Test(ntt, extremes)
{
    for (int m = 0; m < GEODEC_MODULI; m++) {
        const geodec_modulus *modulus = geodec_modulus_of((geodec_modulus_id)m);
        for (int p = GEODEC_NTT_AUTO; p < GEODEC_NTT_PATHS; p++)
            for (int64_t n = 4; n <= modulus->most && n <= 32768; n *= n < 1024 ? 2 : 8)
                if (geodec_ntt_path_available((geodec_ntt_path)p, modulus))
                    check_extremes(modulus, n, (geodec_ntt_path)p);
    }
}
