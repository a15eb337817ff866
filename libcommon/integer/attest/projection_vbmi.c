/* AVX-512 with VNNI, VBMI and IFMA. The multiples of r are cut into eight signed bytes, and sixteen rows of a word of
 * codes into four dot products of four rows. */
#if defined(__AVX512VBMI__) && defined(__AVX512VNNI__) && defined(__AVX512IFMA__)
#include "base/unroll_internal.h"
#include "integer/attest/projection_internal.h"

#include <immintrin.h>
#include <string.h>

enum {
    DIGITS = 8,
    GROUP = 4,      /* panels whose digits are kept */
    PART = 1 << 11, /* panels: sums of sixteen products of bytes in 32 bits; GROUP divides it */
    WORDS = 16,     /* of a pair of blocks */
    COLUMNS = 64,   /* of a pair of blocks */
    WIDE = 45,      /* most bits of a sum whose product with seven bits has at most 52 */
    FLUSH = 1 << 8  /* registers of eight numbers of 53 bits, whose sum has 64 */
};

/* s [16] of a block of a panel as signed bytes [DIGITS][16]. */
INLINE void put_digits(const uint64_t *r, const uint8_t *multipliers, uint8_t *digits, __m512i *low, __m512i *high)
{
    const __m512i mask = _mm512_set1_epi64(GEODEC__PROJECTION_MASK), bias = _mm512_set1_epi8((char)0x80);
    const int rest = GEODEC_MODULUS_SHIFT - GEODEC__PROJECTION_HALF;
    __m512i s[2];
    UNROLL
    for (int k = 0; k < 2; k++) { /* geodec__projection_scaled */
        const __m512i m = _mm512_cvtepi16_epi64(_mm_loadu_si128((const __m128i *)(const void *)(multipliers + 16 * k)));
        const __m512i in = _mm512_loadu_si512(r + 8 * k);
        const __m512i a = _mm512_mul_epi32(_mm512_and_si512(in, mask), m);
        const __m512i b = _mm512_mul_epi32(_mm512_srli_epi64(in, GEODEC__PROJECTION_HALF), m);
        const __m512i kept = _mm512_and_si512(b, _mm512_set1_epi64(((int64_t)1 << rest) - 1));
        const __m512i fold = _mm512_mul_epi32(_mm512_srai_epi64(b, rest), _mm512_set1_epi64(GEODEC_MODULUS_FOLD));
        s[k] = _mm512_sub_epi64(_mm512_add_epi64(_mm512_slli_epi64(kept, GEODEC__PROJECTION_HALF), a), fold);
        *low = _mm512_add_epi64(*low, _mm512_and_si512(s[k], mask));
        *high = _mm512_add_epi64(*high, _mm512_srai_epi64(s[k], GEODEC__PROJECTION_HALF));
        s[k] = _mm512_xor_si512(_mm512_add_epi64(s[k], bias), bias); /* eight signed digits */
    }
    /* byte 16 d + i is byte d of row i */
    const __m512i turn =
        _mm512_set_epi8(0x7b, 0x73, 0x6b, 0x63, 0x5b, 0x53, 0x4b, 0x43, 0x3b, 0x33, 0x2b, 0x23, 0x1b, 0x13, 0x0b, 0x03,
                        0x7a, 0x72, 0x6a, 0x62, 0x5a, 0x52, 0x4a, 0x42, 0x3a, 0x32, 0x2a, 0x22, 0x1a, 0x12, 0x0a, 0x02,
                        0x79, 0x71, 0x69, 0x61, 0x59, 0x51, 0x49, 0x41, 0x39, 0x31, 0x29, 0x21, 0x19, 0x11, 0x09, 0x01,
                        0x78, 0x70, 0x68, 0x60, 0x58, 0x50, 0x48, 0x40, 0x38, 0x30, 0x28, 0x20, 0x18, 0x10, 0x08, 0x00);
    _mm512_store_si512(digits, _mm512_permutex2var_epi8(s[0], turn, s[1]));
    _mm512_store_si512(digits + 64, _mm512_permutex2var_epi8(s[0], _mm512_add_epi8(turn, _mm512_set1_epi8(4)), s[1]));
}

/* Word g of a block: a column in each lane, sixteen rows in it. */
INLINE __m512i word(const uint8_t *codes, const int bits, int g)
{
    const __m512i rows = _mm512_setr_epi32(0x0c080400, 0x1c181410, 0x2c282420, 0x3c383430, 0x0d090501, 0x1d191511,
                                           0x2d292521, 0x3d393531, 0x0e0a0602, 0x1e1a1612, 0x2e2a2622, 0x3e3a3632,
                                           0x0f0b0703, 0x1f1b1713, 0x2f2b2723, 0x3f3b3733);
    __m512i v = _mm512_loadu_si512(codes + 64 * (bits == 8 ? g : g & 3));
    if (bits == 4) v = _mm512_and_si512(g < 4 ? v : _mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));
    return _mm512_permutexvar_epi8(rows, v);
}

/* Two words of n panels, against their digits. */
INLINE void add_words(const uint8_t *codes, const int bits, int g, int64_t step, int64_t n, const uint8_t *digits,
                      __m512i *sum)
{
    __m512i acc[2 * DIGITS];
    UNROLL
    for (int i = 0; i < 2 * DIGITS; i++) acc[i] = _mm512_load_si512(sum + i);
    for (int64_t k = 0; k < n; k++, codes += step, digits += (size_t)2 * DIGITS * 16) {
        const __m512i a = word(codes, bits, g), b = word(codes, bits, g + 1);
        UNROLL
        for (int d = 0; d < DIGITS; d++) {
            const __m512i digit =
                _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(const void *)(digits + 16 * d)));
            acc[d] = _mm512_dpbusd_epi32(acc[d], a, digit);
            acc[DIGITS + d] = _mm512_dpbusd_epi32(acc[DIGITS + d], b, digit);
        }
    }
    UNROLL
    for (int i = 0; i < 2 * DIGITS; i++) _mm512_store_si512(sum + i, acc[i]);
}

enum { PARTS = 3 /* of a sum: digits 0 to 2, 3 to 5, 6 and 7, below 2^57 */ };
typedef struct pair {
    _Alignas(64) __m512i sum[WORDS][DIGITS];
    _Alignas(64) uint8_t digits[GROUP][2][DIGITS][16];
    __m512i low[2], high[2];     /* sums of s in two halves */
    __m256i total[WORDS][PARTS]; /* of four columns */
} pair;

/* The sums of sixteen rows of each column join the totals. */
static void fold(pair *p)
{
    for (int g = 0; g < WORDS; g++) {
        __m256i column[DIGITS];
        UNROLL
        for (int d = 0; d < DIGITS; d++) {
            __m512i v = p->sum[g][d];
            v = _mm512_add_epi32(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC));
            v = _mm512_add_epi32(v, _mm512_shuffle_epi32(v, _MM_PERM_CDAB)); /* in all numbers of a lane */
            column[d] = _mm256_cvtepi32_epi64(_mm512_castsi512_si128(
                _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12), v)));
            p->sum[g][d] = _mm512_setzero_si512();
        }
        UNROLL
        for (int d = 0; d < DIGITS; d++)
            p->total[g][d / PARTS] =
                _mm256_add_epi64(p->total[g][d / PARTS], _mm256_slli_epi64(column[d], d % PARTS * 8));
    }
}

INLINE void part(const geodec_panels16 *w, const int bits, const uint64_t *r, int64_t at, int64_t begin, int64_t end,
                 pair *p)
{
    const int64_t step = w->pairs * w->record;
    for (int64_t panel = begin; panel < end; panel += GROUP) {
        const int64_t n = end - panel < GROUP ? end - panel : GROUP;
        const uint8_t *record = w->data + panel * step + at * w->record;
        for (int64_t k = 0; k < n; k++)
            for (int h = 0; h < 2; h++)
                put_digits(r + (panel + k) * GEODEC__PRODUCT_ROWS, record + k * step + 32 * h, p->digits[k][h][0],
                           &p->low[h], &p->high[h]);
        UNROLL
        for (int g = 0; g < WORDS; g += 2) {
            const int h = g / (WORDS / 2);
            const uint8_t *soon = record + (GROUP + g * GROUP / WORDS) * step; /* of the next group */
            const int lines = 1 + 2 * bits, half = g % (WORDS / GROUP) ? lines / 2 : 0;
            for (int i = half; i < half + (lines + 1) / 2; i++)
                _mm_prefetch((const char *)(soon + 64 * i), _MM_HINT_T1);
            add_words(record + GEODEC__PRODUCT_HEAD + 64 * bits * h, bits, g % (WORDS / 2), step, n, p->digits[0][h][0],
                      p->sum[g]);
        }
    }
    fold(p);
}

INLINE void pair_columns(const geodec_panels16 *w, const int bits, const uint64_t *r, int64_t at, uint64_t *u)
{
    const int64_t panels = (w->rows + GEODEC__PRODUCT_ROWS - 1) / GEODEC__PRODUCT_ROWS;
    const __m512i none = _mm512_setzero_si512();
    pair p;
    memset(p.sum, 0, sizeof p.sum);
    memset(p.total, 0, sizeof p.total);
    p.low[0] = p.low[1] = p.high[0] = p.high[1] = none;
    for (int64_t begin = 0; begin < panels; begin += PART)
        part(w, bits, r, at, begin, begin + PART < panels ? begin + PART : panels, &p);
    for (int h = 0; h < 2; h++) { /* at most 2^24 rows of 30 bits */
        const uint64_t s =
            geodec__projection_join(_mm512_reduce_add_epi64(p.low[h]), _mm512_reduce_add_epi64(p.high[h]));
        const uint64_t off = geodec__projection_times(s, (uint64_t)geodec__product_offset(bits));
        for (int c = h * GEODEC_CODED_BLOCK; c < (h + 1) * GEODEC_CODED_BLOCK; c++) {
            uint64_t sum = 0;
            for (int k = PARTS - 1; k >= 0; k--) {
                int64_t four[4];
                memcpy(four, &p.total[c / 4][k], sizeof four);
                sum = geodec__projection_plus(geodec__projection_times(sum, (uint64_t)1 << 8 * PARTS),
                                              geodec__projection_residue(four[c % 4]));
            }
            u[c] = geodec__projection_split(geodec__projection_minus(sum, off));
        }
    }
}

static void columns(const geodec_panels16 *w, const uint64_t *r, int64_t begin, int64_t end, uint64_t *u)
{
    for (int64_t at = begin; at < end; at++) {
        if (w->bits == 8)
            pair_columns(w, 8, r, at, u + COLUMNS * at);
        else
            pair_columns(w, 4, r, at, u + COLUMNS * at);
    }
}

/* ---- one input --------------------------------------------------------------------------------------------------- */

static uint64_t input(const uint64_t *u, const geodec_rounded *x, int64_t blocks)
{
    enum { BLOCKS = 1 << 5 /* whose sums of 32 products of 30 and 23 bits are below 2^63 */ };
    uint64_t sum = 0;
    for (int64_t begin = 0; begin < blocks; begin += BLOCKS) {
        const int64_t end = begin + BLOCKS < blocks ? begin + BLOCKS : blocks;
        __m512i low = _mm512_setzero_si512(), high = low;
        for (int64_t b = begin; b < end; b++) {
            const __m128i up = _mm_cvtsi32_si128(x->block[b].up);
            __m512i l = _mm512_setzero_si512(), h = l;
            UNROLL
            for (int i = 0; i < 4; i++) {
                const __m512i v =
                    _mm512_cvtepi16_epi64(_mm_loadu_si128((const __m128i *)(const void *)(x->block[b].v + 8 * i)));
                const __m512i both = _mm512_loadu_si512(u + GEODEC_CODED_BLOCK * b + 8 * i);
                l = _mm512_add_epi64(l, _mm512_mul_epi32(both, v));
                h = _mm512_add_epi64(h, _mm512_mul_epi32(_mm512_srli_epi64(both, 32), v));
            }
            low = _mm512_add_epi64(low, _mm512_sll_epi64(l, up));
            high = _mm512_add_epi64(high, _mm512_sll_epi64(h, up));
        }
        sum = geodec__projection_plus(
            sum, geodec__projection_join(_mm512_reduce_add_epi64(low), _mm512_reduce_add_epi64(high)));
    }
    return sum;
}

/* ---- the claimed sums -------------------------------------------------------------------------------------------- */

static uint64_t total_of(__m512i v)
{
    return geodec__projection_reduce((geodec_mulmod_wide){(uint64_t)_mm512_reduce_add_epi64(v), 0});
}

static uint64_t output(const geodec_transcript_sums *s, const uint64_t *r, uint64_t total, int64_t n,
                       const geodec__projection_finish *f, int64_t *y, const uint8_t *next)
{
    const int bits = s->bits, up = 64 - bits;
    /* Registers have acc 2^(up - zeros), and bits of other sums in the `up` last places. `right` and one more shift
     * make y of it, without these bits. */
    const int right = up - s->zeros + f->base - 1;
    const int64_t eights = n / 8;
    if (bits > WIDE || right + f->least < up) return geodec__projection_scalar.output(s, r, total, n, f, y, next);
    /* number i of eight begins at bit i bits: byte i bits / 8 and the seven after it */
    const __m512i first = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(bits));
    const __m512i bytes =
        _mm512_shuffle_epi8(_mm512_srli_epi64(first, 3),
                            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8)));
    const __m512i from = _mm512_add_epi8(bytes, _mm512_set1_epi64(0x0706050403020100)),
                  by = _mm512_sub_epi64(_mm512_set1_epi64(up), _mm512_and_si512(first, _mm512_set1_epi64(7))),
                  one = _mm512_set1_epi64(1), sign = _mm512_set1_epi64(INT64_MIN), shift = _mm512_set1_epi64(right);
    const __mmask64 there = ((__mmask64)1 << bits) - 1;
    const __m128i down = _mm_cvtsi32_si128(up);
    const int32_t *rows = f->shift;
    const uint8_t *p = s->packed;
    uint64_t sum = 0;
    if (!next) next = p;
    for (int64_t begin = 0; begin < eights; begin += FLUSH) {
        const int64_t end = begin + FLUSH < eights ? begin + FLUSH : eights;
        __m512i low = _mm512_setzero_si512(), high = low, top = low;
        for (int64_t i = begin; i < end; i++, p += bits) {
            _mm_prefetch((const char *)(next + (p - s->packed)), _MM_HINT_T0);
            const __m512i acc = _mm512_sllv_epi64(_mm512_permutexvar_epi8(from, _mm512_maskz_loadu_epi8(there, p)), by);
            const __m512i a = _mm512_srl_epi64(_mm512_xor_si512(acc, sign), down), m = _mm512_loadu_si512(r + 8 * i);
            low = _mm512_madd52lo_epu64(low, m, a);
            high = _mm512_madd52hi_epu64(high, m, a);
            top = _mm512_madd52lo_epu64(top, _mm512_srli_epi64(m, 52), a);
            const __m512i k = _mm512_add_epi64(
                shift, _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(rows + 8 * i))));
            _mm512_storeu_si512(y + 8 * i, _mm512_srai_epi64(_mm512_add_epi64(_mm512_srav_epi64(acc, k), one), 1));
        }
        const uint64_t far = geodec__projection_times(total_of(_mm512_add_epi64(high, top)), (uint64_t)1 << 52);
        sum = geodec__projection_plus(sum, geodec__projection_plus(total_of(low), far));
    }
    /* acc + 2^(bits - 1) was added up; the reference does the last ones, with the numbers of r that belong to them */
    uint64_t last = 0;
    for (int64_t i = 8 * eights; i < n; i++) last = geodec__projection_plus(last, r[i]);
    sum = geodec__projection_minus(
        sum, geodec__projection_times((uint64_t)1 << (bits - 1), geodec__projection_minus(total, last)));
    sum = geodec__projection_times(sum, (uint64_t)1 << s->zeros);
    if (8 * eights == n) return sum;
    geodec_transcript_sums tail = *s;
    geodec__projection_finish finish = *f;
    tail.packed = p;
    finish.shift += 8 * eights;
    return geodec__projection_plus(sum, geodec__projection_scalar.output(&tail, r + 8 * eights, last, n - 8 * eights,
                                                                         &finish, y + 8 * eights, NULL));
}

const geodec__projection_ops geodec__projection_vbmi = {columns, input, output};
#else
typedef int geodec__projection_no_vbmi; /* built for another architecture */
#endif
