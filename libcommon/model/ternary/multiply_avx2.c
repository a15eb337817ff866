/* AVX2: pairs of products of unsigned codes and signed activations in 16 bits, widened before they can overflow. */
#if defined(__AVX2__)
#include "ternary/multiply_internal.h"

#include "ternary/multiply_body.h"

#include <immintrin.h>

enum {
    LANES = GEODEC__TERNARY_LANES,
    BLOCK = GEODEC_TERNARY_BLOCK,
    /* A pair of products is at most 2 x 2 x 127 = 508. Blocks until the sum of 8 or 10 pairs a block reaches 2^15. */
    WIDEN2 = 8,
    WIDEN3 = 6
};
_Static_assert(WIDEN2 * 8 * 508 < 32768 && WIDEN3 * 10 * 508 < 32768, "sums of 16 bits");

INLINE __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
INLINE __m256i widen(__m256i sum) { return _mm256_madd_epi16(sum, _mm256_set1_epi16(1)); }

INLINE int32_t total(__m256i a)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

/* Code k of 32 bytes; state: what is left of them. BASE3: bytes less 128, for signed comparisons; 3 (q - 128) = 3 q -
 * 128 modulo 256. The digit is the number of thresholds that q exceeds: 3 q / 256 reaches 1 at q = 86, 2 at q = 171. */
INLINE __m256i code3(__m256i *state)
{
    const __m256i s = *state, one = _mm256_cmpgt_epi8(s, _mm256_set1_epi8(85 - 128)),
                  two = _mm256_cmpgt_epi8(s, _mm256_set1_epi8(170 - 128));
    *state = _mm256_add_epi8(s, _mm256_add_epi8(s, s));
    return _mm256_sub_epi8(_mm256_sub_epi8(_mm256_setzero_si256(), one), two);
}
INLINE __m256i code2(__m256i *state)
{
    const __m256i c = _mm256_and_si256(*state, _mm256_set1_epi8(3));
    *state = _mm256_srli_epi16(*state, 2);
    return c;
}
INLINE __m256i codes_of(const int planes, const uint8_t *p)
{
    return planes == 5 ? _mm256_xor_si256(load(p), _mm256_set1_epi8(-128)) : load(p);
}

INLINE void dot_tile(const int planes, const int R, const int N, const geodec__ternary_rows *w, int first,
                     const int8_t *q, int64_t stride, int32_t *sum)
{
    __m256i wide[4][4];
    const uint8_t *row = w->data + first * w->row_bytes;
    const int64_t step = planes == 5 ? WIDEN3 : WIDEN2;
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < N; v++) wide[r][v] = _mm256_setzero_si256();
    }
    for (int64_t b = 0; b < w->blocks;) {
        const int64_t end = w->blocks - b < step ? w->blocks : b + step;
        __m256i part[4][4];
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < N; v++) part[r][v] = _mm256_setzero_si256();
        }
        for (; b < end; b++) {
            UNROLL
            for (int half = 0; half < 2; half++) {
                const int8_t *x = q + b * planes * BLOCK + 32 * half;
                __m256i state[4];
                UNROLL
                for (int r = 0; r < R; r++) {
                    const uint8_t *p = row + r * w->row_bytes + b * BLOCK + 32 * half;
                    /* in the order of memory: faster than ahead of each row */
                    if (half == 0) _mm_prefetch((const char *)row + w->ahead + (b * R + r) * BLOCK, _MM_HINT_T1);
                    state[r] = codes_of(planes, p);
                }
                UNROLL
                for (int k = 0; k < planes; k++) {
                    __m256i in[4];
                    UNROLL
                    for (int v = 0; v < N; v++) in[v] = load(x + v * stride + BLOCK * k);
                    UNROLL
                    for (int r = 0; r < R; r++) {
                        const __m256i c = planes == 5 ? code3(&state[r]) : code2(&state[r]);
                        UNROLL
                        for (int v = 0; v < N; v++)
                            part[r][v] = _mm256_add_epi16(part[r][v], _mm256_maddubs_epi16(c, in[v]));
                    }
                }
            }
        }
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < N; v++) wide[r][v] = _mm256_add_epi32(wide[r][v], widen(part[r][v]));
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < N; v++) sum[v * TILE + first + r] = total(wide[r][v]);
    }
}

#define TILE3(...) dot_tile(5, __VA_ARGS__)
#define TILE2(...) dot_tile(4, __VA_ARGS__)
DOT_OF(dot3, TILE3)
DOT_OF(dot2, TILE2)

/* Eight of 32-bit masks from bytes that are 0 or -1. */
INLINE __m256 mask8(const int8_t *m)
{
    return _mm256_castsi256_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)m)));
}

INLINE void add_rows(const int planes, const geodec__ternary_rows *w, const float *x, float lane[][LANES])
{
    for (int r = 0; r < w->rows; r++) {
        __m256 sum[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        for (int64_t b = 0; b < w->blocks; b++) {
            const uint8_t *p = w->data + r * w->row_bytes + b * BLOCK;
            __m256i state[2] = {codes_of(planes, p), codes_of(planes, p + 32)};
            for (int k = 0; k < planes; k++, x += BLOCK) {
                int8_t plus[BLOCK], minus[BLOCK];
                UNROLL
                for (int half = 0; half < 2; half++) {
                    const __m256i c = planes == 5 ? code3(&state[half]) : code2(&state[half]);
                    _mm256_storeu_si256((__m256i *)(void *)(plus + 32 * half),
                                        _mm256_cmpgt_epi8(c, _mm256_set1_epi8(1)));
                    _mm256_storeu_si256((__m256i *)(void *)(minus + 32 * half),
                                        _mm256_cmpeq_epi8(c, _mm256_setzero_si256()));
                }
                for (int i = 0; i < BLOCK; i += LANES) {
                    UNROLL
                    for (int h = 0; h < 2; h++) {
                        const __m256 v = _mm256_loadu_ps(x + i + 8 * h);
                        sum[h] = _mm256_add_ps(sum[h], _mm256_and_ps(v, mask8(plus + i + 8 * h)));
                        sum[h] = _mm256_sub_ps(sum[h], _mm256_and_ps(v, mask8(minus + i + 8 * h)));
                    }
                }
            }
        }
        x -= w->blocks * planes * BLOCK;
        _mm256_storeu_ps(lane[r], sum[0]);
        _mm256_storeu_ps(lane[r] + 8, sum[1]);
    }
}
static void add3(const geodec__ternary_rows *w, const float *x, float lane[][LANES]) { add_rows(5, w, x, lane); }
static void add2(const geodec__ternary_rows *w, const float *x, float lane[][LANES]) { add_rows(4, w, x, lane); }

/* ---- rows as float32 -------------------------------------------------------------------------------------------- */

/* 32 codes as t s. */
INLINE void put_codes(__m256i codes, __m256 s, float *out)
{
    const __m256i one = _mm256_set1_epi32(1);
    const __m128i low = _mm256_castsi256_si128(codes), high = _mm256_extracti128_si256(codes, 1);
    const __m128i part[4] = {low, _mm_srli_si128(low, 8), high, _mm_srli_si128(high, 8)};
    UNROLL
    for (int i = 0; i < 4; i++) {
        const __m256i t = _mm256_sub_epi32(_mm256_cvtepu8_epi32(part[i]), one);
        _mm256_storeu_ps(out + 8 * i, _mm256_mul_ps(_mm256_cvtepi32_ps(t), s));
    }
}

INLINE void expand(const int planes, int encoding, const uint8_t *row, int64_t cols, float scale, float *out)
{
    const __m256 s = _mm256_set1_ps(scale);
    for (int64_t b = 0; b * planes * BLOCK < cols; b++)
        for (int half = 0; half < 2; half++) {
            __m256i state = codes_of(planes, row + b * BLOCK + 32 * half);
            for (int k = 0; k < planes; k++) {
                const int64_t at = b * planes * BLOCK + (int64_t)k * BLOCK + 32 * half;
                __m256i c = planes == 5 ? code3(&state) : code2(&state);
                if (at + 32 <= cols)
                    put_codes(c, s, out + at);
                else if (at < cols)
                    geodec__ternary_expand_columns(encoding, row, at, cols, scale, out);
            }
        }
}

void geodec__ternary_expand_avx2(int encoding, const uint8_t *row, int64_t cols, float s, float *out)
{
    if (encoding == GEODEC_TERNARY_BASE3)
        expand(5, encoding, row, cols, s, out);
    else
        expand(4, encoding, row, cols, s, out);
}

const geodec__ternary_ops geodec__ternary_avx2 = {
    .name = "avx2", .dot = {NULL, dot3, dot2}, .add = {NULL, add3, add2}, .expand = geodec__ternary_expand_avx2};
#else
typedef int geodec__no_avx2; /* built for another architecture */
#endif
