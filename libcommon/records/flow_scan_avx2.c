#include "records/flow_scan.h"

#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

#define VARIANT(name) name##_avx2
#include "records/flow_scan.inc"

/* |a - b| <= 127 fits both operands of maddubs, and 2 * 127^2 its 16-bit sum. */
static inline __m256i squares(__m256i a, __m256i q, __m256i one)
{
    const __m256i d = _mm256_sub_epi8(_mm256_max_epu8(a, q), _mm256_min_epu8(a, q));
    return _mm256_madd_epi16(_mm256_maddubs_epi16(d, d), one);
}

static void distance_avx2(const uint8_t *block, int64_t blocks, int32_t groups, const uint8_t *query, int32_t *distance)
{
    const __m256i one = _mm256_set1_epi16(1);
    for (int64_t b = 0; b < blocks; b++, distance += GEODEC__FLOW_BLOCK) {
        __m256i low = _mm256_setzero_si256(), high = low;
        for (int32_t g = 0; g < groups; g++, block += 4 * GEODEC__FLOW_BLOCK) {
            int32_t four;
            memcpy(&four, query + 4 * g, sizeof four);
            const __m256i q = _mm256_set1_epi32(four);
            low = _mm256_add_epi32(low, squares(_mm256_loadu_si256((const __m256i *)(const void *)block), q, one));
            high = _mm256_add_epi32(high,
                                    squares(_mm256_loadu_si256((const __m256i *)(const void *)(block + 32)), q, one));
        }
        _mm256_storeu_si256((__m256i *)(void *)distance, low);
        _mm256_storeu_si256((__m256i *)(void *)(distance + 8), high);
    }
}

const geodec__flow_kernels geodec__flow_avx2 = {"avx2",         distance_avx2, below_avx2,
                                                apply_f32_avx2, apply_i8_avx2, scatter_avx2};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__flow_kernels geodec__flow_avx2 = {0};
#endif
