/* AVX2: four rows of a word in one register of 16-bit numbers. */
#if defined(__AVX2__)
#include "base/unroll_internal.h"
#include "integer/engine/product_internal.h"

#include <immintrin.h>
#include <string.h>

static inline __m128i load16(const void *p) { return _mm_loadu_si128((const __m128i *)p); }

/* Word g, rows 4q to 4q + 3, as 16-bit numbers. */
INLINE __m256i word(const uint8_t *codes, const int bits, int g, int q)
{
    if (bits == 8) return _mm256_cvtepu8_epi16(load16(codes + 64 * g + 16 * q));
    const __m128i v = load16(codes + 64 * (g & 3) + 16 * q), low = _mm_set1_epi8(15);
    return _mm256_cvtepu8_epi16(_mm_and_si128(g < 4 ? v : _mm_srli_epi16(v, 4), low));
}

INLINE void panel_rows(const geodec_panels16 *w, const int bits, int64_t panel, const geodec_rounded *const *x,
                       const int T, int64_t *const *y)
{
    __m256i acc[2 * 4];
    for (int i = 0; i < 4 * T; i++) acc[i] = _mm256_setzero_si256();
    for (int64_t b = 0; b < 2 * w->pairs; b++) {
        const uint8_t *codes = geodec__product_codes(w, panel, b);
        const int16_t *m = geodec__product_multipliers(w, panel, b);
        __m256i start[2]; /* takes the offset of the codes off */
        UNROLL
        for (int t = 0; t < T; t++) start[t] = _mm256_set1_epi64x((uint32_t)x[t]->block[b].start[bits == 8]);
        UNROLL
        for (int q = 0; q < 4; q++) {
            __m256i sum[2] = {start[0], start[T - 1]};
            UNROLL
            for (int g = 0; g < 8; g++) {
                const __m256i c = word(codes, bits, g, q);
                UNROLL
                for (int t = 0; t < T; t++) {
                    int64_t four;
                    memcpy(&four, x[t]->block[b].v + 4 * g, sizeof four);
                    sum[t] = _mm256_add_epi32(sum[t], _mm256_madd_epi16(c, _mm256_set1_epi64x(four)));
                }
            }
            const __m256i scale = _mm256_cvtepi16_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(m + 4 * q)));
            UNROLL
            for (int t = 0; t < T; t++) {
                const __m256i whole = _mm256_add_epi32(sum[t], _mm256_srli_epi64(sum[t], 32));
                const __m256i factor = _mm256_sll_epi64(scale, _mm_cvtsi32_si128(x[t]->block[b].up));
                acc[4 * t + q] = _mm256_add_epi64(acc[4 * t + q], _mm256_mul_epi32(whole, factor));
            }
        }
    }
    for (int t = 0; t < T; t++) {
        int64_t sums[GEODEC__PRODUCT_ROWS];
        memcpy(sums, acc + 4 * t, sizeof sums);
        geodec__product_finish(w, panel, x[t], sums, y[t]);
    }
}

#define KERNEL(T, bits)                                                                                                \
    static void rows_##bits##_##T(const geodec_panels16 *w, int64_t panel, const geodec_rounded *const *x,             \
                                  int64_t *const *y)                                                                   \
    {                                                                                                                  \
        panel_rows(w, bits, panel, x, T, y);                                                                           \
    }
UP_TO(2, KERNEL, 8)
UP_TO(2, KERNEL, 4)

static void multiply(const geodec_panels16 *w, int64_t begin, int64_t end, const geodec_rounded *const *x, int64_t n,
                     int64_t *const *y)
{
    if (w->bits == 16) {
        geodec__product_wide(w, begin, end, x, n, y);
        return;
    }
    for (int64_t panel = begin; panel < end; panel++) {
        int64_t t = 0;
        for (; t + 2 <= n; t += 2) (w->bits == 8 ? rows_8_2 : rows_4_2)(w, panel, x + t, y + t);
        for (; t < n; t++) (w->bits == 8 ? rows_8_1 : rows_4_1)(w, panel, x + t, y + t);
    }
}

const geodec__product_ops geodec__product_avx2 = {GEODEC_ISA_AVX2, multiply};
#else
typedef int geodec__product_no_avx2; /* built for another architecture */
#endif
