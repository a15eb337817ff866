#define PORTABLE
#define KERNELS geodec__small_scalar
#define KERNEL_NAME "scalar"
#include "linalg/small_body.h"

const geodec__small_kernels *geodec__small_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return &geodec__small_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &geodec__small_avx2;
#endif
    return &geodec__small_scalar;
}
