/* AVX-512 with VNNI and VBMI: two tables in eight registers turn a byte of BASE3 into the byte of BITS2 that has its
 * first four codes, and into its fifth code. That is fewer instructions than the two dot products for each plane of
 * product_vnni.c. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
#include "perspective/ternary/product_512_body.h"

/* Digits of every byte v, by the definition: floor(3 q / 256), q = 3 q mod 256. */
#define NEXT(q) (3 * (q)&255)
#define CODE(q) (3 * (q) >> 8)
#define Q1(v) NEXT(v)
#define Q2(v) NEXT(Q1(v))
#define Q3(v) NEXT(Q2(v))
#define Q4(v) NEXT(Q3(v))
#define FIRST(v) (CODE(v) | CODE(Q1(v)) << 2 | CODE(Q2(v)) << 4 | CODE(Q3(v)) << 6)
#define FIFTH(v) CODE(Q4(v))
#define OF4(f, v) f(v), f((v) + 1), f((v) + 2), f((v) + 3)
#define OF16(f, v) OF4(f, v), OF4(f, (v) + 4), OF4(f, (v) + 8), OF4(f, (v) + 12)
#define OF64(f, v) OF16(f, v), OF16(f, (v) + 16), OF16(f, (v) + 32), OF16(f, (v) + 48)
#define OF256(f) OF64(f, 0), OF64(f, 64), OF64(f, 128), OF64(f, 192)
static const uint8_t first_codes[256] __attribute__((aligned(64))) = {OF256(FIRST)};
static const uint8_t fifth_code[256] __attribute__((aligned(64))) = {OF256(FIFTH)};

/* Entries of a table of 256 bytes; upper: which indexes are 128 or more. */
INLINE __m512i look_up(const __m512i table[4], __m512i index, __mmask64 upper)
{
    return _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(table[0], index, table[1]),
                                  _mm512_permutex2var_epi8(table[2], index, table[3]));
}

INLINE void tile3(const int R, const int N, const geodec__ternary_rows *w, int first, const int8_t *q, int64_t stride,
                  int32_t *sum)
{
    __m512i acc[4][4], last[4], four[4], fifth[4];
    const uint8_t *row = w->data + first * w->row_bytes;
    UNROLL
    for (int i = 0; i < 4; i++) {
        four[i] = load(first_codes + 64 * i);
        fifth[i] = load(fifth_code + 64 * i);
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        last[r] = _mm512_setzero_si512();
        UNROLL
        for (int i = 0; i < 4; i++) acc[r][i] = _mm512_setzero_si512();
    }
    for (int64_t b = 0; b < w->blocks; b++) {
        const int8_t *x = q + b * 5 * BLOCK;
        __m512i s[4], c4[4];
        UNROLL
        for (int r = 0; r < R; r++) {
            const __m512i bytes = load_ahead(w, row + r * w->row_bytes + b * BLOCK);
            const __mmask64 upper = _mm512_movepi8_mask(bytes);
            s[r] = look_up(four, bytes, upper);
            c4[r] = look_up(fifth, bytes, upper);
        }
        UNROLL
        for (int k = 0; k < 5; k++) {
            __m512i in[4];
            UNROLL
            for (int v = 0; v < N; v++) in[v] = load(x + v * stride + BLOCK * k);
            UNROLL
            for (int r = 0; r < R; r++) {
                const __m512i c = k == 4 ? c4[r] : N == 1 ? field(s[r], k, k) : field(s[r], k, 0);
                UNROLL
                for (int v = 0; v < N; v++) {
                    __m512i *a = N > 1 ? &acc[r][v] : k == 4 ? &last[r] : &acc[r][k];
                    *a = _mm512_dpbusd_epi32(*a, c, in[v]);
                }
            }
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        if (N == 1)
            sum[first + r] = _mm512_reduce_add_epi32(_mm512_add_epi32(fields_sum(acc[r]), last[r]));
        else {
            UNROLL
            for (int v = 0; v < N; v++) sum[v * TILE + first + r] = _mm512_reduce_add_epi32(acc[r][v]);
        }
    }
}
/* Two rows at once: the tables leave registers for no more. */
INLINE void tile3_pairs(const int R, const int N, const geodec__ternary_rows *w, int first, const int8_t *q,
                        int64_t stride, int32_t *sum)
{
    if (R == 4) {
        tile3(2, N, w, first, q, stride, sum);
        tile3(2, N, w, first + 2, q, stride, sum);
    } else
        tile3(R, N, w, first, q, stride, sum);
}
DOT_OF(dot3, tile3_pairs)

const geodec__ternary_ops geodec__ternary_vbmi = {
    .name = "vbmi",
    .dot = {NULL, dot3, geodec__ternary_dot2_vnni},
    .add = {NULL, geodec__ternary_add3_avx512, geodec__ternary_add2_avx512}};
#else
typedef int geodec__no_vbmi; /* built for another architecture */
#endif
