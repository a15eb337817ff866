/* AVX-512 with VNNI: dot products of four unsigned bytes and four signed bytes in each 32-bit lane. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__)
#include "perspective/ternary/product_512_body.h"

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
        for (int r = 0; r < R; r++) s[r] = load_ahead(w, row + r * w->row_bytes + b * BLOCK);
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
                    here[r][v] = _mm512_dpbusd_epi32(here[r][v], s[r], in[v]);
                    next[r][v] = _mm512_dpbusd_epi32(next[r][v], after, in[v]);
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

const geodec__ternary_ops geodec__ternary_vnni = {
    .name = "vnni",
    .dot = {NULL, dot3, geodec__ternary_dot2_vnni},
    .add = {NULL, geodec__ternary_add3_avx512, geodec__ternary_add2_avx512}};

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
        for (int r = 0; r < R; r++) s[r] = load_ahead(w, row + r * w->row_bytes + b * BLOCK);
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
                    acc[r][i] = _mm512_dpbusd_epi32(acc[r][i], c, in[v]);
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
void geodec__ternary_dot2_vnni(const geodec__ternary_rows *w, const int8_t *q, int64_t stride, int n, int32_t *sum)
{
    dot2(w, q, stride, n, sum);
}
#else
typedef int geodec__no_vnni; /* built for another architecture */
#endif
