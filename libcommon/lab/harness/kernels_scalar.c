#include "base/cpu_internal.h"
#define KERNELS geodec__harness_kernels_scalar
#include "lab/harness/kernels_body.h"

const geodec__harness_kernels *geodec__harness_kernels_best(void)
{
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX512) return &geodec__harness_kernels_avx512;
    if (geodec__cpu() & GEODEC__CPU_AVX2) return &geodec__harness_kernels_avx2;
#endif
    return &geodec__harness_kernels_scalar;
}
