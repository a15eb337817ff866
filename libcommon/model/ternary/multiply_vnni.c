/* AVX-512 with VNNI: dot products of four unsigned bytes and four signed bytes in each 32-bit lane. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__)
#include "ternary/multiply_internal.h"

#include "ternary/multiply_body.h"

#include <immintrin.h>

enum { BLOCK = GEODEC_TERNARY_BLOCK };

typedef uint16_t halves __attribute__((vector_size(64))); /* shifts by numbers that need not be constants */

INLINE __m512i load(const void *p) { return _mm512_loadu_si512(p); }
/* sum + the dot products of four bytes of codes and four of activations in each lane. As assembly, because gcc keeps a
 * second copy of every sum with the intrinsic, and runs out of registers. */
INLINE __m512i dot(__m512i sum, __m512i codes, __m512i q)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(q));
    return sum;
}
/* Block b of row r of R, with a prefetch in the order of memory, some tiles further: that is faster than ahead of each
 * row. */
INLINE __m512i load_ahead(const geodec__ternary_rows *w, const uint8_t *row, const int R, int r, int64_t b)
{
    _mm_prefetch((const char *)row + w->ahead + (b * R + r) * BLOCK, _MM_HINT_T1);
    return load(row + r * w->row_bytes + b * BLOCK);
}
/* Field k (two bits) of each byte, at the place of field `to`; both are constants. */
INLINE __m512i field(__m512i s, const int k, const int to)
{
    return _mm512_and_si512((__m512i)((halves)s >> 2 * (k - to)), _mm512_set1_epi8((char)(3 << 2 * to)));
}
/* Sums of codes times 4^k for k = 0 .. 3 to the sum of all; each is a multiple of 4^k. */
INLINE __m512i fields_sum(const __m512i acc[4])
{
    __m512i s = acc[0];
    UNROLL
    for (int k = 1; k < 4; k++) s = _mm512_add_epi32(s, _mm512_srai_epi32(acc[k], (unsigned)(2 * k)));
    return s;
}

/* BASE3 without digits: floor(3 q / 256) = (3 q - (3 q mod 256)) / 256, and 3 q mod 256 is the q of the next plane.
 * With q_0 the byte, q_(k+1) = 3 q_k mod 256:
 *   256 sum_k digit_k x_k = 3 sum_k q_k x_k - sum_k q_(k+1) x_k
 * Each lane of it is at most 256 x 254 x columns / 16 < 2^31 for 2^18 columns; sums on the way wrap around. */
INLINE void tile3(const int R, const int N, const geodec__ternary_rows *w, int first, const int8_t *q, int64_t stride,
                  int32_t *sum)
{
    __m512i here[4][4], next[4][4];
    const uint8_t *row = w->data + first * w->row_bytes;
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < N; v++) here[r][v] = next[r][v] = _mm512_setzero_si512();
    }
    for (int64_t b = 0; b < w->blocks; b++) {
        const int8_t *x = q + b * 5 * BLOCK;
        __m512i s[4];
        UNROLL
        for (int r = 0; r < R; r++) s[r] = load_ahead(w, row, R, r, b);
        UNROLL
        for (int k = 0; k < 5; k++) {
            __m512i in[4];
            UNROLL
            for (int v = 0; v < N; v++) in[v] = load(x + v * stride + BLOCK * k);
            UNROLL
            for (int r = 0; r < R; r++) {
                const __m512i after = _mm512_add_epi8(s[r], _mm512_add_epi8(s[r], s[r]));
                UNROLL
                for (int v = 0; v < N; v++) {
                    here[r][v] = dot(here[r][v], s[r], in[v]);
                    next[r][v] = dot(next[r][v], after, in[v]);
                }
                s[r] = after;
            }
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < N; v++) {
            const __m512i three = _mm512_add_epi32(here[r][v], _mm512_add_epi32(here[r][v], here[r][v]));
            sum[v * TILE + first + r] =
                _mm512_reduce_add_epi32(_mm512_srai_epi32(_mm512_sub_epi32(three, next[r][v]), 8));
        }
    }
}
DOT_OF(dot3, tile3)

/* BITS2. One vector: a field stays in its place, code 4^k, and has sums of its own, which are divided at the end. More
 * vectors share the shifts. */
INLINE void tile2(const int R, const int N, const geodec__ternary_rows *w, int first, const int8_t *q, int64_t stride,
                  int32_t *sum)
{
    __m512i acc[4][4];
    const uint8_t *row = w->data + first * w->row_bytes;
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int i = 0; i < 4; i++) acc[r][i] = _mm512_setzero_si512();
    }
    for (int64_t b = 0; b < w->blocks; b++) {
        const int8_t *x = q + b * 4 * BLOCK;
        __m512i s[4];
        UNROLL
        for (int r = 0; r < R; r++) s[r] = load_ahead(w, row, R, r, b);
        UNROLL
        for (int k = 0; k < 4; k++) {
            __m512i in[4];
            UNROLL
            for (int v = 0; v < N; v++) in[v] = load(x + v * stride + BLOCK * k);
            UNROLL
            for (int r = 0; r < R; r++) {
                const __m512i c = N == 1 ? field(s[r], k, k) : field(s[r], k, 0);
                UNROLL
                for (int v = 0; v < N; v++) {
                    const int i = N == 1 ? k : v;
                    acc[r][i] = dot(acc[r][i], c, in[v]);
                }
            }
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        if (N == 1)
            sum[first + r] = _mm512_reduce_add_epi32(fields_sum(acc[r]));
        else {
            UNROLL
            for (int v = 0; v < N; v++) sum[v * TILE + first + r] = _mm512_reduce_add_epi32(acc[r][v]);
        }
    }
}
DOT_OF(dot2, tile2)

const geodec__ternary_ops geodec__ternary_vnni = {
    .name = "vnni",
    .dot = {NULL, dot3, dot2},
    .add = {NULL, geodec__ternary_add3_avx512, geodec__ternary_add2_avx512},
    .expand = geodec__ternary_expand_avx2};

#else
typedef int geodec__no_vnni; /* built for another architecture */
#endif
