#include "lab/integer/scores/dots_internal.h"

#include <stddef.h>

const geodec__dots_ops *geodec__dots_for(geodec_isa isa)
{
    const bool any = isa == GEODEC_ISA_AUTO;
    if (!any && !geodec_kernels_isa_available(isa)) return NULL;
#if defined(__x86_64__)
    if ((any || isa == GEODEC_ISA_AVX512) && geodec_kernels_isa_available(GEODEC_ISA_AVX512))
        return &geodec__dots_avx512;
    if (isa != GEODEC_ISA_SCALAR && geodec_kernels_isa_available(GEODEC_ISA_AVX2)) return &geodec__dots_avx2;
#endif
    return &geodec__dots_scalar;
}
