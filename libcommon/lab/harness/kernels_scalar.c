#define KERNELS geodec__harness_kernels_scalar
#include "lab/harness/kernels_body.h"

const geodec__harness_kernels *geodec__harness_kernels_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &geodec__harness_kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &geodec__harness_kernels_avx2;
#endif
    return &geodec__harness_kernels_scalar;
}
