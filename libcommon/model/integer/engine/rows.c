#include "integer/engine/rows_internal.h"

const geodec__rows_ops *geodec__rows_for(geodec_isa isa)
{
#if defined(__x86_64__)
    if (isa == GEODEC_ISA_AVX512) return &geodec__rows_avx512;
    if (isa == GEODEC_ISA_AVX2) return &geodec__rows_avx2;
#else
    (void)isa;
#endif
    return &geodec__rows_scalar;
}
