#define PORTABLE
#include "base/cpu_internal.h"
#define KERNELS geodec__lookup_scalar
#define KERNEL_NAME "scalar"
#include "records/lookup_body.h"

const geodec__lookup_kernels *geodec__lookup_best(void)
{
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX512) return &geodec__lookup_avx512;
    if (geodec__cpu() & GEODEC__CPU_AVX2) return &geodec__lookup_avx2;
#endif
    return &geodec__lookup_scalar;
}
