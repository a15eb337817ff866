/* Modular products, Garner, negacyclic products, scores and correlation: golden values, limits. */
#include "base/mem.h"
#include "base/rng.h"
#include "integer/fixed/mulmod.h"
#include "lab/integer/ntt/correlate.h"
#include "support/json.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const geodec_modulus *named(const char *name)
{
    for (int i = 0; i < GEODEC_MODULI; i++)
        if (strcmp(geodec_modulus_of((geodec_modulus_id)i)->name, name) == 0)
            return geodec_modulus_of((geodec_modulus_id)i);
    cr_assert_fail("no modulus %s", name);
    return NULL;
}

static const char *text(const json_t *o, const char *key) { return json_string_value(test_json_get(o, key)); }

static void check_montgomery(const json_t *o, const char *key, uint64_t q, int bits)
{
    const json_t *j = json_object_get(o, key);
    if (!j) return;
    const geodec_mulmod_montgomery c = geodec_mulmod_montgomery_of(q, bits);
    cr_assert_eq(c.negative, test_json_u64(j, "neg_qinv"));
    cr_assert_eq(c.one, test_json_u64(j, "R_mod_q"));
    cr_assert_eq(c.square, test_json_u64(j, "R2_mod_q"));
}

Test(ntt_products, constants)
{
    json_t *j = test_json("golden/integer/constants.json");
    const json_t *primes = test_json_get(j, "primes");
    int montgomery32 = 0;
    cr_assert_eq(json_array_size(primes), (size_t)GEODEC_MODULI);
    for (size_t i = 0; i < json_array_size(primes); i++) {
        const json_t *o = json_array_get(primes, i), *b = test_json_get(o, "barrett"),
                     *roots = test_json_get(o, "roots");
        const geodec_modulus *m = named(text(o, "name"));
        cr_assert_eq(m->q, test_json_u64(o, "q"));
        cr_assert_eq(m->bits, test_json_i64(o, "bits"));
        cr_assert_eq(m->v2, test_json_i64(o, "v2"));
        cr_assert_eq(m->most, test_json_i64(o, "max_N"));
        cr_assert_eq(m->qnr, test_json_u64(o, "qnr"));
        cr_assert_eq((m->q - 1) >> m->v2, test_json_u64(o, "odd_part"));
        const geodec_mulmod_barrett classical = geodec_mulmod_classical(m->q), tight = geodec_mulmod_tight(m->q);
        cr_assert_eq(classical.mu, test_json_u64(b, "mu_hac"));
        cr_assert_eq(classical.first, test_json_i64(b, "shift1_hac"));
        cr_assert_eq(classical.second, test_json_i64(b, "shift2_hac"));
        cr_assert_eq(tight.mu, test_json_u64(b, "mu_tight"));
        cr_assert_eq(tight.first, test_json_i64(b, "shift1_tight"));
        cr_assert_eq(tight.second, test_json_i64(b, "shift2_tight"));
        check_montgomery(o, "montgomery64", m->q, 64);
        check_montgomery(o, "montgomery32", m->q, 32);
        montgomery32 += json_object_get(o, "montgomery32") != NULL;
        for (size_t r = 0; r < json_array_size(roots); r++) {
            const json_t *e = json_array_get(roots, r);
            const int64_t n = test_json_i64(e, "N");
            const uint64_t psi = geodec_modulus_root(m, n), inverse = geodec_modulus_inverse(m->q, (uint64_t)n);
            cr_assert_eq(psi, test_json_u64(e, "psi"));
            cr_assert_eq(geodec_modulus_inverse(m->q, psi), test_json_u64(e, "psi_inv"));
            cr_assert_eq(geodec_modulus_power(m->q, psi, 2), test_json_u64(e, "omega"));
            cr_assert_eq(geodec_modulus_power(m->q, psi, (uint64_t)n), m->q - 1);
            cr_assert_eq(inverse, test_json_u64(e, "n_inv"));
            cr_assert_eq(geodec_mulmod_quotient(psi, 64, m->q, NULL), test_json_u64(e, "psi_shoup64"));
            cr_assert_eq(geodec_mulmod_quotient(inverse, 64, m->q, NULL), test_json_u64(e, "n_inv_shoup64"));
            if (json_object_get(e, "psi_shoup32"))
                cr_assert_eq(geodec_mulmod_quotient(psi, 32, m->q, NULL), test_json_u64(e, "psi_shoup32"));
        }
    }
    cr_assert_eq(montgomery32, 4);
    const json_t *pairs = test_json_get(j, "crt");
    const geodec_crt q = geodec_crt_of(named("q1"), named("q2")), w = geodec_crt_of(named("w1"), named("w2"));
    for (int i = 0; i < 2; i++) {
        const json_t *o = test_json_get(pairs, i ? "w1w2" : "q1q2");
        const geodec_crt *c = i ? &w : &q;
        cr_assert_eq(c->product, test_json_u64(o, "M"));
        cr_assert_eq(c->half, test_json_u64(o, "half"));
        cr_assert_eq(c->inverse, test_json_u64(o, "qa_inv_mod_qb"));
        cr_assert_eq(geodec_modulus_inverse(c->a->q, c->b->q % c->a->q), test_json_u64(o, "qb_inv_mod_qa"));
    }
    json_decref(j);
}

/* Every product by every method. */
static void check_product(const geodec_modulus *m, uint64_t a, uint64_t b, uint64_t want, int classical, int tight)
{
    const uint64_t q = m->q;
    const geodec_mulmod_wide x = geodec_mulmod_product(a, b), y = geodec_mulmod_product_portable(a, b);
    const geodec_mulmod_barrett c = geodec_mulmod_classical(q), t = geodec_mulmod_tight(q);
    int n = -1;
    cr_assert(x.low == y.low && x.high == y.high);
    cr_assert_eq(geodec_mulmod_reduce(&c, x, &n), want);
    if (classical >= 0) cr_assert_eq(n, classical);
    cr_assert_leq(n, m->bits == 60 ? 2 : 1);
    cr_assert_eq(geodec_mulmod_reduce(&t, x, &n), want);
    if (tight >= 0) cr_assert_eq(n, tight);
    cr_assert_leq(n, 1);
    cr_assert_eq(geodec_mulmod_reduce_portable(&c, x), want);
    cr_assert_eq(geodec_mulmod_reduce_portable(&t, x), want);
    const uint64_t s64 = geodec_mulmod_quotient(b, 64, q, NULL), lazy = geodec_mulmod_shoup64_lazy(a, b, s64, q);
    cr_assert_lt(lazy, 2 * q);
    cr_assert_eq(geodec_mulmod_once(lazy, q), want);
    cr_assert_eq(geodec_mulmod_shoup64_portable(a, b, s64, q), lazy);
    const geodec_mulmod_montgomery m64 = geodec_mulmod_montgomery_of(q, 64);
    cr_assert_lt(geodec_mulmod_redc64_lazy(&m64, x), 2 * q);
    cr_assert_eq(geodec_mulmod_montgomery_multiply(&m64, a, b), want);
    if (m->bits > 32) return;
    const uint64_t l52 = geodec_mulmod_shoup52_lazy(a, b, geodec_mulmod_quotient(b, 52, q, NULL), q);
    const uint32_t l32 = geodec_mulmod_shoup32_lazy((uint32_t)a, (uint32_t)b,
                                                    (uint32_t)geodec_mulmod_quotient(b, 32, q, NULL), (uint32_t)q);
    cr_assert(l52 < 2 * q && l32 < 2 * q);
    cr_assert_eq(geodec_mulmod_once(l52, q), want);
    cr_assert_eq(geodec_mulmod_once(l32, q), want);
    const geodec_mulmod_montgomery m32 = geodec_mulmod_montgomery_of(q, 32);
    cr_assert_lt(geodec_mulmod_redc32_lazy(&m32, a * b), 2 * q);
    cr_assert_eq(geodec_mulmod_montgomery_multiply(&m32, a, b), want);
}

Test(ntt_products, mulmod)
{
    json_t *j = test_json("golden/integer/mulmod.json");
    const json_t *cases = test_json_get(j, "cases");
    int two = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *o = json_array_get(cases, i), *products = test_json_get(o, "products");
        const geodec_modulus *m = named(text(o, "prime"));
        for (size_t k = 0; k < json_array_size(products); k++) {
            const json_t *p = json_array_get(products, k);
            const int classical = (int)test_json_i64(p, "corr_hac");
            two += classical == 2;
            check_product(m, test_json_u64(p, "a"), test_json_u64(p, "b"), test_json_u64(p, "r"), classical,
                          (int)test_json_i64(p, "corr_tight"));
        }
    }
    cr_assert_gt(two, 0);
    json_decref(j);
    geodec_rng r = geodec_rng_stream(15, 1);
    for (int i = 0; i < 20000; i++) {
        const geodec_modulus *m = geodec_modulus_of((geodec_modulus_id)(i % GEODEC_MODULI));
        const uint64_t a = geodec_rng_u64(&r) % m->q, b = geodec_rng_u64(&r) % m->q;
        uint64_t want;
        (void)geodec_mulmod_quotient(1, 1, m->q, &want);
        want = 0;
        for (int bit = 59; bit >= 0; bit--) { /* by doubling */
            want = 2 * want % m->q;
            if (a >> bit & 1) want = (want + b) % m->q;
        }
        check_product(m, a, b, want, -1, -1);
    }
}

/* The butterflies at the ends of their ranges. */
Test(ntt_products, lazy_ranges)
{
    geodec_rng r = geodec_rng_stream(15, 2);
    for (int i = 0; i < 50000; i++) {
        const geodec_modulus *m = geodec_modulus_of((geodec_modulus_id)(i % GEODEC_MODULI));
        const uint64_t q = m->q, w = i % 11 == 0 ? q - 1 : geodec_rng_u64(&r) % q,
                       scaled = geodec_mulmod_quotient(w, 64, q, NULL);
        uint64_t x = i % 3 == 0 ? 4 * q - 1 : geodec_rng_u64(&r) % (4 * q),
                 y = i % 5 == 0 ? 4 * q - 1 : geodec_rng_u64(&r) % (4 * q);
        const geodec_mulmod_barrett c = geodec_mulmod_tight(q);
        const uint64_t t = geodec_mulmod_reduce(&c, geodec_mulmod_product(y % q, w), NULL), a = x % q;
        geodec_mulmod_harvey_forward(&x, &y, w, scaled, q);
        cr_assert(x < 4 * q && y < 4 * q);
        cr_assert_eq(x % q, (a + t) % q);
        cr_assert_eq(y % q, (a + q - t) % q);
        x = i % 3 == 0 ? 2 * q - 1 : geodec_rng_u64(&r) % (2 * q);
        y = i % 5 == 0 ? 2 * q - 1 : geodec_rng_u64(&r) % (2 * q);
        const uint64_t sum = (x + y) % q,
                       difference = geodec_mulmod_reduce(&c, geodec_mulmod_product((x % q + q - y % q) % q, w), NULL);
        geodec_mulmod_harvey_inverse(&x, &y, w, scaled, q);
        cr_assert(x < 2 * q && y < 2 * q);
        cr_assert_eq(x % q, sum);
        cr_assert_eq(y % q, difference);
        const uint64_t any = geodec_rng_u64(&r) | (i % 2 ? 0 : UINT64_C(3) << 62); /* every x below 2^64 */
        cr_assert_lt(geodec_mulmod_shoup64_lazy(any, w, scaled, q), 2 * q);
        if (m->bits == 30)
            cr_assert_lt(geodec_mulmod_shoup32_lazy((uint32_t)any, (uint32_t)w,
                                                    (uint32_t)geodec_mulmod_quotient(w, 32, q, NULL), (uint32_t)q),
                         2 * q);
    }
}

static const geodec_modulus *modulus_of(uint64_t q)
{
    for (int i = 0; i < GEODEC_MODULI; i++)
        if (geodec_modulus_of((geodec_modulus_id)i)->q == q) return geodec_modulus_of((geodec_modulus_id)i);
    return NULL;
}

static bool in_range(const geodec_crt *c, int64_t x) { return (x < 0 ? 0 - (uint64_t)x : (uint64_t)x) <= c->half; }

Test(ntt_products, garner)
{
    json_t *j = test_json("golden/integer/garner.json");
    const json_t *pairs = test_json_get(j, "pairs");
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *o = json_array_get(pairs, i), *cases = test_json_get(o, "cases"),
                     *out = test_json_get(o, "out_of_range");
        const geodec_modulus *a = modulus_of(test_json_u64(o, "qa")), *b = modulus_of(test_json_u64(o, "qb")),
                             *p60 = named("p60");
        cr_assert(a && b);
        const geodec_crt c = geodec_crt_of(a, b);
        const geodec_crt_triple triple = geodec_crt_triple_of(a, b);
        for (size_t k = 0; k < json_array_size(cases); k++) {
            const json_t *e = json_array_get(cases, k);
            const int64_t x = test_json_i64(e, "x");
            uint64_t t;
            const uint64_t ra = test_json_u64(e, "ra"), rb = test_json_u64(e, "rb");
            cr_assert_eq(geodec_modulus_residue(a, x), ra);
            cr_assert_eq(geodec_modulus_residue(b, x), rb);
            cr_assert_eq(geodec_crt_join(&c, ra, rb, &t), test_json_u64(e, "unsigned"));
            cr_assert_eq(t, test_json_u64(e, "t"));
            cr_assert_eq(geodec_crt_centred(&c, ra, rb), x);
            cr_assert(in_range(&c, x));
            cr_assert(geodec_crt_agrees(p60, x, geodec_modulus_residue(p60, x)));
            const geodec_crt_wide w = geodec_crt_triple_centred(&triple, ra, rb, geodec_modulus_residue(p60, x));
            cr_assert(w.low == (uint64_t)x && w.high == x >> 63);
        }
        for (size_t k = 0; k < json_array_size(out); k++) {
            const json_t *e = json_array_get(out, k);
            const int64_t x = test_json_i64(e, "x");
            const int64_t got = geodec_crt_centred(&c, test_json_u64(e, "ra"), test_json_u64(e, "rb"));
            cr_assert_eq(got, test_json_i64(e, "recovered"));
            cr_assert_not(in_range(&c, x));
            cr_assert_not(geodec_crt_agrees(p60, got, geodec_modulus_residue(p60, x)), "not detected");
            const geodec_crt_wide w = geodec_crt_triple_centred(&triple, test_json_u64(e, "ra"), test_json_u64(e, "rb"),
                                                                geodec_modulus_residue(p60, x));
            cr_assert(w.low == (uint64_t)x && w.high == x >> 63);
        }
    }
    json_decref(j);
}

static geodec_negacyclic *ring(int64_t n, geodec_negacyclic_by by, geodec_ntt_path path)
{
    geodec_negacyclic *p = NULL;
    geodec_err err = {0};
    cr_assert_eq(geodec_negacyclic_create(n, by, path, &p, &err), GEODEC_OK);
    return p;
}

/* A coefficient by the definition, in 128 bits. */
static geodec_crt_wide coefficient(const int64_t *a, const int64_t *b, int64_t n, int64_t at)
{
    geodec_crt_wide sum = {0};
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = at - i < 0 ? at - i + n : at - i;
        const uint64_t x = (uint64_t)(a[i] < 0 ? -a[i] : a[i]), y = (uint64_t)(b[j] < 0 ? -b[j] : b[j]);
        geodec_mulmod_wide p = geodec_mulmod_product(x, y);
        if (((a[i] < 0) != (b[j] < 0)) != (i + j != at)) {
            p.low = 0 - p.low;
            p.high = ~p.high + (p.low == 0);
        }
        sum.low += p.low;
        sum.high = (int64_t)((uint64_t)sum.high + p.high + (sum.low < p.low));
    }
    return sum;
}

static void check_negacyclic(const json_t *o, geodec_ntt_path path, int *limits)
{
    int64_t n;
    int64_t *a = test_json_i64s(o, "a", &n), *b = test_json_i64s(o, "b", NULL), *c = geodec_mem_new(n, sizeof *c);
    geodec_crt_wide *wide = geodec_mem_new(n, sizeof *wide);
    geodec_err err = {0};
    for (int by = GEODEC_NEGACYCLIC_P60; by <= GEODEC_NEGACYCLIC_W1W2; by++) {
        geodec_negacyclic *p = ring(n, (geodec_negacyclic_by)by, path);
        const bool p60 = by == GEODEC_NEGACYCLIC_P60, golden = p60 || by == GEODEC_NEGACYCLIC_Q1Q2;
        bool exact;
        geodec_negacyclic_load(p, a);
        cr_assert_eq(geodec_negacyclic_multiply(p, b, c, &exact, &err), GEODEC_OK);
        int64_t *want = test_json_i64s(o, p60 ? "mod_p60_centred" : "crt_q1q2_centred", NULL);
        int64_t *right = test_json_i64s(o, "exact", NULL); /* modulo 2^64 */
        if (golden) {
            cr_assert_arr_eq(c, want, (size_t)n * sizeof *c);
            if (exact) cr_assert(json_is_true(test_json_get(o, p60 ? "exact_under_p60" : "exact_under_q1q2")));
        }
        if (exact) cr_assert_arr_eq(c, right, (size_t)n * sizeof *c);
        geodec_err_clear(&err);
        const geodec_status st = geodec_negacyclic_multiply(p, b, c, NULL, &err);
        cr_assert_eq(st, exact ? GEODEC_OK : GEODEC_LIMIT);
        *limits += !exact;
        geodec_err_clear(&err);
        GEODEC_FREE(want, right);
        geodec_negacyclic_destroy(p);
    }
    geodec_negacyclic *p = ring(n, GEODEC_NEGACYCLIC_WIDE, path);
    geodec_negacyclic_load(p, a);
    cr_assert_eq(geodec_negacyclic_multiply_wide(p, b, wide, NULL, &err), GEODEC_OK);
    for (int64_t i = 0; i < n; i++) {
        const geodec_crt_wide want = coefficient(a, b, n, i);
        cr_assert(wide[i].low == want.low && wide[i].high == want.high);
        cr_assert_eq(wide[i].low, test_json_word(json_array_get(test_json_get(o, "exact"), (size_t)i)));
    }
    geodec_negacyclic_destroy(p);
    GEODEC_FREE(a, b, c, wide);
}

Test(ntt_products, negacyclic)
{
    json_t *j = test_json("golden/integer/negacyclic.json");
    const json_t *cases = test_json_get(j, "cases");
    int limits = 0;
    for (int p = GEODEC_NTT_AUTO; p < GEODEC_NTT_PATHS; p++)
        for (size_t i = 0; i < json_array_size(cases); i++)
            check_negacyclic(json_array_get(cases, i), (geodec_ntt_path)p, &limits);
    cr_assert_gt(limits, 0);
    json_decref(j);
}

/* Up to N = 32768, with coefficients beyond int64. */
Test(ntt_products, negacyclic_large)
{
    geodec_rng r = geodec_rng_stream(15, 4);
    geodec_err err = {0};
    for (int64_t n = 1024; n <= GEODEC_NEGACYCLIC_MOST; n *= 32) {
        int64_t *a = geodec_mem_new(n, sizeof *a), *b = geodec_mem_new(n, sizeof *b), *c = geodec_mem_new(n, sizeof *c),
                *d = geodec_mem_new(n, sizeof *d);
        geodec_crt_wide *wide = geodec_mem_new(n, sizeof *wide);
        for (int64_t i = 0; i < n; i++) {
            a[i] = (int64_t)(geodec_rng_u64(&r) >> 44) - (1 << 19);
            b[i] = (int64_t)(geodec_rng_u64(&r) >> 44) - (1 << 19);
        }
        geodec_negacyclic *p = ring(n, GEODEC_NEGACYCLIC_P60, GEODEC_NTT_AUTO),
                          *w = ring(n, GEODEC_NEGACYCLIC_AUTO, GEODEC_NTT_AUTO),
                          *x = ring(n, GEODEC_NEGACYCLIC_WIDE, GEODEC_NTT_AUTO);
        geodec_negacyclic_load(p, a);
        geodec_negacyclic_load(w, a);
        cr_assert_eq(geodec_negacyclic_multiply(p, b, c, NULL, &err), GEODEC_OK);
        cr_assert_eq(geodec_negacyclic_multiply(w, b, d, NULL, &err), GEODEC_OK);
        cr_assert_arr_eq(c, d, (size_t)n * sizeof *c);
        cr_assert_eq((uint64_t)c[7], coefficient(a, b, n, 7).low);
        for (int64_t i = 0; i < n; i++) {
            a[i] = (int64_t)geodec_rng_u64(&r) >> 12;
            b[i] = (int64_t)geodec_rng_u64(&r) >> 14;
        }
        geodec_negacyclic_load(x, a);
        cr_assert_eq(geodec_negacyclic_multiply_wide(x, b, wide, NULL, &err), GEODEC_OK);
        for (int64_t at = 0; at < n; at += n / 8 - 1) {
            const geodec_crt_wide want = coefficient(a, b, n, at);
            cr_assert(wide[at].low == want.low && wide[at].high == want.high);
        }
        bool exact = true;
        geodec_negacyclic_load(p, a);
        cr_assert_eq(geodec_negacyclic_multiply(p, b, c, &exact, &err), GEODEC_OK);
        cr_assert_not(exact);
        geodec_negacyclic_destroy(p);
        geodec_negacyclic_destroy(w);
        geodec_negacyclic_destroy(x);
        GEODEC_FREE(a, b, c, d, wide);
    }
    geodec_negacyclic *none = NULL;
    cr_assert_eq(geodec_negacyclic_create(1024, GEODEC_NEGACYCLIC_Q1Q2, GEODEC_NTT_AUTO, &none, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_negacyclic_create(65536, GEODEC_NEGACYCLIC_P60, GEODEC_NTT_AUTO, &none, NULL), GEODEC_INVAL);
    cr_assert_eq(geodec_negacyclic_create(24, GEODEC_NEGACYCLIC_P60, GEODEC_NTT_AUTO, &none, NULL), GEODEC_INVAL);
}

Test(ntt_products, scores)
{
    json_t *j = test_json("golden/integer/dot.json");
    const json_t *cases = test_json_get(j, "cases");
    int wrong = 0;
    for (int p = GEODEC_NTT_AUTO; p < GEODEC_NTT_PATHS; p++)
        for (size_t i = 0; i < json_array_size(cases); i++) {
            const json_t *o = json_array_get(cases, i);
            int64_t n;
            int64_t *q = test_json_i64s(o, "q", &n), *k = test_json_i64s(o, "k", NULL);
            for (int pair = 0; pair < 2; pair++) {
                geodec_negacyclic *r =
                    ring(n, pair ? GEODEC_NEGACYCLIC_Q1Q2 : GEODEC_NEGACYCLIC_P60, (geodec_ntt_path)p);
                geodec_negacyclic_load(r, q);
                const int64_t got = geodec_negacyclic_score(r, k), dot = test_json_i64(o, "dot");
                cr_assert_eq(got, test_json_i64(o, pair ? "via_q1q2" : "via_p60"));
                cr_assert_eq(got == dot, json_is_true(test_json_get(o, pair ? "exact_q1q2" : "exact_p60")));
                cr_assert_eq(got == dot, (dot < 0 ? -dot : dot) <= geodec_negacyclic_range(r));
                wrong += got != dot;
                geodec_negacyclic_destroy(r);
            }
            GEODEC_FREE(q, k);
        }
    cr_assert_gt(wrong, 0);
    json_decref(j);
}

Test(ntt_products, correlation)
{
    json_t *j = test_json("golden/integer/correlation.json");
    const json_t *cases = test_json_get(j, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *o = json_array_get(cases, i);
        int64_t d, n, shifts;
        int64_t *q = test_json_i64s(o, "q", &d), *s = test_json_i64s(o, "s", &n),
                *want = test_json_i64s(o, "valid_correlation", &shifts), *out = geodec_mem_new(shifts, sizeof *out);
        cr_assert_eq(shifts, n - d + 1);
        for (int by = 0; by < GEODEC_CORRELATE_METHODS; by++)
            for (int p = GEODEC_NTT_AUTO; p < GEODEC_NTT_PATHS; p++) {
                geodec_correlate_report r;
                memset(out, 1, (size_t)shifts * sizeof *out);
                cr_assert_eq(
                    geodec_correlate_run(q, d, s, n, (geodec_correlate_by)by, (geodec_ntt_path)p, out, &r, NULL),
                    GEODEC_OK);
                cr_assert_arr_eq(out, want, (size_t)shifts * sizeof *out, "%s %s",
                                 geodec_correlate_name((geodec_correlate_by)by),
                                 geodec_ntt_path_name((geodec_ntt_path)p));
                if (by) cr_assert_eq(r.by, (geodec_correlate_by)by);
            }
        GEODEC_FREE(q, s, want, out);
    }
    json_decref(j);
}

/* Methods agree with the definition at every length, and refuse what they cannot do exactly. */
Test(ntt_products, correlation_lengths)
{
    geodec_rng r = geodec_rng_stream(15, 5);
    enum { N = 5000 };
    static int64_t q[N], s[N], a[N], b[N];
    for (int bits = 8; bits <= 32; bits += 8)
        for (int64_t d = 1; d < N; d = 3 * d + 1)
            for (int64_t n = d; n <= N; n += N / 3) {
                for (int64_t i = 0; i < d; i++)
                    q[i] = (int64_t)geodec_rng_u64(&r) >> (64 - bits / (bits == 32 ? 2 : 1));
                for (int64_t i = 0; i < n; i++)
                    s[i] = i % 9 ? (int64_t)geodec_rng_u64(&r) >> (64 - bits) : -((int64_t)1 << (bits - 1));
                cr_assert_eq(
                    geodec_correlate_run(q, d, s, n, GEODEC_CORRELATE_DIRECT, GEODEC_NTT_SCALAR, a, NULL, NULL),
                    GEODEC_OK);
                for (int by = 0; by < GEODEC_CORRELATE_METHODS; by++)
                    for (int p = GEODEC_NTT_AUTO; p < GEODEC_NTT_PATHS; p += 2) {
                        geodec_err err = {0};
                        const geodec_status st = geodec_correlate_run(q, d, s, n, (geodec_correlate_by)by,
                                                                      (geodec_ntt_path)p, b, NULL, &err);
                        if (st == GEODEC_LIMIT && by >= GEODEC_CORRELATE_P60 && bits == 32) continue;
                        cr_assert_eq(st, GEODEC_OK);
                        cr_assert_arr_eq(a, b, (size_t)(n - d + 1) * sizeof *a);
                    }
            }
    for (int i = 0; i < N; i++) q[i] = s[i] = INT32_MAX;
    cr_assert_eq(geodec_correlate_run(q, 4, s, N, GEODEC_CORRELATE_PAIR, GEODEC_NTT_AUTO, a, NULL, NULL), GEODEC_LIMIT);
    cr_assert_eq(geodec_correlate_run(q, 3, s, N, GEODEC_CORRELATE_DIRECT, GEODEC_NTT_AUTO, a, NULL, NULL),
                 GEODEC_LIMIT);
    cr_assert_eq(geodec_correlate_run(q, 2, s, N, GEODEC_CORRELATE_DIRECT, GEODEC_NTT_AUTO, a, NULL, NULL), GEODEC_OK);
    cr_assert_eq(geodec_correlate_run(q, 5, s, 4, GEODEC_CORRELATE_AUTO, GEODEC_NTT_AUTO, a, NULL, NULL), GEODEC_INVAL);
    q[1] = (int64_t)INT32_MAX + 1;
    cr_assert_eq(geodec_correlate_run(q, 2, s, N, GEODEC_CORRELATE_AUTO, GEODEC_NTT_AUTO, a, NULL, NULL), GEODEC_LIMIT);
    cr_assert_eq(geodec_correlate_choose(1000, 1000000, true).by, GEODEC_CORRELATE_P60);
    cr_assert_eq(geodec_correlate_choose(8, 1000000, true).by, GEODEC_CORRELATE_DIRECT);
}
