#include "lab/integer/scores/dots_internal.h"

#include "kernels/isa_internal.h"

#include <stddef.h>

const geodec__dots_ops *geodec__dots_for(geodec_isa isa)
{
    if (!geodec_kernels_isa_available(isa)) return NULL;
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_AVX512) return &geodec__dots_avx512;
    if (has & GEODEC__CPU_AVX2) return &geodec__dots_avx2;
#endif
    return &geodec__dots_scalar;
}
