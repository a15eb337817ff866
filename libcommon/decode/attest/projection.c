/* Residues and the choice of a table; the reference is in projection_scalar.c. */
#include "attest/projection_internal.h"

#include "kernels/isa_internal.h"

enum { BITS = GEODEC__PROJECTION_PRIME };
#define P GEODEC__PROJECTION_P

const geodec__projection_ops *geodec__projection_for(geodec_isa isa)
{
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa), all = GEODEC__CPU_VNNI | GEODEC__CPU_IFMA | GEODEC__CPU_VBMI;
    if ((has & all) == all) return &geodec__projection_vbmi;
    if (has & GEODEC__CPU_AVX2) return &geodec__projection_avx2;
#endif
    (void)isa;
    return &geodec__projection_scalar;
}

/* 2^61 is 1 modulo p. */
static uint64_t of(uint64_t x) { return geodec_mulmod_once((x & P) + (x >> BITS), P); }

uint64_t geodec__projection_residue(int64_t x)
{
    const int64_t r = (int64_t)((uint64_t)x & P) + (x >> BITS); /* from -4 on */
    return r < 0 ? (uint64_t)r + P : geodec_mulmod_once((uint64_t)r, P);
}

uint64_t geodec__projection_reduce(geodec_mulmod_wide x) { return of((x.low & P) + geodec_mulmod_shifted(x, BITS)); }

uint64_t geodec__projection_times(uint64_t a, uint64_t b)
{
    return geodec__projection_reduce(geodec_mulmod_product(a, b));
}

uint64_t geodec__projection_shifted(uint64_t a, int n) { return (a << n & P) | a >> (BITS - n); }

uint64_t geodec__projection_plus(uint64_t a, uint64_t b) { return geodec_mulmod_once(a + b, P); }
uint64_t geodec__projection_minus(uint64_t a, uint64_t b) { return geodec_mulmod_once(a + P - b, P); }

uint64_t geodec__projection_join(int64_t low, int64_t high)
{
    return geodec__projection_plus(
        geodec__projection_residue(low),
        geodec__projection_shifted(geodec__projection_residue(high), GEODEC__PROJECTION_HALF));
}
