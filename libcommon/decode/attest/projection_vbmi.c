/* AVX-512 with VNNI, VBMI and IFMA. The multiples of r are cut into eight signed bytes, and sixteen rows of a word of
 * codes into four dot products of four rows. */
#if defined(__AVX512VBMI__) && defined(__AVX512VNNI__) && defined(__AVX512IFMA__)
#include "attest/projection_internal.h"
#include "base/unroll_internal.h"

#include <immintrin.h>
#include <string.h>

enum {
    DIGITS = 8,
    GROUP = 8,      /* panels whose digits are kept */
    PART = 1 << 11, /* panels: sums of sixteen products of bytes in 32 bits; GROUP divides it */
    WORDS = 16,     /* of a pair of blocks */
    COLUMNS = 64,   /* of a pair of blocks */
    PAIRS = 12,     /* of a strip */
    WIDE = 44,      /* most bits of a sum whose product with eight bits has at most 52 */
    FLUSH = 1 << 8  /* registers of eight numbers of 53 bits, whose sum has 64 */
};

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

/* Philox4x32-10 (base/rng.c), a block in each lane. */
static uint64_t draw(uint64_t seed, uint64_t stream, int64_t n, uint64_t *r)
{
    enum { ROUNDS = 10, EACH = 16, DOWN = 64 - GEODEC__PROJECTION_BITS };
    const __m512i by0 = _mm512_set1_epi64(0xD2511F53), by2 = _mm512_set1_epi64(0xCD9E8D57),
                  low = _mm512_set1_epi64(UINT32_MAX), half = _mm512_set1_epi64(GEODEC__PROJECTION_MASK);
    __m512i block = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), sum0 = _mm512_setzero_si512(), sum1 = sum0;
    for (int64_t i = 0; i < n; i += EACH, block = _mm512_add_epi64(block, _mm512_set1_epi64(EACH / 2))) {
        __m512i c0 = block, c1 = _mm512_srli_epi64(block, 32), c2 = _mm512_set1_epi64((int64_t)(stream & UINT32_MAX)),
                c3 = _mm512_set1_epi64((int64_t)(stream >> 32));
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        UNROLL
        for (int round = 0; round < ROUNDS; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
            const __m512i p0 = _mm512_mul_epu32(c0, by0), p2 = _mm512_mul_epu32(c2, by2);
            c0 = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(p2, 32), c1), _mm512_set1_epi64(k0));
            c2 = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(p0, 32), c3), _mm512_set1_epi64(k1));
            c1 = p2; /* the upper halves are garbage from here on */
            c3 = p0;
        }
        const __m512i even = _mm512_or_si512(_mm512_slli_epi64(c1, 32), _mm512_and_si512(c0, low)),
                      odd = _mm512_or_si512(_mm512_slli_epi64(c3, 32), _mm512_and_si512(c2, low));
        UNROLL
        for (int k = 0; k < 2; k++) {
            const __m512i turn =
                _mm512_add_epi64(_mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), _mm512_set1_epi64(4 * k));
            const int64_t left = n - i - 8 * k;
            const __mmask8 there = (__mmask8)(left >= 8 ? 255 : left <= 0 ? 0 : (1 << left) - 1);
            const __m512i v = _mm512_maskz_srli_epi64(there, _mm512_permutex2var_epi64(even, turn, odd), DOWN);
            _mm512_storeu_si512(r + i + 8 * k, v);
            sum0 = _mm512_add_epi64(sum0, _mm512_and_si512(v, half));
            sum1 = _mm512_add_epi64(sum1, _mm512_srli_epi64(v, GEODEC__PROJECTION_HALF));
        }
    }
    return geodec__projection_join(_mm512_reduce_add_epi64(sum0), _mm512_reduce_add_epi64(sum1));
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* s [16] of a block of a panel as signed bytes [DIGITS][16]; the sums of four rows join *sum. */
INLINE void put_digits(const uint64_t *r, const uint8_t *multipliers, uint8_t *digits, __m512i sum[2])
{
    const __m512i mask = _mm512_set1_epi64(GEODEC__PROJECTION_MASK), bias = _mm512_set1_epi8((char)0x80);
    const int rest = GEODEC__PROJECTION_PRIME - GEODEC__PROJECTION_HALF;
    __m512i s[2];
    UNROLL
    for (int k = 0; k < 2; k++) { /* geodec__projection_scaled */
        const __m512i m = _mm512_cvtepi16_epi64(_mm_loadu_si128((const __m128i *)(const void *)(multipliers + 16 * k)));
        const __m512i in = _mm512_loadu_si512(r + 8 * k);
        const __m512i a = _mm512_mul_epi32(_mm512_and_si512(in, mask), m);
        const __m512i b = _mm512_mul_epi32(_mm512_srli_epi64(in, GEODEC__PROJECTION_HALF), m);
        const __m512i kept = _mm512_and_si512(b, _mm512_set1_epi64(((int64_t)1 << rest) - 1));
        s[k] = _mm512_add_epi64(_mm512_add_epi64(_mm512_slli_epi64(kept, GEODEC__PROJECTION_HALF), a),
                                _mm512_srai_epi64(b, rest));
        s[k] = _mm512_xor_si512(_mm512_add_epi64(s[k], bias), bias); /* eight signed digits */
    }
    /* byte 16 d + i is byte d of row i */
    const __m512i turn =
        _mm512_set_epi8(0x7b, 0x73, 0x6b, 0x63, 0x5b, 0x53, 0x4b, 0x43, 0x3b, 0x33, 0x2b, 0x23, 0x1b, 0x13, 0x0b, 0x03,
                        0x7a, 0x72, 0x6a, 0x62, 0x5a, 0x52, 0x4a, 0x42, 0x3a, 0x32, 0x2a, 0x22, 0x1a, 0x12, 0x0a, 0x02,
                        0x79, 0x71, 0x69, 0x61, 0x59, 0x51, 0x49, 0x41, 0x39, 0x31, 0x29, 0x21, 0x19, 0x11, 0x09, 0x01,
                        0x78, 0x70, 0x68, 0x60, 0x58, 0x50, 0x48, 0x40, 0x38, 0x30, 0x28, 0x20, 0x18, 0x10, 0x08, 0x00);
    UNROLL
    for (int k = 0; k < 2; k++) {
        const __m512i four =
            _mm512_permutex2var_epi8(s[0], _mm512_add_epi8(turn, _mm512_set1_epi8((char)(4 * k))), s[1]);
        _mm512_store_si512(digits + 64 * k, four);
        sum[k] = _mm512_dpbusd_epi32(sum[k], _mm512_set1_epi8(1), four);
    }
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

typedef struct pair {
    _Alignas(64) __m512i sum[WORDS][DIGITS];
    __m512i all[2][2];       /* of each block: sums of four numbers s, digits 0 to 3 and 4 to 7 */
    __m512i total[WORDS][2]; /* of four columns: digits 0 and 1, digits 2 and 3 of each; digits 4 and 5, 6 and 7 */
    __m512i digit[2];        /* of each block: the sum of s */
} pair;

/* Numbers of 128 bits: the sums of four columns of 32 bits, a column in each number. */
INLINE __m512i across(const __m512i *v)
{
    const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1])),
                  b = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* The sums of sixteen rows of each column join the totals. */
static void fold(pair *p)
{
    const __m512i none = _mm512_setzero_si512();
    for (int g = 0; g < WORDS; g++)
        for (int k = 0; k < 2; k++) {
            const __m512i four = across(p->sum[g] + 4 * k); /* digits of a column */
            const __m512i even = _mm512_srai_epi64(_mm512_slli_epi64(four, 32), 32),
                          odd = _mm512_slli_epi64(_mm512_srai_epi64(four, 32), 8);
            p->total[g][k] = _mm512_add_epi64(p->total[g][k], _mm512_add_epi64(even, odd));
            UNROLL
            for (int d = 0; d < 4; d++) p->sum[g][4 * k + d] = none;
        }
    for (int h = 0; h < 2; h++) {
        __m512i v[2];
        for (int k = 0; k < 2; k++) {
            v[k] = _mm512_add_epi32(p->all[h][k], _mm512_shuffle_epi32(p->all[h][k], _MM_PERM_BADC));
            v[k] = _mm512_add_epi32(v[k], _mm512_shuffle_epi32(v[k], _MM_PERM_CDAB)); /* in all numbers of a lane */
            p->all[h][k] = none;
        }
        const __m512i each = _mm512_permutex2var_epi32(
            v[0], _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28), v[1]);
        p->digit[h] = _mm512_add_epi64(p->digit[h], _mm512_cvtepi32_epi64(_mm512_castsi512_si256(each)));
    }
}

/* A group of n panels of a pair; soon: the record to which the next call gives a first look. */
INLINE void add_group(const uint8_t *record, const int bits, int64_t step, int64_t n, const uint64_t *r,
                      const uint8_t *soon, pair *p)
{
    _Alignas(64) uint8_t digits[GROUP][2][DIGITS][16];
    for (int64_t k = 0; k < n; k++)
        for (int h = 0; h < 2; h++)
            put_digits(r + k * GEODEC__PRODUCT_ROWS, record + k * step + 32 * h, digits[k][h][0], p->all[h]);
    UNROLL
    for (int g = 0; g < WORDS; g += 2) {
        const int h = g / (WORDS / 2);
        for (int i = 0; i < 1 + 2 * bits; i++) /* panel g / 2 of the eight */
            _mm_prefetch((const char *)(soon + g / 2 * step + 64 * i), _MM_HINT_T1);
        add_words(record + GEODEC__PRODUCT_HEAD + 64 * bits * h, bits, g % (WORDS / 2), step, n, digits[0][h][0],
                  p->sum[g]);
    }
}

/* Columns of words g and g + 1, from their totals, less `off`. */
INLINE void put_columns(const pair *p, int g, uint64_t off, uint64_t *u)
{
    enum { REST = GEODEC__PROJECTION_PRIME - 32 };
    const __m512i prime = _mm512_set1_epi64((int64_t)GEODEC__PROJECTION_P);
    __m512i v[2]; /* digits 0 to 3 and 4 to 7: below 2^63 with 2^24 rows */
    UNROLL
    for (int k = 0; k < 2; k++)
        v[k] = _mm512_add_epi64(_mm512_unpacklo_epi64(p->total[g][k], p->total[g + 1][k]),
                                _mm512_slli_epi64(_mm512_unpackhi_epi64(p->total[g][k], p->total[g + 1][k]), 16));
    __m512i sum = _mm512_set1_epi64((int64_t)(2 * GEODEC__PROJECTION_P - off)); /* five numbers, below 2^64 in all */
    sum = _mm512_add_epi64(sum, _mm512_and_si512(v[0], prime));
    sum = _mm512_add_epi64(sum, _mm512_srai_epi64(v[0], GEODEC__PROJECTION_PRIME));
    sum = _mm512_add_epi64(sum, _mm512_slli_epi64(_mm512_and_si512(v[1], _mm512_set1_epi64((1 << REST) - 1)), 32));
    sum = _mm512_add_epi64(sum, _mm512_srai_epi64(v[1], REST));
    sum = _mm512_add_epi64(_mm512_and_si512(sum, prime), _mm512_srli_epi64(sum, GEODEC__PROJECTION_PRIME));
    sum = _mm512_min_epu64(sum, _mm512_sub_epi64(sum, prime));
    const __m512i halves = _mm512_or_si512(_mm512_and_si512(sum, _mm512_set1_epi64(GEODEC__PROJECTION_MASK)),
                                           _mm512_slli_epi64(_mm512_srli_epi64(sum, GEODEC__PROJECTION_HALF), 32));
    _mm512_storeu_si512(u + 4 * g, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), halves));
}

static void put_pair(const pair *p, const int bits, uint64_t *u)
{
    for (int h = 0; h < 2; h++) {
        int64_t digit[DIGITS];
        uint64_t s = 0;
        memcpy(digit, &p->digit[h], sizeof digit);
        for (int d = 0; d < DIGITS; d++)
            s = geodec__projection_plus(s, geodec__projection_shifted(geodec__projection_residue(digit[d]), 8 * d));
        const uint64_t off = geodec__projection_shifted(s, bits - 1); /* the offset of the codes */
        for (int g = h * WORDS / 2; g < (h + 1) * WORDS / 2; g += 2) put_columns(p, g, off, u);
    }
}

/* Pairs begin to end - 1, group of panels by group, so that memory is read nearly in order. */
INLINE void strip(const geodec_panels16 *w, const int bits, const uint64_t *r, int64_t begin, int64_t end, uint64_t *u)
{
    const int64_t panels = (w->rows + GEODEC__PRODUCT_ROWS - 1) / GEODEC__PRODUCT_ROWS, step = w->pairs * w->record;
    pair p[PAIRS];
    memset(p, 0, (size_t)(end - begin) * sizeof *p);
    for (int64_t panel = 0; panel < panels; panel += GROUP) {
        const int64_t n = panels - panel < GROUP ? panels - panel : GROUP;
        for (int64_t at = begin; at < end; at++) {
            const uint8_t *record = w->data + panel * step + at * w->record;
            const uint8_t *soon = at + 1 < end ? record + w->record : record + GROUP * step - (at - begin) * w->record;
            add_group(record, bits, step, n, r + panel * GEODEC__PRODUCT_ROWS, soon, &p[at - begin]);
            if ((panel + GROUP) % PART == 0 || panel + GROUP >= panels) fold(&p[at - begin]);
        }
    }
    for (int64_t at = begin; at < end; at++) put_pair(&p[at - begin], bits, u + COLUMNS * at);
}

static void columns(const geodec_panels16 *w, const uint64_t *r, int64_t begin, int64_t end, uint64_t *u)
{
    for (int64_t at = begin; at < end; at += PAIRS) {
        const int64_t to = end - at < PAIRS ? end : at + PAIRS;
        if (w->bits == 8)
            strip(w, 8, r, at, to, u);
        else
            strip(w, 4, r, at, to, u);
    }
}

/* ---- one input --------------------------------------------------------------------------------------------------- */

static uint64_t input(const uint64_t *u, const geodec_rounded *x, int64_t blocks)
{
    enum { BLOCKS = 1 << 4 /* whose sums of 512 products of 31 and 23 bits are below 2^63 */ };
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
    const int bits = s->bits;
    const int right = f->base - s->zeros - 1; /* and one more shift make y of acc 2^-zeros */
    const int64_t eights = n / 8;
    if (bits > WIDE || right + f->least < 0) return geodec__projection_scalar.output(s, r, total, n, f, y, next);
    /* number i of eight begins at bit i bits: byte i bits / 8 and the seven after it */
    const __m512i first = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(bits));
    const __m512i bytes =
        _mm512_shuffle_epi8(_mm512_srli_epi64(first, 3),
                            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8)));
    const __m512i from = _mm512_add_epi8(bytes, _mm512_set1_epi64(0x0706050403020100)),
                  past = _mm512_and_si512(first, _mm512_set1_epi64(7)), one = _mm512_set1_epi64(1),
                  half = _mm512_set1_epi64(1LL << (bits - 1)), shift = _mm512_set1_epi64(right),
                  mask = _mm512_set1_epi64((1LL << bits) - 1);
    const __mmask64 there = ((__mmask64)1 << bits) - 1;
    const int32_t *rows = f->shift;
    const uint8_t *p = s->packed;
    uint64_t sum = 0;
    if (!next) next = p;
    for (int64_t begin = 0; begin < eights; begin += FLUSH) {
        const int64_t end = begin + FLUSH < eights ? begin + FLUSH : eights;
        __m512i low = _mm512_setzero_si512(), high = low, top = low;
        for (int64_t i = begin; i < end; i++, p += bits) {
            _mm_prefetch((const char *)(next + (p - s->packed)), _MM_HINT_NTA);
            const __m512i raw = _mm512_permutexvar_epi8(from, _mm512_maskz_loadu_epi8(there, p));
            /* acc 2^-zeros + half: the bits of one sum, the first of them changed */
            const __m512i a = _mm512_ternarylogic_epi64(_mm512_srlv_epi64(raw, past), mask, half, 0x6a),
                          m = _mm512_loadu_si512(r + 8 * i);
            low = _mm512_madd52lo_epu64(low, m, a);
            high = _mm512_madd52hi_epu64(high, m, a);
            top = _mm512_madd52lo_epu64(top, _mm512_srli_epi64(m, 52), a);
            const __m512i k = _mm512_add_epi64(
                shift, _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(rows + 8 * i))));
            _mm512_storeu_si512(
                y + 8 * i,
                _mm512_srai_epi64(_mm512_add_epi64(_mm512_srav_epi64(_mm512_sub_epi64(a, half), k), one), 1));
        }
        const uint64_t far = geodec__projection_shifted(total_of(_mm512_add_epi64(high, top)), 52);
        sum = geodec__projection_plus(sum, geodec__projection_plus(total_of(low), far));
    }
    /* acc + 2^(bits - 1) was added up; the reference does the last ones, with the numbers of r that belong to them */
    uint64_t last = 0;
    for (int64_t i = 8 * eights; i < n; i++) last = geodec__projection_plus(last, r[i]);
    sum = geodec__projection_minus(
        sum, geodec__projection_times((uint64_t)1 << (bits - 1), geodec__projection_minus(total, last)));
    sum = geodec__projection_shifted(sum, s->zeros);
    if (8 * eights == n) return sum;
    geodec_transcript_sums tail = *s;
    geodec__projection_finish finish = *f;
    tail.packed = p;
    finish.shift += 8 * eights;
    return geodec__projection_plus(sum, geodec__projection_scalar.output(&tail, r + 8 * eights, last, n - 8 * eights,
                                                                         &finish, y + 8 * eights, NULL));
}

const geodec__projection_ops geodec__projection_vbmi = {draw, columns, input, output};
#else
typedef int geodec__projection_no_vbmi; /* built for another architecture */
#endif
