#if defined(__AVX512VNNI__)
#include "lab/integer/ring/gemv_internal.h"

#include <immintrin.h>

typedef __m512i svec;
enum { STEP = 32 };

static inline svec s_zero(void) { return _mm512_setzero_si512(); }
static inline svec s_load(const int16_t *p) { return _mm512_loadu_si512(p); }
static inline svec s_dot(svec s, svec a, svec b) { return _mm512_dpwssd_epi32(s, a, b); }
static inline svec s_widen(svec s, svec part)
{
    const svec low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(part)),
               high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(part, 1));
    return _mm512_add_epi64(s, _mm512_add_epi64(low, high));
}
static inline int64_t s_sum(svec s) { return _mm512_reduce_add_epi64(s); }

#include "lab/integer/ring/gemv16_body.h"

const geodec__gemv16 geodec__gemv16_vnni = {GEODEC_ISA_AVX512, rows16};
#endif
