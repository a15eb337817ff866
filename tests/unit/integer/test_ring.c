/* The ring Z[w]: golden values, axioms, splitting of primes (R1), overflow at the exact bound. */
#include "base/rng.h"
#include "integer/ring_cases.h"
#include "lab/integer/ring/ring.h"
#include "support/support.h"

#include <criterion/criterion.h>

typedef geodec_ring_element element;
typedef geodec_status (*binary)(element, element, element *, geodec_err *);

static bool same(element x, element y) { return x.a == y.a && x.b == y.b; }

/* The golden result, or the refusal of one that does not fit. */
static void check(geodec_status st, element out, const json_t *wanted, const char *what)
{
    const bool fits = ring_fits(json_array_get(wanted, 0)) && ring_fits(json_array_get(wanted, 1));
    cr_assert_eq(st, fits ? GEODEC_OK : GEODEC_NUMERIC, "%s", what);
    if (fits) cr_assert(same(out, ring_element(wanted)), "%s", what);
}

static void check_number(geodec_status st, int64_t out, const json_t *wanted, const char *what)
{
    cr_assert_eq(st, ring_fits(wanted) ? GEODEC_OK : GEODEC_NUMERIC, "%s", what);
    if (st == GEODEC_OK) cr_assert_eq(out, (int64_t)test_json_word(wanted), "%s", what);
}

Test(ring, golden)
{
    static const struct {
        const char *key;
        binary f;
    } ops[] = {{"add", geodec_ring_add}, {"sub", geodec_ring_sub}, {"mul", geodec_ring_mul}, {"mul", geodec_ring_mul3}};
    json_t *j = test_json("golden/integer/ring_ops.json");
    int64_t cases = 0;
    EACH(j, "cases", c)
    {
        const element x = ring_element(test_json_get(c, "x")), y = ring_element(test_json_get(c, "y"));
        element out = {0, 0};
        int64_t n = 0;
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            const geodec_status st = ops[i].f(x, y, &out, NULL);
            check(st, out, test_json_get(c, ops[i].key), ops[i].key);
        }
        const element product = ring_element(test_json_get(c, "mul"));
        cr_assert(same(geodec_ring_mul_wrapped(x, y), product));
        cr_assert(same(geodec_ring_mul3_wrapped(x, y), product));
        geodec_status st = geodec_ring_conj(x, &out, NULL);
        check(st, out, test_json_get(c, "conj_x"), "conj");
        st = geodec_ring_norm(x, &n, NULL);
        check_number(st, n, test_json_get(c, "norm_x"), "norm");
        st = geodec_ring_trace(x, &n, NULL);
        check_number(st, n, test_json_get(c, "trace_x"), "trace");
        cases++;
    }
    EACH(j, "omega_powers", p)
    {
        element out = {0, 0};
        int64_t n = 0;
        geodec_status st = geodec_ring_pow((element){0, 1}, test_json_i64(p, "k"), &out, NULL);
        check(st, out, test_json_get(p, "omega_pow"), "power");
        st = geodec_ring_norm(out, &n, NULL);
        check_number(st, n, test_json_get(p, "norm"), "norm of a power");
        cases++;
    }
    EACH(j, "splitting", p)
    {
        static const char *const kind[] = {"inert", "split", "ramified"};
        geodec_ring_prime r;
        const json_t *roots = test_json_get(p, "roots");
        test_ok(geodec_ring_prime_of(test_json_i64(p, "p"), &r, NULL), (geodec_err *)NULL);
        cr_assert_str_eq(kind[r.kind], json_string_value(test_json_get(p, "type")));
        cr_assert_eq((size_t)r.n_roots, json_array_size(roots));
        for (int i = 0; i < r.n_roots; i++)
            cr_assert_eq(r.roots[i], (int64_t)test_json_word(json_array_get(roots, (size_t)i)));
        cases++;
    }
    cr_assert_geq(cases, 1);
    cr_log_info("%lld cases", (long long)cases);
    json_decref(j);
}

static element of(binary f, element x, element y)
{
    element out;
    test_ok(f(x, y, &out, NULL), (geodec_err *)NULL);
    return out;
}

static element conj_of(element x)
{
    element out;
    test_ok(geodec_ring_conj(x, &out, NULL), (geodec_err *)NULL);
    return out;
}

static int64_t norm_of(element x)
{
    int64_t n;
    test_ok(geodec_ring_norm(x, &n, NULL), (geodec_err *)NULL);
    return n;
}

Test(ring, axioms)
{
    geodec_rng g = geodec_rng_stream(15, 1);
    for (int i = 0; i < 2000; i++) {
        element v[3];
        for (int k = 0; k < 3; k++)
            v[k] = (element){(int64_t)geodec_rng_below(&g, 4001) - 2000, (int64_t)geodec_rng_below(&g, 4001) - 2000};
        const element x = v[0], y = v[1], z = v[2], xy = of(geodec_ring_mul, x, y);
        int64_t trace;
        cr_assert(same(xy, of(geodec_ring_mul, y, x)));
        cr_assert(same(xy, of(geodec_ring_mul3, x, y)));
        cr_assert(same(of(geodec_ring_mul, xy, z), of(geodec_ring_mul, x, of(geodec_ring_mul, y, z))));
        cr_assert(same(of(geodec_ring_mul, x, of(geodec_ring_add, y, z)),
                       of(geodec_ring_add, xy, of(geodec_ring_mul, x, z))));
        cr_assert(same(of(geodec_ring_sub, of(geodec_ring_add, x, y), y), x));
        cr_assert_eq(norm_of(xy), norm_of(x) * norm_of(y));
        cr_assert(same(of(geodec_ring_mul, x, conj_of(x)), (element){norm_of(x), 0}));
        cr_assert(same(conj_of(conj_of(x)), x));
        cr_assert(same(conj_of(xy), of(geodec_ring_mul, conj_of(x), conj_of(y))));
        test_ok(geodec_ring_trace(x, &trace, NULL), (geodec_err *)NULL);
        cr_assert(same(of(geodec_ring_add, x, conj_of(x)), (element){trace, 0}));
    }
    cr_assert(same(of(geodec_ring_mul, (element){0, 1}, (element){1, -1}), (element){41, 0}));
}

/* 42 B^2 <= 2^63 - 1 iff B <= 468619350: there no product overflows, one more and the worst one does, in both forms. */
static void worst(int64_t b, int64_t real, geodec_status wanted)
{
    const int64_t sign = real < 0 ? -1 : 1;
    const element x = {b, b}, y = {sign * b, -sign * b};
    element four = {real, 0}, three = {real, 0};
    cr_assert_eq(geodec_ring_mul(x, y, &four, NULL), wanted);
    cr_assert_eq(geodec_ring_mul3(x, y, &three, NULL), wanted);
    cr_assert(four.a == real && same(four, three)); /* unchanged where it is refused */
}

Test(ring, products_overflow_at_the_exact_bound)
{
    const int64_t most = 468619350, real = 42 * most * most;
    element out = {0, 0};
    worst(most, real, GEODEC_OK);
    worst(most, -real, GEODEC_OK);
    worst(most + 1, 1, GEODEC_NUMERIC);
    worst(most + 1, -1, GEODEC_NUMERIC);
    /* the exact ends of int64: 2^31 2^32 = 2^63 in the negative only */
    const element p = {-((int64_t)1 << 31), 0}, q = {(int64_t)1 << 32, 0}, r = {-((int64_t)1 << 32), 0};
    test_ok(geodec_ring_mul(p, q, &out, NULL), (geodec_err *)NULL);
    cr_assert_eq(out.a, INT64_MIN);
    cr_assert_eq(geodec_ring_mul(p, r, &out, NULL), GEODEC_NUMERIC);
}

/* Beyond 128 bits: 42 2^126 and the product of two sums of 65 bits. */
Test(ring, extremes)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    enum { ENDS = sizeof ends / sizeof *ends };
    int64_t refused = 0, given = 0;
    for (int i = 0; i < ENDS * ENDS * ENDS * ENDS; i++) {
        const element x = {ends[i % ENDS], ends[i / ENDS % ENDS]};
        const element y = {ends[i / (ENDS * ENDS) % ENDS], ends[i / (ENDS * ENDS * ENDS)]};
        element four = {0, 0}, three = {0, 0};
        const geodec_status st = geodec_ring_mul(x, y, &four, NULL);
        cr_assert_eq(geodec_ring_mul3(x, y, &three, NULL), st);
        cr_assert(same(four, three));
        if (st == GEODEC_OK) cr_assert(same(four, geodec_ring_mul_wrapped(x, y)));
        cr_assert(same(geodec_ring_mul_wrapped(x, y), geodec_ring_mul3_wrapped(x, y)));
        /* the real part of a product by a number of magnitude 0 or 1 is known in double */
        const double real = (double)x.a * (double)y.a - 41 * ((double)x.b * (double)y.b);
        const double imag = (double)x.a * (double)y.b + (double)x.b * (double)y.a + (double)x.b * (double)y.b;
        if (real > 1e19 || real < -1e19 || imag > 1e19 || imag < -1e19) cr_assert_eq(st, GEODEC_NUMERIC);
        if (real < 9e18 && real > -9e18 && imag < 9e18 && imag > -9e18) cr_assert_eq(st, GEODEC_OK);
        *(st == GEODEC_OK ? &given : &refused) += 1;
    }
    cr_assert(refused > 0 && given > 0);
    int64_t n;
    element out;
    cr_assert_eq(geodec_ring_norm((element){INT64_MIN, INT64_MIN}, &n, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_ring_trace((element){INT64_MAX, 0}, &n, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_ring_conj((element){0, INT64_MIN}, &out, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_ring_add((element){0, INT64_MAX}, (element){0, 1}, &out, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_ring_sub((element){INT64_MIN, 0}, (element){1, 0}, &out, NULL), GEODEC_NUMERIC);
}

Test(ring, powers)
{
    element out;
    test_ok(geodec_ring_pow((element){0, 1}, 8, &out, NULL), (geodec_err *)NULL);
    cr_assert(same(out, (element){2420599, -259119}));
    cr_assert_eq(norm_of(out), 7984925229121);
    test_ok(geodec_ring_pow((element){2, 0}, 62, &out, NULL), (geodec_err *)NULL);
    cr_assert(same(out, (element){(int64_t)1 << 62, 0}));
    cr_assert_eq(geodec_ring_pow((element){2, 0}, 63, &out, NULL), GEODEC_NUMERIC);
    test_ok(geodec_ring_pow((element){-1, 0}, INT64_MAX, &out, NULL), (geodec_err *)NULL);
    cr_assert(same(out, (element){-1, 0}));
    test_ok(geodec_ring_pow((element){5, 7}, 0, &out, NULL), (geodec_err *)NULL);
    cr_assert(same(out, (element){1, 0}));
    cr_assert_eq(geodec_ring_pow((element){5, 7}, -1, &out, NULL), GEODEC_RANGE);
}

/* Roots by trial, the count of split primes below 200, and large primes, where every root is checked. */
Test(ring, splitting)
{
    static const int64_t split[] = {41, 43, 47, 53, 61, 71, 83, 97, 113, 131, 151, 167, 173, 179, 197, 199};
    enum { BELOW = 2000, ROOM = 400 };
    geodec_ring_prime table[ROOM];
    const int64_t n = geodec_ring_primes_below(BELOW, table, ROOM);
    size_t found = 0;
    cr_assert_eq(n, 303); /* primes below 2000 */
    for (int64_t i = 0; i < n; i++) {
        const int64_t p = table[i].p;
        int count = 0;
        for (int64_t x = 0; x < p; x++)
            if ((x * x - x + 41) % p == 0) cr_assert_eq(table[i].roots[count++], x, "p = %lld", (long long)p);
        cr_assert_eq(table[i].n_roots, count);
        cr_assert_eq(table[i].kind, count == 2   ? GEODEC_RING_SPLIT
                                    : count == 1 ? GEODEC_RING_RAMIFIED
                                                 : GEODEC_RING_INERT);
        if (p < 200 && count == 2) cr_assert_eq(p, split[found++]);
    }
    cr_assert_eq(found, sizeof split / sizeof *split);
    /* x^2 - x + 41 is prime for x = 1 .. 40, and these primes split */
    for (int64_t x = 1; x <= 40; x++) {
        geodec_ring_prime r;
        test_ok(geodec_ring_prime_of(x * x - x + 41, &r, NULL), (geodec_err *)NULL);
        cr_assert_eq(r.kind, GEODEC_RING_SPLIT);
        cr_assert(r.roots[0] == x || r.roots[1] == x);
    }
    for (int64_t p = GEODEC_RING_PRIME_MAX; p > GEODEC_RING_PRIME_MAX - 600; p--) {
        geodec_ring_prime r;
        if (geodec_ring_prime_of(p, &r, NULL) != GEODEC_OK) continue;
        for (int i = 0; i < r.n_roots; i++) cr_assert_eq((r.roots[i] * (r.roots[i] - 1) + 41) % p, 0);
    }
    geodec_ring_prime r;
    cr_assert_eq(geodec_ring_prime_of(1, &r, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_prime_of(1681, &r, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_prime_of((int64_t)1 << 40, &r, NULL), GEODEC_RANGE);
}
