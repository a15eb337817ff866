#include "flowmap/scan_internal.h"

#include <math.h>

#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

#define VARIANT(name) name##_avx2
#include "flowmap/scan.inc"
#include "flowmap/scan_box.inc"

enum { AHEAD = 4 }; /* blocks prefetched: a pass evicts the buckets from the caches */

/* 2 * 127^2 fits the 16-bit sums of maddubs. */
static inline __m256i dot4(const uint8_t *a, __m256i q, __m256i one)
{
    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)(const void *)a), q), one);
}

static void distance_avx2(const uint8_t *block, const int32_t *which, int64_t n, int32_t groups, const uint8_t *query,
                          int32_t norm, int32_t *distance, int32_t *low)
{
    const int64_t stride = (groups + 2) * 64;
    const __m256i one = _mm256_set1_epi16(1), square = _mm256_set1_epi32(norm);
    __m256i q[GEODEC__FLOW_GROUPS];
    for (int32_t g = 0; g < groups; g++) {
        int32_t four;
        memcpy(&four, query + 4 * g, sizeof four);
        q[g] = _mm256_set1_epi32(four);
    }
    for (int i = 0; i < GEODEC__FLOW_LOWS; i += 8)
        _mm256_storeu_si256((__m256i *)(void *)(low + i), _mm256_set1_epi32(INT32_MAX));
    for (int64_t b = 0; b < n && b < AHEAD; b++)
        for (int32_t g = 0; g < groups + 2; g++) __builtin_prefetch(block + which[b] * stride + 64 * g);
    for (int64_t b = 0; b < n; b++, distance += GEODEC__FLOW_BLOCK) {
        const uint8_t *from = block + which[b] * stride,
                      *next = block + which[b + AHEAD < n ? b + AHEAD : n - 1] * stride;
        int32_t *at = low + b * GEODEC__FLOW_BLOCK % GEODEC__FLOW_LOWS;
        __m256i sum[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (int32_t g = 0; g < groups; g++, from += 64, next += 64) {
            __builtin_prefetch(next);
            sum[0] = _mm256_add_epi32(sum[0], dot4(from, q[g], one));
            sum[1] = _mm256_add_epi32(sum[1], dot4(from + 32, q[g], one));
        }
        __builtin_prefetch(next);
        __builtin_prefetch(next + 64);
        for (int half = 0; half < 2; half++, from += 32) {
            const __m256i own = _mm256_loadu_si256((const __m256i *)(const void *)from);
            const __m256i d = _mm256_add_epi32(_mm256_sub_epi32(own, _mm256_slli_epi32(sum[half], 1)), square);
            __m256i *least = (__m256i *)(void *)(at + 8 * half);
            _mm256_storeu_si256((__m256i *)(void *)(distance + 8 * half), d);
            _mm256_storeu_si256(least, _mm256_min_epi32(_mm256_loadu_si256(least), d));
        }
    }
}

static int64_t collect_avx2(const int32_t *x, int64_t n, int32_t limit, int32_t *index)
{
    const __m256i top = _mm256_set1_epi32(limit);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 8) {
        const __m256i less = _mm256_cmpgt_epi32(top, _mm256_loadu_si256((const __m256i *)(const void *)(x + i)));
        for (unsigned m = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(less)); m != 0; m &= m - 1)
            index[count++] = (int32_t)i + __builtin_ctz(m);
    }
    return count;
}

const geodec__flowmap_scan_kernels geodec__flowmap_scan_avx2 = SCAN_KERNELS("avx2");
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__flowmap_scan_kernels geodec__flowmap_scan_avx2 = {0};
#endif
