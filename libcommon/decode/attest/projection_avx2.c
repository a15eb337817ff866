/* AVX2: four columns of a row in one register of 64-bit sums. */
#if defined(__AVX2__)
#include "attest/projection_internal.h"
#include "base/unroll_internal.h"

#include <immintrin.h>
#include <string.h>

/* Word g of a row: four codes. */
INLINE __m256i word(const uint8_t *codes, const int bits, int g, int lane)
{
    uint32_t four;
    memcpy(&four, codes + 64 * (bits == 8 ? g : g & 3) + 4 * lane, sizeof four);
    if (bits == 4) four = (g < 4 ? four : four >> 4) & 0x0f0f0f0fu;
    return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)four));
}

/* One block of columns. Codes are unsigned; their offset is taken off at the end. Sums of 2^24 rows of products of 31
 * and 8 bits stay below 2^63. */
INLINE void block_columns(const geodec_panels16 *w, const int bits, const uint64_t *r, int64_t b, uint64_t *u)
{
    enum { WORDS = GEODEC_CODED_BLOCK / 4 };
    const int64_t panels = (w->rows + GEODEC__PRODUCT_ROWS - 1) / GEODEC__PRODUCT_ROWS;
    __m256i low[WORDS], high[WORDS];
    int64_t all_low = 0, all_high = 0;
    for (int g = 0; g < WORDS; g++) low[g] = high[g] = _mm256_setzero_si256();
    for (int64_t panel = 0; panel < panels; panel++) {
        const uint8_t *codes = geodec__product_codes(w, panel, b);
        const int16_t *m = geodec__product_multipliers(w, panel, b);
        int64_t s0[GEODEC__PRODUCT_ROWS], s1[GEODEC__PRODUCT_ROWS];
        for (int i = 0; i < GEODEC__PRODUCT_ROWS; i++) {
            const int64_t s = geodec__projection_scaled(r[panel * GEODEC__PRODUCT_ROWS + i], m[i]);
            s0[i] = s & GEODEC__PROJECTION_MASK;
            s1[i] = s >> GEODEC__PROJECTION_HALF;
            all_low += s0[i];
            all_high += s1[i];
        }
        for (int g = 0; g < WORDS; g++) {
            __m256i l = low[g], h = high[g];
            UNROLL
            for (int i = 0; i < GEODEC__PRODUCT_ROWS; i++) {
                const __m256i c = word(codes, bits, g, i);
                l = _mm256_add_epi64(l, _mm256_mul_epi32(c, _mm256_set1_epi64x(s0[i])));
                h = _mm256_add_epi64(h, _mm256_mul_epi32(c, _mm256_set1_epi64x(s1[i])));
            }
            low[g] = l;
            high[g] = h;
        }
    }
    const int offset = geodec__product_offset(bits);
    int64_t l[GEODEC_CODED_BLOCK], h[GEODEC_CODED_BLOCK];
    memcpy(l, low, sizeof l);
    memcpy(h, high, sizeof h);
    for (int c = 0; c < GEODEC_CODED_BLOCK; c++)
        u[c] = geodec__projection_split(geodec__projection_join(l[c] - offset * all_low, h[c] - offset * all_high));
}

static uint64_t draw(uint64_t seed, uint64_t stream, int64_t n, uint64_t *r)
{
    return geodec__projection_scalar.draw(seed, stream, n, r);
}

static void columns(const geodec_panels16 *w, const uint64_t *r, int64_t begin, int64_t end, uint64_t *u)
{
    for (int64_t b = 2 * begin; b < 2 * end; b++) {
        if (w->bits == 8)
            block_columns(w, 8, r, b, u + GEODEC_CODED_BLOCK * b);
        else
            block_columns(w, 4, r, b, u + GEODEC_CODED_BLOCK * b);
    }
}

static uint64_t input(const uint64_t *u, const geodec_rounded *x, int64_t blocks)
{
    return geodec__projection_scalar.input(u, x, blocks);
}

static uint64_t output(const geodec_transcript_sums *s, const uint64_t *r, uint64_t total, int64_t n,
                       const geodec__projection_finish *f, int64_t *y, const uint8_t *next)
{
    return geodec__projection_scalar.output(s, r, total, n, f, y, next);
}

const geodec__projection_ops geodec__projection_avx2 = {draw, columns, input, output};
#else
typedef int geodec__projection_no_avx2; /* built for another architecture */
#endif
