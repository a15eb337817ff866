#include "flowmap/scan_internal.h"

#include <math.h>

#if defined(__AVX512BW__)
#include <immintrin.h>
#include <string.h>

#define VARIANT(name) name##_avx512
#include "flowmap/scan.inc"

/* 2 * 127^2 fits the 16-bit sums of maddubs. */
static inline __m512i add_dot4(__m512i sum, __m512i a, __m512i q)
{
    return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(a, q), _mm512_set1_epi16(1)));
}

#include "flowmap/scan_512.inc"

const geodec__flowmap_scan_kernels geodec__flowmap_scan_avx512 = SCAN_KERNELS("avx512");
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__flowmap_scan_kernels geodec__flowmap_scan_avx512 = {0};
#endif
