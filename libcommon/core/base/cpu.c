#include "base/cpu_internal.h"

#include <stdatomic.h>
#include <stdbool.h>
#if defined(__x86_64__)
#include <cpuid.h>

/* __builtin_cpu_supports also asks whether the operating system keeps the wide registers. */
static unsigned ask(void)
{
    unsigned a, b, c, d, mask = 0;
    const bool half = __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1u); /* F16C has no portable name */
    if (__builtin_cpu_supports("sse4.2")) mask |= GEODEC__CPU_CRC32;
    if (__builtin_cpu_is("amdfam19h")) mask |= GEODEC__CPU_AMD19H;
    if (!half || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return mask;
    mask |= GEODEC__CPU_AVX2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return mask;
    mask |= GEODEC__CPU_AVX512;
    if (__builtin_cpu_supports("avx512vnni")) mask |= GEODEC__CPU_VNNI;
    if (__builtin_cpu_supports("avx512ifma")) mask |= GEODEC__CPU_IFMA;
    if (__builtin_cpu_supports("avx512vbmi")) mask |= GEODEC__CPU_VBMI;
    if (__builtin_cpu_supports("avx512vpopcntdq")) mask |= GEODEC__CPU_POPCOUNT;
    return mask;
}
#else
static unsigned ask(void) { return 0; }
#endif

unsigned geodec__cpu(void)
{
    static atomic_uint known; /* the mask and ASKED; 0: not asked yet */
    const unsigned ASKED = 1u << 31;
    unsigned mask = atomic_load_explicit(&known, memory_order_relaxed);
    if (!mask) {
        mask = ask() | ASKED;
        atomic_store_explicit(&known, mask, memory_order_relaxed);
    }
    return mask & ~ASKED;
}
