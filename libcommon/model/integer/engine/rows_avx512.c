/* AVX-512: eight numbers of 64 bits. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include "base/unroll_internal.h"
#include "integer/engine/coded.h"
#include "integer/engine/rows_internal.h"
#include "integer/fixed/fixed_tables.h"

#include <immintrin.h>
#include <string.h>

enum { LANES = 8 };
typedef __m512i vec;

static inline vec set1(int64_t x) { return _mm512_set1_epi64(x); }
static inline vec load(const int64_t *p) { return _mm512_loadu_si512(p); }
/* Zeros behind the end. */
static inline __mmask8 lanes(int64_t left) { return (__mmask8)(left >= LANES ? 255 : (1 << left) - 1); }
static inline vec load_part(const int64_t *p, int64_t left) { return _mm512_maskz_loadu_epi64(lanes(left), p); }
static inline vec load32_part(const int32_t *p, int64_t left)
{
    return _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(lanes(left), p));
}
static inline void store32_part(int32_t *p, vec x, int64_t left)
{
    _mm256_mask_storeu_epi32(p, lanes(left), _mm512_cvtepi64_epi32(x));
}
static inline vec limit(vec x, vec most)
{
    return _mm512_max_epi64(_mm512_min_epi64(x, most), _mm512_sub_epi64(_mm512_setzero_si512(), most));
}
/* floor(x 2^-s + 1/2), 1 <= s <= 63. */
static inline vec round_by(vec x, vec s)
{
    const vec one = set1(1), below = _mm512_srav_epi64(x, _mm512_sub_epi64(s, one));
    return _mm512_add_epi64(_mm512_srai_epi64(below, 1), _mm512_and_si512(below, one));
}
/* round_by of |x| <= 2^62, for an s <= 62 that the compiler knows. */
INLINE vec round_small(vec x, unsigned s)
{
    return _mm512_srai_epi64(_mm512_add_epi64(x, set1((int64_t)1 << (s - 1))), s);
}
/* All lanes fit into 32 bits. */
static inline bool narrow(vec x)
{
    return _mm512_cmpeq_epi64_mask(x, _mm512_srai_epi64(_mm512_slli_epi64(x, 32), 32)) == 255;
}

static inline int order(int64_t m) { return geodec_wide_bits(m + (m >> 7)); }

/* ---- rounding and norms ------------------------------------------------------------------------------------------ */

static uint64_t reach(const int64_t *x, int64_t n)
{
    vec most = _mm512_setzero_si512();
    for (int64_t i = 0; i < n; i += LANES) {
        const vec v = load_part(x + i, n - i);
        most = _mm512_max_epi64(most, _mm512_xor_si512(v, _mm512_srai_epi64(v, 63)));
    }
    return (uint64_t)_mm512_reduce_max_epi64(most);
}

enum { BLOCK_VECS = GEODEC_CODED_BLOCK / LANES };

/* A block below 2^61, and its largest magnitude. */
static inline int64_t load_block(const int64_t *y, int64_t left, vec v[BLOCK_VECS])
{
    const vec most = set1((int64_t)1 << 61);
    vec top = _mm512_setzero_si512();
    UNROLL
    for (int k = 0; k < BLOCK_VECS; k++) {
        const int64_t here = left - k * LANES;
        v[k] = limit(here >= LANES ? load(y + k * LANES)
                     : here > 0    ? load_part(y + k * LANES, here)
                                   : _mm512_setzero_si512(),
                     most);
        top = _mm512_max_epi64(top, _mm512_abs_epi64(v[k]));
    }
    return _mm512_reduce_max_epi64(top);
}

static void round_row(const int64_t *y, int64_t n, int unit, int bits, geodec_rounded *out)
{
    const int64_t blocks = geodec_coded_blocks(n);
    vec v[BLOCK_VECS];
    int64_t most = 0;
    __m256i any = _mm256_setzero_si256();
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t m = load_block(y + b * GEODEC_CODED_BLOCK, n - b * GEODEC_CODED_BLOCK, v);
        most = m > most ? m : most;
        out->block[b].up = order(m); /* for the second pass */
    }
    const int top = order(most);
    out->exponent = unit - (top - bits);
    for (int64_t b = 0; b < blocks; b++) {
        (void)load_block(y + b * GEODEC_CODED_BLOCK, n - b * GEODEC_CODED_BLOCK, v);
        geodec_rounded_block *to = &out->block[b];
        int shift = top - to->up;
        if (shift > GEODEC_ROUNDED_SHIFT) shift = GEODEC_ROUNDED_SHIFT;
        to->up = GEODEC_ROUNDED_SHIFT - shift;
        const int s = top - bits - shift;
        __m128i part[BLOCK_VECS];
        UNROLL
        for (int k = 0; k < BLOCK_VECS; k++) {
            const vec r = s > 0 ? round_by(v[k], set1(s)) : _mm512_sllv_epi64(v[k], set1(-s));
            part[k] = _mm512_cvtepi64_epi16(r);
        }
        const vec all = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(part[1], part[0])),
                                           _mm256_set_m128i(part[3], part[2]), 1);
        const vec high = _mm512_srai_epi16(_mm512_add_epi16(all, _mm512_set1_epi16(128)), 8);
        const __m256i high8 = _mm512_cvtepi16_epi8(high);
        _mm512_storeu_si512(to->v, all);
        _mm256_storeu_si256((__m256i *)(void *)to->digit[0], _mm512_cvtepi16_epi8(all));
        _mm256_storeu_si256((__m256i *)(void *)to->digit[1], high8);
        const int32_t sum = _mm512_reduce_add_epi32(_mm512_madd_epi16(all, _mm512_set1_epi16(1)));
        to->start[0] = sum * -8;
        to->start[1] = sum * -128;
        any = _mm256_or_si256(any, high8);
    }
    out->n_digits = _mm256_testz_si256(any, any) ? 1 : 2;
}

static uint64_t squares(const int64_t *x, int64_t n, int shift)
{
    vec sum = _mm512_setzero_si512();
    for (int64_t i = 0; i < n; i += LANES) {
        vec v = load_part(x + i, n - i);
        if (shift > 0) v = round_by(v, set1(shift));
        sum = _mm512_add_epi64(sum, _mm512_mul_epi32(v, v));
    }
    return (uint64_t)_mm512_reduce_add_epi64(sum);
}

/* x inv w 2^-k = (a 2^31 + b) 2^-k, of the upper and lower 31 bits of x inv. */
static void scale(geodec_fixed_rms r, const int64_t *x, int shift, const int32_t *w, int64_t n, int64_t *y)
{
    if (r.k < 33 || r.k > 31 + 62) {
        geodec__rows_scalar.scale(r, x, shift, w, n, y);
        return;
    }
    const vec inv = set1(r.inv), low = set1(0x7fffffff), half = set1((int64_t)1 << (r.k - 32)), by = set1(r.k - 31);
    for (int64_t i = 0; i < n; i += LANES) {
        vec v = load_part(x + i, n - i);
        const vec weight = load32_part(w + i, n - i);
        if (shift > 0) v = round_by(v, set1(shift));
        const vec p = _mm512_mul_epi32(v, inv);
        const vec a = _mm512_mul_epi32(_mm512_srai_epi64(p, 31), weight),
                  b = _mm512_mul_epi32(_mm512_and_si512(p, low), weight);
        const vec sum = _mm512_add_epi64(_mm512_add_epi64(a, half), _mm512_srai_epi64(b, 31));
        _mm512_mask_storeu_epi64(y + i, lanes(n - i), _mm512_srav_epi64(sum, by));
    }
}

static void add(int64_t *x, const int64_t *y, int64_t n)
{
    const vec most = set1((int64_t)1 << 61);
    for (int64_t i = 0; i < n; i += LANES) {
        const vec sum = _mm512_add_epi64(load_part(x + i, n - i), limit(load_part(y + i, n - i), most));
        _mm512_mask_storeu_epi64(x + i, lanes(n - i), limit(sum, most));
    }
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* geodec_fixed_exp of lanes below 2^32. */
static inline vec exp_of(vec d)
{
    const vec half = set1(1 << 29), byte = set1(255), one = set1(1);
    const vec t = _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epu32(d, set1(GEODEC__FIXED_LOG2E)), half), 30);
    const vec n = _mm512_srli_epi64(t, 16);
    const __m256i c =
        _mm512_i64gather_epi32(_mm512_and_si512(_mm512_srli_epi64(t, 8), byte), geodec__fixed_exp_coarse, 4);
    const __m256i f = _mm512_i64gather_epi32(_mm512_and_si512(t, byte), geodec__fixed_exp_fine, 4);
    const vec product = _mm512_mul_epu32(_mm512_cvtepu32_epi64(c), _mm512_cvtepu32_epi64(f));
    const vec e = _mm512_srli_epi64(_mm512_add_epi64(product, half), 30);
    const vec up = _mm512_sllv_epi64(one, _mm512_sub_epi64(n, one)); /* 0 for n = 0 */
    return _mm512_maskz_srlv_epi64(_mm512_cmplt_epi64_mask(n, set1(31)), _mm512_add_epi64(e, up), n);
}

/* 16 lines near 2^60 / d, within 2^-11 of it: line[0][i] - d line[1][i] / 2^31. */
static const uint32_t line[2][16] = {
    {2083843760, 1964616611, 1858301340, 1762907244, 1676833013, 1598775927, 1527665332, 1462613150, 1402876547,
     1347829393, 1296940203, 1249754905, 1205883236, 1164987909, 1126775921, 1090991512},
    {2021161080, 1796587627, 1607473140, 1446725826, 1308942414, 1189947649, 1086473940, 995934445, 916259690,
     845778175, 783127940, 727190230, 677039180, 631903234, 591135284, 554189329}};

/* floor((2^60 + floor(d / 2)) / d), 2^30 <= d <= 2^31. From a line, two steps of Newton's give the quotient or one
 * less, which was tried for every d; the rest decides. */
static inline vec invert(vec d)
{
    const vec whole = set1((int64_t)1 << 60), part = _mm512_srli_epi64(_mm512_min_epu64(d, set1(INT32_MAX)), 26);
    const vec from = _mm512_maskz_permutexvar_epi32(0x5555, part, _mm512_loadu_si512(line[0]));
    const vec slope = _mm512_permutexvar_epi32(part, _mm512_loadu_si512(line[1]));
    vec r = _mm512_sub_epi64(from, _mm512_srli_epi64(_mm512_mul_epu32(d, slope), 31));
    UNROLL
    for (int k = 0; k < 2; k++) {
        const vec error = _mm512_srai_epi64(_mm512_sub_epi64(whole, _mm512_mul_epu32(d, r)), 29);
        r = _mm512_add_epi64(r, _mm512_srai_epi64(_mm512_mul_epi32(r, error), 31));
    }
    const vec rest = _mm512_sub_epi64(_mm512_add_epi64(whole, _mm512_srli_epi64(d, 1)), _mm512_mul_epu32(d, r));
    return _mm512_mask_add_epi64(r, _mm512_cmpge_epi64_mask(rest, d), r, set1(1));
}

/* geodec_fixed_sigmoid of Q16. */
static inline vec sigmoid(vec x)
{
    const vec one = set1(GEODEC_FIXED_ONE), size = _mm512_min_epu64(_mm512_abs_epi64(x), set1(UINT32_MAX));
    const vec s = invert(_mm512_add_epi64(one, exp_of(size)));
    return _mm512_mask_sub_epi64(s, _mm512_movepi64_mask(x), one, s);
}

/* geodec_fixed_gelu's argument of the sigmoid, |x| <= 2^29. */
static inline vec gelu_of(vec x)
{
    const vec square = _mm512_srli_epi64(_mm512_mul_epi32(x, x), 24);
    const vec cube = _mm512_mullo_epi64(square, set1(GEODEC__FIXED_GELU_CUBE));
    const vec factor = _mm512_add_epi64(set1(GEODEC__FIXED_GELU_LINEAR), round_by(cube, set1(24)));
    return round_by(_mm512_mullo_epi64(x, factor), set1(32));
}

static void gate(int64_t *y, const int64_t *up, int64_t n, bool gelu)
{
    const vec most = set1(gelu ? GEODEC__FIXED_GELU_MOST : INT32_MAX);
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t count = n - i < LANES ? n - i : LANES;
        const vec x = load_part(y + i, n - i), u = load_part(up + i, n - i);
        if (_mm512_cmpgt_epi64_mask(_mm512_abs_epi64(x), most) || !narrow(u)) {
            geodec__rows_scalar.gate(y + i, up + i, count, gelu);
            continue;
        }
        const vec s = sigmoid(gelu ? gelu_of(x) : round_small(x, 8));
        const vec a = round_small(_mm512_mul_epi32(x, s), 30);
        _mm512_mask_storeu_epi64(y + i, lanes(n - i), round_small(_mm512_mul_epi32(a, u), 24));
    }
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* The cosine is in the lower half of a turn's 64 bits. */
static inline void rotate_pairs(vec turn, vec *a, vec *b)
{
    const vec half = set1(1 << 29), sine = _mm512_srli_epi64(turn, 32);
    const vec x = _mm512_sub_epi64(_mm512_mul_epi32(*a, turn), _mm512_mul_epi32(*b, sine));
    const vec y = _mm512_add_epi64(_mm512_mul_epi32(*a, sine), _mm512_mul_epi32(*b, turn));
    *a = _mm512_srai_epi64(_mm512_add_epi64(x, half), 30);
    *b = _mm512_srai_epi64(_mm512_add_epi64(y, half), 30);
}

static void rotate(const geodec_fixed_turn *turn, int64_t n, bool halves, int64_t *y)
{
    const vec even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const vec low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    int64_t i = 0;
    for (; halves && i + LANES <= n; i += LANES) {
        vec a = load(y + i), b = load(y + n + i);
        rotate_pairs(_mm512_loadu_si512(turn + i), &a, &b);
        _mm512_storeu_si512(y + i, a);
        _mm512_storeu_si512(y + n + i, b);
    }
    for (; !halves && i + LANES <= n; i += LANES) {
        const vec first = load(y + 2 * i), last = load(y + 2 * i + LANES);
        vec a = _mm512_permutex2var_epi64(first, even, last), b = _mm512_permutex2var_epi64(first, odd, last);
        rotate_pairs(_mm512_loadu_si512(turn + i), &a, &b);
        _mm512_storeu_si512(y + 2 * i, _mm512_permutex2var_epi64(a, low, b));
        _mm512_storeu_si512(y + 2 * i + LANES, _mm512_permutex2var_epi64(a, high, b));
    }
    for (; i < n; i++) geodec_fixed_rotate(turn[i], y + (halves ? i : 2 * i), y + (halves ? n + i : 2 * i + 1));
}

static void store(const int64_t *y, int64_t n, int shift, int16_t *v)
{
    if (shift < -32 || shift > 63) {
        geodec__rows_scalar.store(y, n, shift, v);
        return;
    }
    const vec most = set1(INT16_MAX), small = set1((int64_t)1 << 30);
    for (int64_t i = 0; i < n; i += LANES) {
        vec x = load_part(y + i, n - i);
        x = shift > 0 ? round_by(x, set1(shift)) : _mm512_sllv_epi64(limit(x, small), set1(-shift));
        _mm_mask_storeu_epi16(v + i, lanes(n - i), _mm512_cvtepi64_epi16(limit(x, most)));
    }
}

static void scores(const int32_t *raw, const int32_t *exponent, int64_t n, int32_t f, int base, int32_t *z)
{
    const vec factor = set1(f), most = set1(INT32_MAX / 2), one = set1(1);
    for (int64_t i = 0; i < n; i += LANES) {
        const vec s = _mm512_add_epi64(load32_part(exponent + i, n - i), set1(base));
        if (_mm512_mask_cmpgt_epu64_mask(lanes(n - i), _mm512_sub_epi64(s, one), set1(62))) {
            geodec__rows_scalar.scores(raw + i, exponent + i, n - i < LANES ? n - i : LANES, f, base, z + i);
            continue;
        }
        const vec x = round_by(_mm512_mul_epi32(load32_part(raw + i, n - i), factor), s);
        store32_part(z + i, limit(x, most), n - i);
    }
}

static uint64_t weights(const int32_t *z, const int32_t *exponent, int64_t n, int32_t top, int32_t least, int32_t *w)
{
    const vec one = set1(1);
    vec sum = _mm512_setzero_si512();
    for (int64_t i = 0; i < n; i += LANES) {
        const vec d = _mm512_sub_epi64(set1(top), load32_part(z + i, n - i));
        const vec e = _mm512_maskz_mov_epi64(lanes(n - i), exp_of(_mm512_and_si512(d, set1(UINT32_MAX))));
        const vec s = _mm512_sub_epi64(load32_part(exponent + i, n - i), set1(least));
        const vec half = _mm512_sllv_epi64(one, _mm512_sub_epi64(s, one)); /* 0 for s = 0 */
        sum = _mm512_add_epi64(sum, e);
        store32_part(w + i, _mm512_maskz_srlv_epi64(_mm512_cmple_epi64_mask(s, set1(31)), _mm512_add_epi64(e, half), s),
                     n - i);
    }
    return (uint64_t)_mm512_reduce_add_epi64(sum);
}

static void logits(const int64_t *x, int64_t n, int32_t *z)
{
    for (int64_t i = 0; i < n; i += LANES)
        store32_part(z + i, limit(round_by(load_part(x + i, n - i), set1(8)), set1(INT32_MAX / 2)), n - i);
}

static inline vec load16_part(const int16_t *p, int64_t left)
{
    return _mm512_maskz_loadu_epi16(left >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << left) - 1, p);
}

/* Four keys together share the additions across a register. */
static void dots(const int16_t *q, const int16_t *k, int64_t n, int64_t dim, int32_t *sum)
{
    for (int64_t i = 0; i < n; i += 4, k += 4 * dim) {
        const int64_t count = n - i < 4 ? n - i : 4;
        vec s[4];
        UNROLL
        for (int j = 0; j < 4; j++) { /* one key after the other: memory is read in order */
            const int16_t *key = k + (j < count ? j : 0) * dim;
            int64_t d = 0;
            s[j] = _mm512_setzero_si512();
            for (; d + 32 <= dim; d += 32)
                s[j] =
                    _mm512_add_epi32(s[j], _mm512_madd_epi16(_mm512_loadu_si512(q + d), _mm512_loadu_si512(key + d)));
            if (d < dim)
                s[j] = _mm512_add_epi32(s[j],
                                        _mm512_madd_epi16(load16_part(q + d, dim - d), load16_part(key + d, dim - d)));
        }
        const vec a = _mm512_add_epi32(_mm512_unpacklo_epi32(s[0], s[1]), _mm512_unpackhi_epi32(s[0], s[1]));
        const vec b = _mm512_add_epi32(_mm512_unpacklo_epi32(s[2], s[3]), _mm512_unpackhi_epi32(s[2], s[3]));
        const vec c = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
        const __m256i h = _mm256_add_epi32(_mm512_castsi512_si256(c), _mm512_extracti64x4_epi64(c, 1));
        const __m128i t = _mm_add_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
        _mm_mask_storeu_epi32(sum + i, (__mmask8)((1 << count) - 1), t);
    }
}

/* Weights of at most 2^30 are three digits of 10 bits, so that products of pairs of keys are added in 32 bits: 64 keys
 * give at most 64 2^10 (2^15 - 1) < 2^31. */
enum { DIGIT = 10, DIGITS = 3, RUN = 64 /* keys */, WORDS = 32 /* of a register */ };

/* Digits of n weights, zeros behind them. */
static inline void digits_of(const int32_t *w, int64_t n, int16_t digit[DIGITS][RUN])
{
    const vec low = _mm512_set1_epi32((1 << DIGIT) - 1);
    for (int64_t i = 0; i < n; i += 16) {
        const int64_t left = n - i;
        vec v = _mm512_maskz_loadu_epi32((__mmask16)(left >= 16 ? 0xffff : (1 << left) - 1), w + i);
        UNROLL
        for (int k = 0; k < DIGITS; k++, v = _mm512_srli_epi32(v, DIGIT)) {
            const vec d = k + 1 < DIGITS ? _mm512_and_si512(v, low) : v;
            _mm256_storeu_si256((__m256i *)(void *)(digit[k] + i), _mm512_cvtepi32_epi16(d));
        }
    }
}

/* Adds 16 sums of each digit. */
INLINE void add_sums(const vec s[DIGITS], int64_t left, int64_t *acc)
{
    UNROLL
    for (int h = 0; h < 2; h++) {
        if (left <= h * LANES) return;
        vec sum = load_part(acc + h * LANES, left - h * LANES);
        UNROLL
        for (int k = 0; k < DIGITS; k++) {
            const vec wide =
                _mm512_cvtepi32_epi64(h ? _mm512_extracti64x4_epi64(s[k], 1) : _mm512_castsi512_si256(s[k]));
            sum = _mm512_add_epi64(sum, _mm512_slli_epi64(wide, (unsigned)(DIGIT * k)));
        }
        _mm512_mask_storeu_epi64(acc + h * LANES, lanes(left - h * LANES), sum);
    }
}

/* A run of n keys and 64 numbers of each. */
INLINE void mix_run(const int16_t digit[DIGITS][RUN], const int16_t *v, int64_t n, int64_t dim, int64_t left,
                    bool whole, int64_t *acc)
{
    enum { REGS = 4 };
    vec sum[DIGITS][REGS];
    UNROLL
    for (int r = 0; r < DIGITS * REGS; r++) sum[r / REGS][r % REGS] = _mm512_setzero_si512();
    for (int64_t i = 0; i < n; i += 2, v += 2 * dim) {
        const int16_t *next = i + 1 < n ? v + dim : v; /* with the weight 0 */
        vec pair[REGS];
        UNROLL
        for (int h = 0; h < 2; h++) {
            const int64_t here = whole ? WORDS : left - h * WORDS > 0 ? left - h * WORDS : 0;
            const vec a = load16_part(v + h * WORDS, here), b = load16_part(next + h * WORDS, here);
            pair[2 * h] = _mm512_unpacklo_epi16(a, b);
            pair[2 * h + 1] = _mm512_unpackhi_epi16(a, b);
        }
        UNROLL
        for (int k = 0; k < DIGITS; k++) {
            int32_t two;
            memcpy(&two, digit[k] + i, sizeof two);
            const vec d = _mm512_set1_epi32(two);
            UNROLL
            for (int r = 0; r < REGS; r++) sum[k][r] = _mm512_add_epi32(sum[k][r], _mm512_madd_epi16(pair[r], d));
        }
    }
    /* the lower and upper halves of each 8 numbers are in two registers */
    const vec first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const vec last = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    UNROLL
    for (int q = 0; q < REGS; q++) {
        vec s[DIGITS];
        UNROLL
        for (int k = 0; k < DIGITS; k++)
            s[k] = _mm512_permutex2var_epi32(sum[k][q & 2], q & 1 ? last : first, sum[k][(q & 2) + 1]);
        if (whole || left > 16 * q) add_sums(s, whole ? 16 : left - 16 * q, acc + 16 * q);
    }
}

static void mix(const int32_t *w, const int16_t *v, int64_t n, int64_t dim, int64_t *acc)
{
    int16_t digit[DIGITS][RUN] = {{0}};
    for (int64_t i = 0; i < n; i += RUN) {
        const int64_t count = n - i < RUN ? n - i : RUN;
        digits_of(w + i, count, digit);
        for (int64_t d = 0; d < dim; d += 2 * WORDS) {
            const int64_t left = dim - d;
            if (left >= 2 * WORDS)
                mix_run(digit, v + i * dim + d, count, dim, left, true, acc + d);
            else
                mix_run(digit, v + i * dim + d, count, dim, left, false, acc + d);
        }
    }
}

/* acc inverse 2^-shift = (a 2^28 + b) 2^-shift, of the upper bits of acc and the 28 lower ones. */
static void share(const int64_t *acc, int64_t n, int64_t inverse, int shift, int64_t *y)
{
    enum { LOW = 28 };
    if (inverse > (int64_t)1 << 34 || shift <= LOW + 1 || shift > LOW + 60) {
        geodec__rows_scalar.share(acc, n, inverse, shift, y);
        return;
    }
    const vec factor = set1(inverse), low = set1((1 << LOW) - 1), half = set1((int64_t)1 << (shift - LOW - 1));
    const vec most = set1((int64_t)1 << 54), by = set1(shift - LOW);
    for (int64_t i = 0; i < n; i += LANES) {
        const vec x = load_part(acc + i, n - i);
        if (_mm512_cmpgt_epi64_mask(_mm512_abs_epi64(x), most)) {
            geodec__rows_scalar.share(acc + i, n - i < LANES ? n - i : LANES, inverse, shift, y + i);
            continue;
        }
        const vec a = _mm512_mullo_epi64(_mm512_srai_epi64(x, LOW), factor);
        const vec b = _mm512_mullo_epi64(_mm512_and_si512(x, low), factor);
        const vec sum = _mm512_add_epi64(_mm512_add_epi64(a, half), _mm512_srli_epi64(b, LOW));
        _mm512_mask_storeu_epi64(y + i, lanes(n - i), _mm512_srav_epi64(sum, by));
    }
}

const geodec__rows_ops geodec__rows_avx512 = {
    .round = round_row,
    .reach = reach,
    .squares = squares,
    .scale = scale,
    .add = add,
    .gate = gate,
    .rotate = rotate,
    .store = store,
    .scores = scores,
    .weights = weights,
    .logits = logits,
    .dots = dots,
    .mix = mix,
    .share = share,
};
#else
typedef int geodec__rows_no_avx512; /* built for another architecture */
#endif
