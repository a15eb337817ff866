#include "train/ops_internal.h"

#include "kernels/isa_internal.h"

#include <stddef.h>

const geodec_ops_f32 *geodec__ops_f32(geodec_isa isa)
{
    if (!geodec_kernels_isa_available(isa)) return NULL;
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_AVX512) return &geodec__ops_f32_avx512;
    if (has & GEODEC__CPU_AVX2) return &geodec__ops_f32_avx2;
#endif
    return &geodec__ops_f32_scalar;
}

const geodec_ops_f64 *geodec__ops_f64(geodec_isa isa)
{
    (void)isa;
    return &geodec__ops_f64_scalar;
}
