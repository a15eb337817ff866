/* AVX-512 with VNNI: eight rows of a word in one register of 16-bit numbers. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512VNNI__)
#include "base/unroll_internal.h"
#include "integer/engine/product_internal.h"

#include <immintrin.h>
#include <string.h>

enum { AHEAD = 8192 /* prefetch distance in bytes, into the second-level cache */ };

/* Word g, rows 8h to 8h + 7, as 16-bit numbers. */
INLINE __m512i word(const uint8_t *record, const int bits, int g, int h)
{
    const __m256i v =
        _mm256_loadu_si256((const __m256i *)(const void *)(record + 64 * (bits == 8 ? g : g & 3) + 32 * h));
    if (bits == 8) return _mm512_cvtepi8_epi16(v);
    const __m256i u = _mm256_and_si256(g < 4 ? v : _mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
    return _mm512_cvtepi8_epi16(_mm256_sub_epi8(u, _mm256_set1_epi8(8)));
}

/* floor(acc 2^-s + 1/2) of eight rows; every s is 1 to 62. */
INLINE __m512i finish(__m512i acc, __m512i s)
{
    const __m512i half = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_sub_epi64(s, _mm512_set1_epi64(1)));
    return _mm512_srav_epi64(_mm512_add_epi64(acc, half), s);
}

INLINE void panel_rows(const geodec_panels16 *w, const int bits, int64_t panel, const geodec_rounded *const *x,
                       const int T, int64_t *const *y)
{
    enum { MOST = 4 };
    __m512i acc[2 * MOST];
    UNROLL
    for (int i = 0; i < 2 * T; i++) acc[i] = _mm512_setzero_si512();
    for (int64_t b = 0; b < w->blocks; b++) {
        const uint8_t *record = w->code + (panel * w->blocks + b) * w->record;
        const int16_t *m = w->multiplier + (panel * w->blocks + b) * GEODEC__PRODUCT_ROWS;
        UNROLL
        for (int i = 0; i < bits; i++) _mm_prefetch((const char *)(record + AHEAD + 64 * i), _MM_HINT_T1);
        __m512i sum[2 * MOST];
        UNROLL
        for (int i = 0; i < 2 * T; i++) sum[i] = _mm512_setzero_si512();
        UNROLL
        for (int g = 0; g < 8; g++) {
            const __m512i low = word(record, bits, g, 0), high = word(record, bits, g, 1);
            UNROLL
            for (int t = 0; t < T; t++) {
                int64_t four;
                memcpy(&four, x[t]->v + b * GEODEC_CODED_BLOCK + 4 * g, sizeof four);
                const __m512i v = _mm512_set1_epi64(four);
                sum[2 * t] = _mm512_dpwssd_epi32(sum[2 * t], low, v);
                sum[2 * t + 1] = _mm512_dpwssd_epi32(sum[2 * t + 1], high, v);
            }
        }
        UNROLL
        for (int h = 0; h < 2; h++) {
            const __m512i scale = _mm512_cvtepi16_epi64(_mm_loadu_si128((const __m128i *)(const void *)(m + 8 * h)));
            UNROLL
            for (int t = 0; t < T; t++) {
                const __m512i s = sum[2 * t + h], whole = _mm512_add_epi32(s, _mm512_srli_epi64(s, 32));
                const __m512i factor = _mm512_sll_epi64(scale, _mm_cvtsi32_si128(x[t]->up[b]));
                acc[2 * t + h] = _mm512_add_epi64(acc[2 * t + h], _mm512_mul_epi32(whole, factor));
            }
        }
    }
    const int64_t first = panel * GEODEC__PRODUCT_ROWS;
    const bool whole = first + GEODEC__PRODUCT_ROWS <= w->rows;
    const __m512i shift = _mm512_loadu_si512(w->shift + first);
    UNROLL
    for (int t = 0; t < T; t++) {
        const __m512i s =
            _mm512_add_epi32(shift, _mm512_set1_epi32(x[t]->exponent + GEODEC_ROUNDED_SHIFT - GEODEC__PRODUCT_UNIT));
        const __mmask16 far = _mm512_cmpge_epu32_mask(_mm512_sub_epi32(s, _mm512_set1_epi32(1)), _mm512_set1_epi32(62));
        if (whole && !far) {
            const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(s)),
                          high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(s, 1));
            _mm512_storeu_si512(y[t] + first, finish(acc[2 * t], low));
            _mm512_storeu_si512(y[t] + first + 8, finish(acc[2 * t + 1], high));
        } else {
            int64_t sums[GEODEC__PRODUCT_ROWS];
            memcpy(sums, acc + 2 * t, sizeof sums);
            geodec__product_finish(w, panel, x[t], sums, y[t]);
        }
    }
}

#define KERNEL(T, bits)                                                                                                \
    static void rows_##bits##_##T(const geodec_panels16 *w, int64_t panel, const geodec_rounded *const *x,             \
                                  int64_t *const *y)                                                                   \
    {                                                                                                                  \
        panel_rows(w, bits, panel, x, T, y);                                                                           \
    }
UP_TO(4, KERNEL, 8)
UP_TO(4, KERNEL, 4)

typedef void (*kernel)(const geodec_panels16 *w, int64_t panel, const geodec_rounded *const *x, int64_t *const *y);
static const kernel wide[] = {NULL, rows_8_1, rows_8_2, rows_8_3, rows_8_4},
                    narrow[] = {NULL, rows_4_1, rows_4_2, rows_4_3, rows_4_4};

static void multiply(const geodec_panels16 *w, int64_t begin, int64_t end, const geodec_rounded *const *x, int64_t n,
                     int64_t *const *y)
{
    if (w->bits == 16) {
        geodec__product_wide(w, begin, end, x, n, y);
        return;
    }
    const kernel *of = w->bits == 8 ? wide : narrow;
    for (int64_t panel = begin; panel < end; panel++)
        for (int64_t t = 0; t < n; t += 4) of[n - t < 4 ? n - t : 4](w, panel, x + t, y + t);
}

const geodec__product_ops geodec__product_vnni = {GEODEC_ISA_AVX512, multiply};
#else
typedef int geodec__product_no_vnni; /* built for another architecture */
#endif
