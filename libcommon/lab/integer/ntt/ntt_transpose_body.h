/* Transposition of 8 x 8 words of 64 bits, V = __m512i. */
#include "base/unroll_internal.h"

#include <immintrin.h>

INLINE void transpose(V x[8])
{
    V y[8];
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm512_unpacklo_epi64(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 1]);
    }
    UNROLL
    for (int j = 0; j < 2; j++) {
        const V a = _mm512_shuffle_i64x2(y[j], y[j + 2], 0x88), b = _mm512_shuffle_i64x2(y[j], y[j + 2], 0xdd);
        const V c = _mm512_shuffle_i64x2(y[j + 4], y[j + 6], 0x88), d = _mm512_shuffle_i64x2(y[j + 4], y[j + 6], 0xdd);
        x[j] = _mm512_shuffle_i64x2(a, c, 0x88);
        x[j + 2] = _mm512_shuffle_i64x2(b, d, 0x88);
        x[j + 4] = _mm512_shuffle_i64x2(a, c, 0xdd);
        x[j + 6] = _mm512_shuffle_i64x2(b, d, 0xdd);
    }
}
