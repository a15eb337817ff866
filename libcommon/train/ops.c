#include "train/ops_internal.h"

#include <stddef.h>

#if defined(__x86_64__)
static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

const geodec_ops_f32 *geodec__ops_f32(geodec_isa isa)
{
#if defined(__x86_64__)
    if (isa == GEODEC_ISA_AUTO)
        isa = has_avx512() ? GEODEC_ISA_AVX512 : has_avx2() ? GEODEC_ISA_AVX2 : GEODEC_ISA_SCALAR;
    if (isa == GEODEC_ISA_AVX512) return has_avx512() ? &geodec__ops_f32_avx512 : NULL;
    if (isa == GEODEC_ISA_AVX2) return has_avx2() ? &geodec__ops_f32_avx2 : NULL;
#else
    if (isa == GEODEC_ISA_AVX512 || isa == GEODEC_ISA_AVX2) return NULL;
#endif
    return &geodec__ops_f32_scalar;
}

const geodec_ops_f64 *geodec__ops_f64(geodec_isa isa)
{
    (void)isa;
    return &geodec__ops_f64_scalar;
}
