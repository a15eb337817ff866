/* Residues and the choice of a table; the reference is in projection_scalar.c. */
#include "attest/projection_internal.h"

enum { BITS = GEODEC__PROJECTION_PRIME };
#define P GEODEC__PROJECTION_P

const geodec__projection_ops *geodec__projection_for(geodec_isa isa)
{
#if defined(__x86_64__)
    const bool any = isa == GEODEC_ISA_AUTO;
    if ((any || isa == GEODEC_ISA_AVX512) && geodec_kernels_isa_available(GEODEC_ISA_AVX512) &&
        __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512ifma") &&
        __builtin_cpu_supports("avx512vbmi"))
        return &geodec__projection_vbmi;
    if (isa != GEODEC_ISA_SCALAR && geodec_kernels_isa_available(GEODEC_ISA_AVX2)) return &geodec__projection_avx2;
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
