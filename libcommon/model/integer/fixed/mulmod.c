#include "integer/fixed/mulmod.h"

uint64_t geodec_mulmod_quotient(uint64_t w, int bits, uint64_t q, uint64_t *rest)
{
    uint64_t quotient = 0;
#ifdef __SIZEOF_INT128__
    if (bits <= 64) {
        __extension__ typedef unsigned __int128 u128;
        const u128 x = (u128)w << bits;
        if (rest) *rest = (uint64_t)(x % q);
        return (uint64_t)(x / q);
    }
#endif
    for (int i = 0; i < bits; i++) {
        w <<= 1;
        const bool above = w >= q;
        if (above) w -= q;
        quotient = quotient << 1 | above;
    }
    if (rest) *rest = w;
    return quotient;
}

static int bits_of(uint64_t q)
{
    int n = 0;
    for (; q; q >>= 1) n++;
    return n;
}

geodec_mulmod_barrett geodec_mulmod_classical(uint64_t q)
{
    const int n = bits_of(q);
    return (geodec_mulmod_barrett){q, geodec_mulmod_quotient(1, 2 * n, q, NULL), n - 1, n + 1};
}

geodec_mulmod_barrett geodec_mulmod_tight(uint64_t q)
{
    const int n = bits_of(q);
    return (geodec_mulmod_barrett){q, geodec_mulmod_quotient(1, 2 * n + 1, q, NULL), n - 2, n + 3};
}

geodec_mulmod_montgomery geodec_mulmod_montgomery_of(uint64_t q, int bits)
{
    geodec_mulmod_montgomery c = {.q = q, .bits = bits};
    uint64_t inverse = q; /* of three bits; each step doubles them */
    for (int i = 0; i < 5; i++) inverse *= 2 - q * inverse;
    c.negative = 0 - inverse;
    if (bits == 32) c.negative &= 0xffffffffu;
    (void)geodec_mulmod_quotient(1, bits, q, &c.one);
    (void)geodec_mulmod_quotient(1, 2 * bits, q, &c.square);
    return c;
}

uint64_t geodec_mulmod_montgomery_multiply(const geodec_mulmod_montgomery *c, uint64_t a, uint64_t b)
{
    if (c->bits == 32) {
        const uint32_t r = geodec_mulmod_redc32_lazy(c, a * b);
        return geodec_mulmod_once(geodec_mulmod_redc32_lazy(c, geodec_mulmod_once(r, c->q) * c->square), c->q);
    }
    const uint64_t r = geodec_mulmod_once(geodec_mulmod_redc64_lazy(c, geodec_mulmod_product(a, b)), c->q);
    return geodec_mulmod_once(geodec_mulmod_redc64_lazy(c, geodec_mulmod_product(r, c->square)), c->q);
}
