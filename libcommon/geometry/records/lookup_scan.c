#define PORTABLE
#define KERNELS geodec__lookup_scalar
#define KERNEL_NAME "scalar"
#include "records/lookup_body.h"

const geodec__lookup_kernels *geodec__lookup_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return &geodec__lookup_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &geodec__lookup_avx2;
#endif
    return &geodec__lookup_scalar;
}
