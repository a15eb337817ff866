/* Instruction sets of this processor. Apart from the kernels, so that a program can ask without linking them. */
#include "kernels/settings.h"

#include "base/names_internal.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* __builtin_cpu_supports also asks whether the operating system keeps the wide registers. */
static bool has_avx2(void)
{
    unsigned a, b, c, d;
    const bool half = __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1u); /* no portable name for F16C */
    return half && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

bool geodec_kernels_isa_available(geodec_isa isa)
{
#if defined(__x86_64__)
    if (isa == GEODEC_ISA_AVX512) return has_avx512();
    if (isa == GEODEC_ISA_AVX2) return has_avx2();
#endif
    return isa == GEODEC_ISA_AUTO || isa == GEODEC_ISA_SCALAR;
}

GEODEC__NAME(geodec_kernels_isa_name, geodec_isa, "auto", "scalar", "avx2", "avx512")
