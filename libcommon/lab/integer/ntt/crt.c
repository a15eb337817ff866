#include "lab/integer/ntt/crt.h"

geodec_crt geodec_crt_of(const geodec_modulus *a, const geodec_modulus *b)
{
    geodec_crt c = {.a = a, .b = b, .product = a->q * b->q};
    c.inverse = geodec_modulus_inverse(b->q, a->q % b->q);
    c.scaled = geodec_mulmod_quotient(c.inverse, 32, b->q, NULL);
    c.half = (c.product - 1) / 2;
    return c;
}

uint64_t geodec_crt_join(const geodec_crt *c, uint64_t ra, uint64_t rb, uint64_t *t)
{
    const uint32_t q = (uint32_t)c->b->q; /* ra < qa < 2q */
    const uint32_t difference = (uint32_t)rb + 2 * q - (uint32_t)ra;
    const uint32_t r = geodec_mulmod_shoup32_lazy(difference, (uint32_t)c->inverse, (uint32_t)c->scaled, q);
    const uint64_t once = geodec_mulmod_once(r, q);
    if (t) *t = once;
    return ra + c->a->q * once;
}

int64_t geodec_crt_centred(const geodec_crt *c, uint64_t ra, uint64_t rb)
{
    const uint64_t u = geodec_crt_join(c, ra, rb, NULL);
    return u <= c->half ? (int64_t)u : (int64_t)(u - c->product);
}

bool geodec_crt_agrees(const geodec_modulus *further, int64_t x, uint64_t r)
{
    return geodec_modulus_residue(further, x) == r;
}

geodec_crt_triple geodec_crt_triple_of(const geodec_modulus *a, const geodec_modulus *b)
{
    geodec_crt_triple c = {.pair = geodec_crt_of(a, b), .top = geodec_modulus_of(GEODEC_MODULUS_P60)};
    c.barrett = geodec_mulmod_tight(c.top->q);
    c.inverse = geodec_modulus_inverse(c.top->q, c.pair.product % c.top->q);
    const geodec_mulmod_wide m = geodec_mulmod_product(c.pair.product, c.top->q); /* odd */
    c.half = (geodec_crt_wide){m.low >> 1 | m.high << 63, (int64_t)(m.high >> 1)};
    return c;
}

geodec_crt_wide geodec_crt_triple_centred(const geodec_crt_triple *c, uint64_t ra, uint64_t rb, uint64_t top)
{
    const uint64_t q = c->top->q, u = geodec_crt_join(&c->pair, ra, rb, NULL), m = c->pair.product;
    /* u < M < 2q */
    const uint64_t difference = geodec_mulmod_once(top + q - geodec_mulmod_once(u, q), q);
    const uint64_t t = geodec_mulmod_reduce(&c->barrett, geodec_mulmod_product(difference, c->inverse), NULL);
    geodec_mulmod_wide x = geodec_mulmod_product(m, t);
    x.low += u;
    x.high += x.low < u;
    const uint64_t high = (uint64_t)c->half.high;
    if (x.high > high || (x.high == high && x.low > c->half.low)) {
        const geodec_mulmod_wide whole = geodec_mulmod_product(m, q);
        const uint64_t borrow = x.low < whole.low;
        x.low -= whole.low;
        x.high -= whole.high + borrow;
    }
    return (geodec_crt_wide){x.low, (int64_t)x.high};
}
