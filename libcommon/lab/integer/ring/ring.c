#include "lab/integer/ring/ring.h"

#include "lab/integer/ring/ring_internal.h"

static geodec_status overflow(const char *what, geodec_err *err)
{
    GEODEC_FAIL(GEODEC_NUMERIC, "the %s does not fit in 64 bits", what);
}

geodec_status geodec_ring_add(geodec_ring_element x, geodec_ring_element y, geodec_ring_element *out, geodec_err *err)
{
    geodec_ring_element r;
    if (__builtin_add_overflow(x.a, y.a, &r.a) || __builtin_add_overflow(x.b, y.b, &r.b)) return overflow("sum", err);
    *out = r;
    return GEODEC_OK;
}

geodec_status geodec_ring_sub(geodec_ring_element x, geodec_ring_element y, geodec_ring_element *out, geodec_err *err)
{
    geodec_ring_element r;
    if (__builtin_sub_overflow(x.a, y.a, &r.a) || __builtin_sub_overflow(x.b, y.b, &r.b))
        return overflow("difference", err);
    *out = r;
    return GEODEC_OK;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

geodec_ring_element geodec_ring_mul_wrapped(geodec_ring_element x, geodec_ring_element y)
{
    const uint64_t a = (uint64_t)x.a, b = (uint64_t)x.b, c = (uint64_t)y.a, d = (uint64_t)y.b;
    return (geodec_ring_element){(int64_t)(a * c - 41 * (b * d)), (int64_t)(a * d + b * c + b * d)};
}

geodec_ring_element geodec_ring_mul3_wrapped(geodec_ring_element x, geodec_ring_element y)
{
    const uint64_t a = (uint64_t)x.a, b = (uint64_t)x.b, c = (uint64_t)y.a, d = (uint64_t)y.b;
    const uint64_t ac = a * c, bd = b * d;
    return (geodec_ring_element){(int64_t)(ac - 41 * bd), (int64_t)((a + b) * (c + d) - ac)};
}

static geodec_status product(const geodec__ring_sum *real, const geodec__ring_sum *imag, geodec_ring_element *out,
                             geodec_err *err)
{
    if (!geodec__ring_sum_fits(real) || !geodec__ring_sum_fits(imag)) return overflow("product", err);
    *out = (geodec_ring_element){geodec__ring_sum_low(real), geodec__ring_sum_low(imag)};
    return GEODEC_OK;
}

geodec_status geodec_ring_mul(geodec_ring_element x, geodec_ring_element y, geodec_ring_element *out, geodec_err *err)
{
    geodec__ring_sum ac = {{0}}, bd = {{0}}, ad = {{0}}, bc = {{0}};
    geodec__ring_sum_add(&ac, x.a, y.a);
    geodec__ring_sum_add(&bd, x.b, y.b);
    geodec__ring_sum_add(&ad, x.a, y.b);
    geodec__ring_sum_add(&bc, x.b, y.a);
    geodec__ring_sum_combine(&ac, &bd, &ad, &bc);
    return product(&ac, &ad, out, err);
}

/* (a + b)(c + d) of any int64: a sum is its wrapped value plus -1, 0 or 1 times 2^64. */
static geodec__ring_sum product_of_sums(geodec_ring_element x, geodec_ring_element y)
{
    int64_t s, t;
    const int s_high = __builtin_add_overflow(x.a, x.b, &s) ? (x.a < 0 ? -1 : 1) : 0;
    const int t_high = __builtin_add_overflow(y.a, y.b, &t) ? (y.a < 0 ? -1 : 1) : 0;
    geodec__ring_sum p = {{0}};
    geodec__ring_sum_add(&p, s, t);
    const geodec__ring_sum left = {{0, (uint64_t)s, s < 0 ? UINT64_MAX : 0}},
                           right = {{0, (uint64_t)t, t < 0 ? UINT64_MAX : 0}};
    if (t_high) geodec__ring_sum_join(&p, t_high, &left);
    if (s_high) geodec__ring_sum_join(&p, s_high, &right);
    p.limb[2] += (uint64_t)(int64_t)(s_high * t_high);
    return p;
}

geodec_status geodec_ring_mul3(geodec_ring_element x, geodec_ring_element y, geodec_ring_element *out, geodec_err *err)
{
    geodec__ring_sum ac = {{0}}, bd = {{0}}, imag = product_of_sums(x, y);
    geodec__ring_sum_add(&ac, x.a, y.a);
    geodec__ring_sum_join(&imag, -1, &ac);
    geodec__ring_sum_add(&bd, x.b, y.b);
    geodec__ring_sum_scale(&bd, 41);
    geodec__ring_sum_join(&ac, -1, &bd);
    return product(&ac, &imag, out, err);
}

geodec_status geodec_ring_conj(geodec_ring_element x, geodec_ring_element *out, geodec_err *err)
{
    geodec_ring_element r;
    if (__builtin_add_overflow(x.a, x.b, &r.a) || __builtin_sub_overflow((int64_t)0, x.b, &r.b))
        return overflow("conjugate", err);
    *out = r;
    return GEODEC_OK;
}

geodec_status geodec_ring_norm(geodec_ring_element x, int64_t *out, geodec_err *err)
{
    geodec__ring_sum n = {{0}};
    geodec__ring_sum_add(&n, x.b, x.b);
    geodec__ring_sum_scale(&n, 41);
    geodec__ring_sum_add(&n, x.a, x.a);
    geodec__ring_sum_add(&n, x.a, x.b);
    if (!geodec__ring_sum_fits(&n)) return overflow("norm", err);
    *out = geodec__ring_sum_low(&n);
    return GEODEC_OK;
}

geodec_status geodec_ring_trace(geodec_ring_element x, int64_t *out, geodec_err *err)
{
    geodec__ring_sum t = {{0}};
    geodec__ring_sum_add(&t, x.a, 2);
    geodec__ring_sum_add(&t, x.b, 1);
    if (!geodec__ring_sum_fits(&t)) return overflow("trace", err);
    *out = geodec__ring_sum_low(&t);
    return GEODEC_OK;
}

geodec_status geodec_ring_pow(geodec_ring_element x, int64_t k, geodec_ring_element *out, geodec_err *err)
{
    geodec_ring_element r = {1, 0};
    if (k < 0) GEODEC_FAIL(GEODEC_RANGE, "an exponent of %lld is negative", (long long)k);
    /* the units and 0 have powers of any exponent, everything else leaves int64 after at most 63 of them */
    if (x.b == 0 && x.a >= -1 && x.a <= 1) k = k > 1 ? 2 - k % 2 : k;
    for (int64_t i = 0; i < k; i++) GEODEC_PASS_MSG(geodec_ring_mul(r, x, &r, err), "power %lld", (long long)i + 1);
    *out = r;
    return GEODEC_OK;
}

/* ---- splitting of rational primes ------------------------------------------------------------------------------- */

static bool is_prime(uint64_t n)
{
    if (n < 4) return n > 1;
    if (n % 2 == 0) return false;
    for (uint64_t d = 3; d * d <= n; d += 2)
        if (n % d == 0) return false;
    return true;
}

/* b^e modulo p < 2^31. */
static uint64_t power(uint64_t b, uint64_t e, uint64_t p)
{
    uint64_t r = 1;
    for (b %= p; e > 0; e >>= 1, b = b * b % p)
        if (e & 1) r = r * b % p;
    return r;
}

/* A square root of a quadratic residue modulo an odd prime (Tonelli 1891, Shanks 1973). */
static uint64_t square_root(uint64_t v, uint64_t p)
{
    uint64_t odd = p - 1, z = 2;
    int twos = 0;
    while (odd % 2 == 0) {
        odd /= 2;
        twos++;
    }
    while (power(z, (p - 1) / 2, p) != p - 1) z++;
    uint64_t c = power(z, odd, p), t = power(v, odd, p), r = power(v, (odd + 1) / 2, p);
    while (t != 1) {
        int order = 0; /* t has order 2^order < 2^twos */
        for (uint64_t s = t; s != 1; s = s * s % p) order++;
        uint64_t b = c;
        for (int i = 0; i < twos - order - 1; i++) b = b * b % p;
        r = r * b % p;
        c = b * b % p;
        t = t * c % p;
        twos = order;
    }
    return r;
}

/* x^2 - x + 41 has the roots (1 +- sqrt(-163)) / 2. Modulo 2 it is x^2 + x + 1, without a root. */
static geodec_ring_prime kind_of(uint64_t p)
{
    geodec_ring_prime r = {.p = (int64_t)p, .kind = GEODEC_RING_INERT};
    if (p == 2) return r;
    const uint64_t half = (p + 1) / 2, d = (p - 163 % p) % p;
    if (d == 0) {
        r.kind = GEODEC_RING_RAMIFIED;
        r.n_roots = 1;
        r.roots[0] = (int64_t)half;
    } else if (power(d, (p - 1) / 2, p) == 1) {
        const uint64_t s = square_root(d, p);
        const int64_t x = (int64_t)((1 + s) * half % p), y = (int64_t)((1 + p - s) * half % p);
        r.kind = GEODEC_RING_SPLIT;
        r.n_roots = 2;
        r.roots[0] = x < y ? x : y;
        r.roots[1] = x < y ? y : x;
    }
    return r;
}

geodec_status geodec_ring_prime_of(int64_t p, geodec_ring_prime *out, geodec_err *err)
{
    if (p < 2 || p > GEODEC_RING_PRIME_MAX || !is_prime((uint64_t)p))
        GEODEC_FAIL(GEODEC_RANGE, "%lld is not a prime up to %d", (long long)p, GEODEC_RING_PRIME_MAX);
    *out = kind_of((uint64_t)p);
    return GEODEC_OK;
}

int64_t geodec_ring_primes_below(int64_t limit, geodec_ring_prime *out, int64_t room)
{
    int64_t n = 0;
    if (limit > 65536) limit = 65536;
    for (int64_t p = 2; p < limit; p++) {
        if (!is_prime((uint64_t)p)) continue;
        if (n < room) out[n] = kind_of((uint64_t)p);
        n++;
    }
    return n;
}
