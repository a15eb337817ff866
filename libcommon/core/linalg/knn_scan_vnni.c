#include "base/unroll_internal.h"
#include "linalg/knn_internal.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

enum { LANES = 16, VECTORS = GEODEC__KNN_GROUP / LANES, TILE = 6 };

/* Rare: some of the 64 scores pass. Compressed in the register, because compressing stores are slow. */
static __attribute__((noinline)) void collect(geodec__knn_found *f, const __m512i *score, int32_t first)
{
    const __m512i limit = _mm512_set1_epi32(f->limit);
    __m512i id = _mm512_add_epi32(_mm512_set1_epi32(first),
                                  _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    for (int v = 0; v < VECTORS; v++) {
        const __mmask16 m = _mm512_cmpge_epi32_mask(score[v], limit);
        _mm512_storeu_si512(f->score + f->count, _mm512_maskz_compress_epi32(m, score[v]));
        _mm512_storeu_si512(f->id + f->count, _mm512_maskz_compress_epi32(m, id));
        f->count += __builtin_popcount(m);
        id = _mm512_add_epi32(id, _mm512_set1_epi32(LANES));
    }
}

/* Instructions by name: with intrinsics GCC 12 keeps copies of the sums on the stack. */
INLINE __m512i add_bytes(__m512i s, __m512i p, __m512i x)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(p), "v"(x));
    return s;
}
INLINE __m512i add_shorts(__m512i s, __m512i p, __m512i x)
{
    __asm__("vpdpwssd %2, %1, %0" : "+v"(s) : "v"(p), "v"(x));
    return s;
}

INLINE void tile(const int Q, const int shorts, const uint8_t *point, int64_t groups, int64_t words,
                 const int32_t *half, int32_t first, const int32_t *const *query, geodec__knn_found *const *found)
{
    for (int64_t g = 0; g < groups; g++, half += GEODEC__KNN_GROUP, first += GEODEC__KNN_GROUP) {
        __m512i s[TILE][VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            const __m512i h = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_loadu_si512(half + LANES * v));
            UNROLL
            for (int q = 0; q < Q; q++) s[q][v] = h;
        }
        for (int64_t w = 0; w < words; w++, point += 4 * GEODEC__KNN_GROUP) {
            __m512i p[VECTORS];
            UNROLL
            for (int v = 0; v < VECTORS; v++) p[v] = _mm512_loadu_si512(point + 64 * v);
            UNROLL
            for (int q = 0; q < Q; q++) {
                const __m512i x = _mm512_set1_epi32(query[q][w]);
                UNROLL
                for (int v = 0; v < VECTORS; v++)
                    s[q][v] = shorts ? add_shorts(s[q][v], p[v], x) : add_bytes(s[q][v], p[v], x);
            }
        }
        UNROLL
        for (int q = 0; q < Q; q++) {
            const __m512i most =
                _mm512_max_epi32(_mm512_max_epi32(s[q][0], s[q][1]), _mm512_max_epi32(s[q][2], s[q][3]));
            if (_mm512_cmpge_epi32_mask(most, _mm512_set1_epi32(found[q]->limit))) {
                const __m512i copy[VECTORS] = {s[q][0], s[q][1], s[q][2], s[q][3]}; /* s itself stays in registers */
                collect(found[q], copy, first);
            }
        }
    }
}

INLINE void scan(const int shorts, const uint8_t *point, int64_t groups, int64_t words, const int32_t *half,
                 int32_t first, int64_t n, const int32_t *const *query, geodec__knn_found *const *found)
{
    for (; n >= TILE; n -= TILE, query += TILE, found += TILE)
        tile(TILE, shorts, point, groups, words, half, first, query, found);
    for (; n >= 2; n -= 2, query += 2, found += 2) tile(2, shorts, point, groups, words, half, first, query, found);
    if (n) tile(1, shorts, point, groups, words, half, first, query, found);
}

static void bytes(const uint8_t *point, int64_t groups, int64_t words, const int32_t *half, int32_t first, int64_t n,
                  const int32_t *const *query, geodec__knn_found *const *found)
{
    scan(0, point, groups, words, half, first, n, query, found);
}

static void shorts(const uint8_t *point, int64_t groups, int64_t words, const int32_t *half, int32_t first, int64_t n,
                   const int32_t *const *query, geodec__knn_found *const *found)
{
    scan(1, point, groups, words, half, first, n, query, found);
}

static void bounds(int64_t boxes, int64_t d, const float *box, const float *query, float *out)
{
    for (int64_t b = 0; b < boxes; b++, out += GEODEC__KNN_BLOCK) {
        __m512 s[VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++) s[v] = _mm512_setzero_ps();
        for (int64_t c = 0; c < d; c++, box += 2) {
            const __m512 least = _mm512_set1_ps(box[0]), most = _mm512_set1_ps(box[1]);
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                const __m512 x = _mm512_loadu_ps(query + c * GEODEC__KNN_BLOCK + LANES * v);
                const __m512 gap = _mm512_max_ps(_mm512_sub_ps(least, x), _mm512_sub_ps(x, most));
                const __m512 out_of = _mm512_max_ps(gap, _mm512_setzero_ps());
                s[v] = _mm512_fmadd_ps(out_of, out_of, s[v]);
            }
        }
        UNROLL
        for (int v = 0; v < VECTORS; v++) _mm512_storeu_ps(out + LANES * v, s[v]);
    }
}

static uint64_t within(const float *bound, const float *limit)
{
    uint64_t m = 0;
    for (int v = 0; v < VECTORS; v++)
        m |= (uint64_t)_mm512_cmp_ps_mask(_mm512_loadu_ps(bound + LANES * v), _mm512_loadu_ps(limit + LANES * v),
                                          _CMP_LE_OQ)
             << (LANES * v);
    return m;
}

const geodec__knn_kernels geodec__knn_vnni = {"vnni", bytes, shorts, bounds, within};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__knn_kernels geodec__knn_vnni = {0};
#endif
