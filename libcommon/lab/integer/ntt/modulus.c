#include "lab/integer/ntt/modulus.h"

#include "integer/fixed/mulmod.h"

static const geodec_modulus moduli[GEODEC_MODULI] = {
    {"p60", 576460752312401921u, 60, 16, 32768, 3},
    {"q1", 1073738753, 30, 10, 512, 3},
    {"q2", 1073732609, 30, 10, 512, 3},
    {"w1", 1073479681, 30, 18, 131072, 11},
    {"w2", 1068236801, 30, 18, 131072, 3},
};

const geodec_modulus *geodec_modulus_of(geodec_modulus_id id) { return &moduli[id]; }

uint64_t geodec_modulus_power(uint64_t q, uint64_t a, uint64_t e)
{
    const geodec_mulmod_barrett c = geodec_mulmod_tight(q);
    uint64_t r = 1;
    for (; e; e >>= 1) {
        if (e & 1) r = geodec_mulmod_reduce(&c, geodec_mulmod_product(r, a), NULL);
        a = geodec_mulmod_reduce(&c, geodec_mulmod_product(a, a), NULL);
    }
    return r;
}

uint64_t geodec_modulus_inverse(uint64_t q, uint64_t a) { return geodec_modulus_power(q, a, q - 2); }

uint64_t geodec_modulus_root(const geodec_modulus *m, int64_t n)
{
    return geodec_modulus_power(m->q, m->qnr, (m->q - 1) / (uint64_t)(2 * n));
}

uint64_t geodec_modulus_residue(const geodec_modulus *m, int64_t x)
{
    const int64_t q = (int64_t)m->q, r = x % q;
    return (uint64_t)(r < 0 ? r + q : r);
}

int64_t geodec_modulus_centred(const geodec_modulus *m, uint64_t r)
{
    return r <= (m->q - 1) / 2 ? (int64_t)r : (int64_t)r - (int64_t)m->q;
}
