#define PORTABLE
#include "base/cpu_internal.h"
#define KERNELS geodec__small_scalar
#define KERNEL_NAME "scalar"
#include "linalg/small_body.h"

const geodec__small_kernels *geodec__small_best(void)
{
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX512) return &geodec__small_avx512;
    if (geodec__cpu() & GEODEC__CPU_AVX2) return &geodec__small_avx2;
#endif
    return &geodec__small_scalar;
}
