#include "flowmap/scan_internal.h"

#include <math.h>

#if defined(__AVX512VNNI__)
#include <immintrin.h>
#include <string.h>

#define VARIANT(name) name##_vnni
#include "flowmap/scan.inc"

static inline __m512i add_dot4(__m512i sum, __m512i a, __m512i q) { return _mm512_dpbusd_epi32(sum, a, q); }

#include "flowmap/scan_512.inc"

const geodec__flowmap_scan_kernels geodec__flowmap_scan_vnni = SCAN_KERNELS("vnni");
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__flowmap_scan_kernels geodec__flowmap_scan_vnni = {0};
#endif
