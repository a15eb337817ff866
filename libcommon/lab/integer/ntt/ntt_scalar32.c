#define WORD uint32_t
#define BITS 32
#define HIGH(a, b) ((uint32_t)((uint64_t)(a) * (b) >> 32))
/* The factors of both products are below 2^32. */
#define PRODUCT(c, a, b) reduced(c, (uint64_t)(a) * (b))

#include "integer/fixed/mulmod.h"

static inline uint32_t reduced(const geodec_mulmod_barrett *c, uint64_t x)
{
    const uint64_t r = x - (((x >> c->first) * c->mu) >> c->second) * c->q;
    return (uint32_t)(r >= c->q ? r - c->q : r);
}

#include "lab/integer/ntt/ntt_scalar_body.h"

const geodec__ntt_kernel geodec__ntt_scalar32 = KERNEL(GEODEC_NTT_SCALAR);
