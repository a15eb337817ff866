/* AVX-512 with VNNI: sixteen rows of a word in one register of bytes, against two digits of the activations. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512VNNI__)
#include "base/unroll_internal.h"
#include "integer/engine/product_internal.h"

#include <immintrin.h>
#include <string.h>

enum {
    AHEAD = 8192, /* prefetch distance in bytes, into the second-level cache */
    TILE = 4      /* most rows of a tile: eight chains of sums; more wait for the work at the end of a block */
};

/* Word g of a block. */
INLINE __m512i codes_of(const uint8_t *p, const int bits, const int g)
{
    const __m512i v = _mm512_loadu_si512(p + 64 * (bits == 8 ? g : g & 3));
    return bits == 8 ? v : _mm512_and_si512(g < 4 ? v : _mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));
}

/* Word g of a digit. */
INLINE __m512i digits_of(const int8_t *digit, const int g)
{
    int32_t four;
    memcpy(&four, digit + 4 * g, sizeof four);
    return _mm512_set1_epi32(four);
}

/* floor(acc 2^-s + 1/2) of eight rows; every s is 1 to 62. */
INLINE __m512i finish(__m512i acc, __m512i s)
{
    const __m512i half = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_sub_epi64(s, _mm512_set1_epi64(1)));
    return _mm512_srav_epi64(_mm512_add_epi64(acc, half), s);
}

/* Sums stay in pairs of registers: those of even rows, those of odd rows. The chains of a tile take turns, so that the
 * latency of one is the work of the others. */
INLINE void panel_rows(const geodec_panels16 *w, const int bits, const int digits, int64_t panel,
                       const geodec_rounded *const *x, const int T, int64_t *const *y)
{
    __m512i acc[2 * TILE];
    UNROLL
    for (int i = 0; i < 2 * T; i++) acc[i] = _mm512_setzero_si512();
    const uint8_t *record = w->data + panel * w->pairs * w->record;
    for (int64_t b = 0; b < 2 * w->pairs; b += 2, record += GEODEC__PRODUCT_HEAD + 128 * bits) {
        UNROLL
        for (int i = 0; i < 1 + 2 * bits; i++) _mm_prefetch((const char *)(record + AHEAD + 64 * i), _MM_HINT_T1);
        UNROLL
        for (int h = 0; h < 2; h++) {
            const uint8_t *codes = record + GEODEC__PRODUCT_HEAD + 64 * bits * h;
            const __m512i scale =
                _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(record + 32 * h)));
            __m512i low[TILE], high[TILE];
            UNROLL
            for (int t = 0; t < T; t++) {
                low[t] = _mm512_set1_epi32(x[t]->block[b + h].start[bits == 8]);
                high[t] = _mm512_setzero_si512();
            }
            UNROLL
            for (int g = 0; g < 8; g++) {
                const __m512i c = codes_of(codes, bits, g);
                UNROLL
                for (int t = 0; t < T; t++) {
                    const geodec_rounded_block *in = x[t]->block + b + h;
                    if (digits == 2) high[t] = _mm512_dpbusd_epi32(high[t], c, digits_of(in->digit[1], g));
                    low[t] = _mm512_dpbusd_epi32(low[t], c, digits_of(in->digit[0], g));
                }
            }
            UNROLL
            for (int t = 0; t < T; t++) {
                const __m512i up = _mm512_set1_epi32(x[t]->block[b + h].up);
                const __m512i sum = digits == 2 ? _mm512_add_epi32(low[t], _mm512_slli_epi32(high[t], 8)) : low[t];
                const __m512i even = _mm512_sllv_epi32(scale, up);
                acc[2 * t] = _mm512_add_epi64(acc[2 * t], _mm512_mul_epi32(sum, even));
                acc[2 * t + 1] = _mm512_add_epi64(
                    acc[2 * t + 1], _mm512_mul_epi32(_mm512_srli_epi64(sum, 32), _mm512_srli_epi64(even, 32)));
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
        const __m512i even = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                      odd = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
        const __m512i first_rows = _mm512_permutex2var_epi64(acc[2 * t], even, acc[2 * t + 1]),
                      last_rows = _mm512_permutex2var_epi64(acc[2 * t], odd, acc[2 * t + 1]);
        const __mmask16 far = _mm512_cmpge_epu32_mask(_mm512_sub_epi32(s, _mm512_set1_epi32(1)), _mm512_set1_epi32(62));
        if (whole && !far) {
            const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(s)),
                          high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(s, 1));
            _mm512_storeu_si512(y[t] + first, finish(first_rows, low));
            _mm512_storeu_si512(y[t] + first + 8, finish(last_rows, high));
        } else {
            int64_t sums[GEODEC__PRODUCT_ROWS];
            _mm512_storeu_si512(sums, first_rows);
            _mm512_storeu_si512(sums + 8, last_rows);
            geodec__product_finish(w, panel, x[t], sums, y[t]);
        }
    }
}

#define KERNEL(T, bits, digits)                                                                                        \
    static void rows_##bits##_##digits##_##T(const geodec_panels16 *w, int64_t panel, const geodec_rounded *const *x,  \
                                             int64_t *const *y)                                                        \
    {                                                                                                                  \
        panel_rows(w, bits, digits, panel, x, T, y);                                                                   \
    }
#define ENTRY(T, bits, digits) [T] = rows_##bits##_##digits##_##T,
UP_TO(4, KERNEL, 8, 1)
UP_TO(4, KERNEL, 8, 2)
UP_TO(4, KERNEL, 4, 1)
UP_TO(4, KERNEL, 4, 2)

typedef void (*kernel)(const geodec_panels16 *w, int64_t panel, const geodec_rounded *const *x, int64_t *const *y);
static const kernel kernels[2][2][TILE + 1] = {{{UP_TO(4, ENTRY, 4, 1)}, {UP_TO(4, ENTRY, 4, 2)}},
                                               {{UP_TO(4, ENTRY, 8, 1)}, {UP_TO(4, ENTRY, 8, 2)}}};

static void multiply(const geodec_panels16 *w, int64_t begin, int64_t end, const geodec_rounded *const *x, int64_t n,
                     int64_t *const *y)
{
    int digits = 1;
    if (w->bits == 16) {
        geodec__product_wide(w, begin, end, x, n, y);
        return;
    }
    for (int64_t t = 0; t < n; t++) digits = x[t]->n_digits > digits ? x[t]->n_digits : digits;
    const kernel *of = kernels[w->bits == 8][digits - 1];
    const int64_t tiles = (n + TILE - 1) / TILE; /* of about equal size: a row alone takes longer */
    for (int64_t panel = begin; panel < end; panel++)
        for (int64_t i = 0; i < tiles; i++) {
            const int64_t t = n * i / tiles;
            of[n * (i + 1) / tiles - t](w, panel, x + t, y + t);
        }
}

const geodec__product_ops geodec__product_vnni = {GEODEC_ISA_AVX512, multiply};
#else
typedef int geodec__product_no_vnni; /* built for another architecture */
#endif
