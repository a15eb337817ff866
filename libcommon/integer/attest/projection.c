/* Residues and the choice of a table; the reference is in projection_scalar.c. */
#include "integer/attest/projection_internal.h"

#define P (((uint64_t)1 << GEODEC_MODULUS_SHIFT) + GEODEC_MODULUS_FOLD)
#define REST (((int64_t)1 << GEODEC_MODULUS_SHIFT) - 1)

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

/* Of a number between -P and 2 P. */
static uint64_t near(int64_t r)
{
    const int64_t p = (int64_t)P;
    return (uint64_t)(r < 0 ? r + p : r >= p ? r - p : r);
}

/* 2^59 is -GEODEC_MODULUS_FOLD modulo P. */
uint64_t geodec__projection_residue(int64_t x)
{
    return near((x & REST) - (x >> GEODEC_MODULUS_SHIFT) * GEODEC_MODULUS_FOLD);
}

uint64_t geodec__projection_reduce(geodec_mulmod_wide x)
{
    const geodec_mulmod_wide h =
        geodec_mulmod_product(geodec_mulmod_shifted(x, GEODEC_MODULUS_SHIFT), GEODEC_MODULUS_FOLD); /* below 2^87 */
    const uint64_t last = geodec_mulmod_shifted(h, GEODEC_MODULUS_SHIFT) * GEODEC_MODULUS_FOLD;     /* below 2^52 */
    return near((int64_t)(x.low & REST) - (int64_t)(h.low & REST) + (int64_t)last);
}

uint64_t geodec__projection_times(uint64_t a, uint64_t b)
{
    return geodec__projection_reduce(geodec_mulmod_product(a, b));
}

uint64_t geodec__projection_plus(uint64_t a, uint64_t b) { return geodec_mulmod_once(a + b, P); }
uint64_t geodec__projection_minus(uint64_t a, uint64_t b) { return geodec_mulmod_once(a + P - b, P); }

uint64_t geodec__projection_join(int64_t low, int64_t high)
{
    return geodec__projection_plus(
        geodec__projection_residue(low),
        geodec__projection_times(geodec__projection_residue(high), (uint64_t)1 << GEODEC__PROJECTION_HALF));
}
