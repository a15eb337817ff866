#include "kernels/kernels_internal.h"
#include "kernels/products_internal.h"

const geodec__kernels *geodec__kernels_for(geodec_isa isa)
{
    const bool any = isa == GEODEC_ISA_AUTO;
#if defined(__x86_64__)
    if ((any || isa == GEODEC_ISA_AVX512) && geodec_kernels_isa_available(GEODEC_ISA_AVX512))
        return &geodec__kernels_avx512;
    if ((any || isa == GEODEC_ISA_AVX2) && geodec_kernels_isa_available(GEODEC_ISA_AVX2)) return &geodec__kernels_avx2;
#endif
    return any || isa == GEODEC_ISA_SCALAR ? &geodec__kernels_scalar : NULL;
}

const geodec__products *geodec__products_for(geodec_isa isa)
{
#if defined(__x86_64__)
    const bool any = isa == GEODEC_ISA_AUTO;
    if ((any || isa == GEODEC_ISA_AVX512) && geodec_kernels_isa_available(GEODEC_ISA_AVX512) &&
        __builtin_cpu_supports("avx512vnni"))
        return &geodec__products_vnni;
    if ((any || isa == GEODEC_ISA_AVX2 || isa == GEODEC_ISA_AVX512) && geodec_kernels_isa_available(GEODEC_ISA_AVX2))
        return &geodec__products_avx2;
#else
    (void)isa;
#endif
    return &geodec__products_scalar;
}
