#include "records/flow_scan.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#include <string.h>

#define VARIANT(name) name##_avx512
#include "records/flow_scan.inc"

/* |a - b| <= 127 fits both operands of maddubs, and 2 * 127^2 its 16-bit sum. */
static inline __m512i squares(__m512i a, __m512i q, __m512i one)
{
    const __m512i d = _mm512_sub_epi8(_mm512_max_epu8(a, q), _mm512_min_epu8(a, q));
    return _mm512_madd_epi16(_mm512_maddubs_epi16(d, d), one);
}

static void distance_avx512(const uint8_t *block, int64_t blocks, int32_t groups, const uint8_t *query,
                            int32_t *distance)
{
    const __m512i one = _mm512_set1_epi16(1);
    for (int64_t b = 0; b < blocks; b++, distance += GEODEC__FLOW_BLOCK) {
        __m512i sum = _mm512_setzero_si512();
        for (int32_t g = 0; g < groups; g++, block += 4 * GEODEC__FLOW_BLOCK) {
            int32_t four;
            memcpy(&four, query + 4 * g, sizeof four);
            sum = _mm512_add_epi32(sum, squares(_mm512_loadu_si512(block), _mm512_set1_epi32(four), one));
        }
        _mm512_storeu_si512(distance, sum);
    }
}

const geodec__flow_kernels geodec__flow_avx512 = {"avx512",         distance_avx512, below_avx512,
                                                  apply_f32_avx512, apply_i8_avx512, scatter_avx512};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__flow_kernels geodec__flow_avx512 = {0};
#endif
