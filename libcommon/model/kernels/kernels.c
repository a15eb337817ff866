#include "kernels/isa_internal.h"
#include "kernels/kernels_internal.h"
#include "kernels/products_internal.h"

const geodec__kernels *geodec__kernels_for(geodec_isa isa)
{
    if (!geodec_kernels_isa_available(isa)) return NULL;
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_AVX512) return &geodec__kernels_avx512;
    if (has & GEODEC__CPU_AVX2) return &geodec__kernels_avx2;
#endif
    return &geodec__kernels_scalar;
}

const geodec__products *geodec__products_for(geodec_isa isa)
{
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_VNNI) return &geodec__products_vnni;
    if (has & GEODEC__CPU_AVX2) return &geodec__products_avx2;
#else
    (void)isa;
#endif
    return &geodec__products_scalar;
}
