/* AVX-512: additions of floats under mask registers. */
#if defined(__AVX512F__) && defined(__AVX512BW__)
#include "base/unroll_internal.h"
#include "ternary/multiply_internal.h"

#include <immintrin.h>

enum { LANES = GEODEC__TERNARY_LANES, BLOCK = GEODEC_TERNARY_BLOCK };

INLINE void add_tile(const int planes, const int R, const geodec__ternary_rows *w, int first, const float *x,
                     float lane[][LANES])
{
    __m512 sum[4];
    UNROLL
    for (int r = 0; r < R; r++) sum[r] = _mm512_setzero_ps();
    for (int64_t b = 0; b < w->blocks; b++) {
        __m512i state[4];
        UNROLL
        for (int r = 0; r < R; r++) state[r] = _mm512_loadu_si512(w->data + (first + r) * w->row_bytes + b * BLOCK);
        UNROLL
        for (int k = 0; k < planes; k++, x += BLOCK) {
            uint64_t plus[4], minus[4];
            UNROLL
            for (int r = 0; r < R; r++) {
                const __m512i s = state[r];
                if (planes == 5) {
                    plus[r] = _mm512_cmpge_epu8_mask(s, _mm512_set1_epi8((char)171));
                    minus[r] = _mm512_cmplt_epu8_mask(s, _mm512_set1_epi8(86));
                    state[r] = _mm512_add_epi8(s, _mm512_add_epi8(s, s));
                } else {
                    plus[r] = _mm512_test_epi8_mask(s, _mm512_set1_epi8((char)(2 << 2 * k)));
                    minus[r] = _mm512_testn_epi8_mask(s, _mm512_set1_epi8((char)(3 << 2 * k)));
                }
            }
            UNROLL
            for (int i = 0; i < BLOCK; i += LANES) {
                const __m512 v = _mm512_loadu_ps(x + i);
                UNROLL
                for (int r = 0; r < R; r++) {
                    sum[r] = _mm512_mask_add_ps(sum[r], (__mmask16)(plus[r] >> i), sum[r], v);
                    sum[r] = _mm512_mask_sub_ps(sum[r], (__mmask16)(minus[r] >> i), sum[r], v);
                }
            }
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) _mm512_storeu_ps(lane[first + r], sum[r]);
}

INLINE void add_rows(const int planes, const geodec__ternary_rows *w, const float *x, float lane[][LANES])
{
    if (w->rows == GEODEC__TERNARY_TILE) {
        add_tile(planes, GEODEC__TERNARY_TILE, w, 0, x, lane);
        return;
    }
    for (int r = 0; r < w->rows; r++) add_tile(planes, 1, w, r, x, lane);
}

void geodec__ternary_add3_avx512(const geodec__ternary_rows *w, const float *x, float lane[][LANES])
{
    add_rows(5, w, x, lane);
}
void geodec__ternary_add2_avx512(const geodec__ternary_rows *w, const float *x, float lane[][LANES])
{
    add_rows(4, w, x, lane);
}
#else
typedef int geodec__no_avx512; /* built for another architecture */
#endif
