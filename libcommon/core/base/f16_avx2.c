#include "base/f16.h"
#include "base/f16_internal.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

int64_t geodec__f32_to_f16_avx2(const float *f, uint16_t *h, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 x = _mm256_loadu_ps(f + i);
        if (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q))) { /* the instruction keeps a NaN's payload */
            for (int k = 0; k < 8; k++) h[i + k] = geodec_f32_to_f16(f[i + k]);
            continue;
        }
        _mm_storeu_si128((__m128i *)(void *)(h + i), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}
#else
int64_t geodec__f32_to_f16_avx2(const float *f, uint16_t *h, int64_t n)
{
    (void)f;
    (void)h;
    (void)n;
    return 0;
}
#endif
