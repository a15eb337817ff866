#include "base/unroll_internal.h"
#include "linalg/knn_internal.h"

#if defined(__AVX2__)
#include <immintrin.h>

enum { LANES = 8, VECTORS = 4, POINTS = LANES * VECTORS, TILE = 2 }; /* half a group at a time */

static __attribute__((noinline)) void collect(geodec__knn_found *f, const __m256i *score, int32_t first)
{
    int32_t s[POINTS];
    for (int v = 0; v < VECTORS; v++) _mm256_storeu_si256((__m256i *)(void *)(s + LANES * v), score[v]);
    for (int i = 0; i < POINTS; i++) {
        f->score[f->count] = s[i];
        f->id[f->count] = first + i;
        f->count += s[i] >= f->limit;
    }
}

INLINE void tile(const int Q, const uint8_t *point, int64_t groups, int64_t words, const int32_t *half, int32_t first,
                 const int32_t *const *query, geodec__knn_found *const *found)
{
    for (int64_t g = 0; g < 2 * groups; g++, half += POINTS, first += POINTS) {
        const uint8_t *from = point + (g / 2 * words * GEODEC__KNN_GROUP + g % 2 * POINTS) * 4;
        __m256i s[TILE][VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            const __m256i h = _mm256_sub_epi32(_mm256_setzero_si256(),
                                               _mm256_loadu_si256((const __m256i *)(const void *)(half + LANES * v)));
            UNROLL
            for (int q = 0; q < Q; q++) s[q][v] = h;
        }
        for (int64_t w = 0; w < words; w++, from += 4 * GEODEC__KNN_GROUP) {
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                const __m256i p = _mm256_loadu_si256((const __m256i *)(const void *)(from + 32 * v));
                UNROLL
                for (int q = 0; q < Q; q++)
                    s[q][v] = _mm256_add_epi32(s[q][v], _mm256_madd_epi16(p, _mm256_set1_epi32(query[q][w])));
            }
        }
        UNROLL
        for (int q = 0; q < Q; q++) {
            const __m256i most =
                _mm256_max_epi32(_mm256_max_epi32(s[q][0], s[q][1]), _mm256_max_epi32(s[q][2], s[q][3]));
            const __m256i lower = _mm256_cmpgt_epi32(_mm256_set1_epi32(found[q]->limit), most);
            if (_mm256_movemask_epi8(lower) != -1) {
                const __m256i copy[VECTORS] = {s[q][0], s[q][1], s[q][2], s[q][3]}; /* s itself stays in registers */
                collect(found[q], copy, first);
            }
        }
    }
}

static void shorts(const uint8_t *point, int64_t groups, int64_t words, const int32_t *half, int32_t first, int64_t n,
                   const int32_t *const *query, geodec__knn_found *const *found)
{
    for (; n >= TILE; n -= TILE, query += TILE, found += TILE)
        tile(TILE, point, groups, words, half, first, query, found);
    if (n) tile(1, point, groups, words, half, first, query, found);
}

static void bounds(int64_t boxes, int64_t d, const float *box, const float *query, float *out)
{
    for (int64_t b = 0; b < boxes; b++, box += 2 * d, out += GEODEC__KNN_BLOCK)
        for (int v = 0; v < GEODEC__KNN_BLOCK; v += LANES) {
            __m256 s = _mm256_setzero_ps();
            for (int64_t c = 0; c < d; c++) {
                const __m256 x = _mm256_loadu_ps(query + c * GEODEC__KNN_BLOCK + v);
                const __m256 gap = _mm256_max_ps(_mm256_sub_ps(_mm256_set1_ps(box[2 * c]), x),
                                                 _mm256_sub_ps(x, _mm256_set1_ps(box[2 * c + 1])));
                const __m256 out_of = _mm256_max_ps(gap, _mm256_setzero_ps());
                s = _mm256_add_ps(s, _mm256_mul_ps(out_of, out_of));
            }
            _mm256_storeu_ps(out + v, s);
        }
}

static uint64_t within(const float *bound, const float *limit)
{
    uint64_t m = 0;
    for (int v = 0; v < GEODEC__KNN_BLOCK; v += LANES) {
        const __m256 low = _mm256_cmp_ps(_mm256_loadu_ps(bound + v), _mm256_loadu_ps(limit + v), _CMP_LE_OQ);
        m |= (uint64_t)(uint32_t)_mm256_movemask_ps(low) << v;
    }
    return m;
}

const geodec__knn_kernels geodec__knn_avx2 = {"avx2", NULL, shorts, bounds, within};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__knn_kernels geodec__knn_avx2 = {0};
#endif
