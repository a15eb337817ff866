#include "model/kernels/kernels_internal.h"
#include "model/kernels/products_internal.h"

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

const geodec__kernels *geodec__kernels_for(geodec_isa isa)
{
#if defined(__x86_64__)
    if ((isa == GEODEC_ISA_AUTO || isa == GEODEC_ISA_AVX512) && has_avx512()) return &geodec__kernels_avx512;
    if ((isa == GEODEC_ISA_AUTO || isa == GEODEC_ISA_AVX2) && has_avx2()) return &geodec__kernels_avx2;
#endif
    if (isa == GEODEC_ISA_AUTO || isa == GEODEC_ISA_SCALAR) return &geodec__kernels_scalar;
    return NULL;
}

bool geodec_kernels_isa_available(geodec_isa isa) { return geodec__kernels_for(isa) != NULL; }

const char *geodec_kernels_isa_name(geodec_isa isa)
{
    static const char *const names[] = {"auto", "scalar", "avx2", "avx512"};
    return (unsigned)isa < sizeof names / sizeof *names ? names[isa] : "?";
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
