/* Moduli of at most 50 bits in 8 lanes of 64 bits, by multiply-adds of 52 bits; of the table those of 30. Values in
 * registers are below 2^52: 4 levels add at most 2q each, or double a value below 2q. Memory has words of 32 bits, so
 * each pass ends with a reduction to [0, 2q). */
#include "lab/integer/ntt/ntt_internal.h"

#include <immintrin.h>

#define WORD uint32_t
#define TWORD uint64_t
#define V __m512i
#define LOG_LANES 3
#define RADIX 4
#define UP_TO_LOG(X) X(1) X(2) X(3) X(4)
#define PARTS 2
#define SETTLE 0

#include "base/unroll_internal.h"

/* offset: a multiple of q above every sum of 4 levels; mu, barrett: floor(2^52 / q), floor(2^60 / q); negative: -q mod
 * 2^52. */
typedef struct K {
    V q, two, offset, mu, barrett, negative, mask, twice;
} K;
typedef struct TW {
    V w, scaled;
} TW;

static void twiddle(uint64_t q, uint64_t w, uint64_t parts[GEODEC__NTT_PARTS])
{
    parts[0] = w;
    parts[1] = geodec_mulmod_quotient(w, 52, q, NULL);
}

INLINE K constants(const geodec__ntt_tables *t)
{
    const long long q = (long long)t->modulus->q, one52 = 1ll << 52;
    return (K){_mm512_set1_epi64(q),
               _mm512_set1_epi64(2 * q),
               _mm512_set1_epi64(q << 10),
               _mm512_set1_epi64(one52 / q),
               _mm512_set1_epi64((1ll << 60) / q),
               _mm512_set1_epi64(one52 - q),
               _mm512_set1_epi64(one52 - 1),
               _mm512_set1_epi64(2)};
}
INLINE TW one(const uint64_t *p)
{
    return (TW){_mm512_set1_epi64((long long)p[0]), _mm512_set1_epi64((long long)p[1])};
}
INLINE TW lanes(const uint64_t *p) { return (TW){_mm512_loadu_si512(p), _mm512_loadu_si512(p + 8)}; }
INLINE V take(const uint32_t *p) { return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)p)); }
INLINE V once(V x, V q) { return _mm512_min_epu64(x, _mm512_sub_epi64(x, q)); }
INLINE V high(V a, V b) { return _mm512_madd52hi_epu64(_mm512_setzero_si512(), a, b); }
/* In what follows values are the low 52 bits of a lane: products ignore the others. x + wy - floor(wy / q) q: */
INLINE V plus(const K *k, TW t, V x, V y)
{
    return _mm512_madd52lo_epu64(_mm512_madd52lo_epu64(x, t.w, y), high(t.scaled, y), k->negative);
}
INLINE V times(const K *k, TW t, V y) { return plus(k, t, _mm512_setzero_si512(), y); }
/* Reduces to [0, 2q). */
INLINE V lower(const K *k, V x) { return _mm512_madd52lo_epu64(x, high(x, k->mu), k->negative); }
INLINE void put(const K *k, uint32_t *p, V x) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi64_epi32(lower(k, x))); }
INLINE void forward_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, sum = plus(k, t, a, *y);
    *x = sum;
    *y = _mm512_sub_epi64(_mm512_madd52lo_epu64(k->two, a, k->twice), sum); /* 2a + 2q - sum */
}
INLINE void inverse_pair(const K *k, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = _mm512_add_epi64(a, b);
    *y = times(k, t, _mm512_add_epi64(_mm512_sub_epi64(a, b), k->offset));
}
/* [0, 2q) to [0, q). */
INLINE V reduced(const K *k, V x) { return once(_mm512_and_si512(x, k->mask), k->q); }
INLINE void inverse_last(const K *k, TW n, TW t, V *x, V *y)
{
    const V a = *x, b = *y;
    *x = reduced(k, times(k, n, _mm512_add_epi64(a, b)));
    *y = reduced(k, times(k, t, _mm512_add_epi64(_mm512_sub_epi64(a, b), k->offset)));
}
INLINE V settle(const K *k, V x)
{
    (void)k;
    return x;
}
INLINE V inverse_settle(const K *k, V x) { return settle(k, x); }
INLINE V canonical(const K *k, V x) { return reduced(k, lower(k, x)); }

/* Barrett: t = floor(p mu' / 2^(28 + 32)) of the product p < 2^60, mu' = floor(2^60 / q) < 2^31, is low by at most 2;
 * (p >> 28) << 20 < 2^52 makes it the upper half of one product. */
INLINE V product(const K *k, V x, V y)
{
    const V p = _mm512_mul_epu32(x, y), t = high(_mm512_slli_epi64(_mm512_srli_epi64(p, 28), 20), k->barrett);
    return once(once(_mm512_sub_epi64(p, _mm512_mul_epu32(t, k->q)), k->two), k->q);
}

#include "lab/integer/ntt/ntt_transpose_body.h"

#include "lab/integer/ntt/ntt_body.h"

/* ---- batches ---------------------------------------------------------------------------------------------------- */

/* 16 words of memory are two vectors, of the even and of the odd ones, which are done one after the other. The last 8
 * levels are blocks of 256 elements, whose values stay below 2^52 in between. */
enum { TAIL = 8, SIDE = 16, WIDTH = GEODEC_NTT_BATCH };

INLINE V half_of(V x, bool odd)
{
    return odd ? _mm512_srli_epi64(x, 32) : _mm512_and_si512(x, _mm512_set1_epi64(0xffffffff));
}
/* Even words from one vector of low words, odd ones from another; below 2q, or reduced to [0, q). */
INLINE void put_both(const K *k, uint32_t *p, V even, V odd, bool reduce)
{
    const V both = _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA);
    const V q = _mm512_or_si512(k->q, _mm512_slli_epi64(k->q, 32));
    _mm512_storeu_si512(p, reduce ? _mm512_min_epu32(both, _mm512_sub_epi32(both, q)) : both);
}
INLINE void forward_some(const K *k, const geodec__ntt_tables *t, int64_t index, V *x, int log)
{
    forward_level(k, t->roots, index, x, 0, log);
    if (log > 1) forward_level(k, t->roots, index, x, 1, log);
    if (log > 2) forward_level(k, t->roots, index, x, 2, log);
    if (log > 3) forward_level(k, t->roots, index, x, 3, log);
}
/* The upper half of x, which has products, ends in [0, 2q). last: all of it does, and has the factor N^-1. */
INLINE void inverse_some(const K *k, const geodec__ntt_tables *t, int64_t index, V *x, int log, bool last)
{
    if (log > 3) inverse_level(k, t->inverses, index, x, 3, log);
    if (log > 2) inverse_level(k, t->inverses, index, x, 2, log);
    if (log > 1) inverse_level(k, t->inverses, index, x, 1, log);
    if (!last) inverse_level(k, t->inverses, index, x, 0, log);
    const int half = 1 << (log - 1);
    UNROLL
    for (int r = 0; r < half; r++) {
        if (last) {
            const V a = x[r], b = x[r + half];
            x[r] = times(k, one(t->inverses), _mm512_add_epi64(a, b));
            x[r + half] =
                times(k, one((const TWORD *)t->inverses + PARTS), _mm512_add_epi64(_mm512_sub_epi64(a, b), k->offset));
        }
    }
}

INLINE bool small(bool inverted, bool last, int r, int count) { return inverted && (last || r >= count / 2); }

/* A pass of memory: levels s .. s + log - 1. Each line is read and written once. */
INLINE void head(const geodec__ntt_tables *t, const uint32_t *in, uint32_t *out, int s, int log, bool inverted)
{
    const K k = constants(t);
    const bool last = inverted && s == 0;
    const int64_t size = t->n >> s, step = size >> log;
    const int count = 1 << log;
    for (int64_t i = 0; i < (int64_t)1 << s; i++)
        for (int64_t j = 0; j < step; j++) {
            const int64_t at = i * size + j, index = ((int64_t)1 << s) + i;
            V x[SIDE], y[SIDE], keep[SIDE];
            UNROLL
            for (int r = 0; r < count; r++) {
                keep[r] = _mm512_loadu_si512(in + (at + r * step) * WIDTH);
                x[r] = half_of(keep[r], false);
            }
            __asm__ volatile("" : "+m"(keep)); /* in memory: there are not enough registers */
            if (inverted)
                inverse_some(&k, t, index, x, log, last);
            else
                forward_some(&k, t, index, x, log);
            UNROLL
            for (int r = 0; r < count; r++) {
                y[r] = small(inverted, last, r, count) ? x[r] : lower(&k, x[r]);
                x[r] = half_of(keep[r], true);
            }
            __asm__ volatile("" : "+m"(y));
            if (inverted)
                inverse_some(&k, t, index, x, log, last);
            else
                forward_some(&k, t, index, x, log);
            UNROLL
            for (int r = 0; r < count; r++)
                put_both(&k, out + (at + r * step) * WIDTH, y[r],
                         small(inverted, last, r, count) ? x[r] : lower(&k, x[r]), last);
        }
}

static void heads(const geodec__ntt_tables *t, const uint32_t *in, uint32_t *out, int s, int log, bool inverted)
{
    if (log == 1 && inverted) head(t, in, out, s, 1, true);
    if (log == 2 && inverted) head(t, in, out, s, 2, true);
    if (log == 3 && inverted) head(t, in, out, s, 3, true);
    if (log == 4 && inverted) head(t, in, out, s, 4, true);
    if (log == 1 && !inverted) head(t, in, out, s, 1, false);
    if (log == 2 && !inverted) head(t, in, out, s, 2, false);
    if (log == 3 && !inverted) head(t, in, out, s, 3, false);
    if (log == 4 && !inverted) head(t, in, out, s, 4, false);
}

/* The last 8 levels of a block, for one half: the even one stays in `between`, the odd one is written to out with it.
 */
INLINE void forward_tail(const K *k, const geodec__ntt_tables *t, const uint32_t *in, int64_t index, bool odd,
                         V *between, uint32_t *out, const V *even)
{
    for (int j = 0; j < SIDE; j++) {
        V x[SIDE];
        UNROLL
        for (int r = 0; r < SIDE; r++) x[r] = half_of(_mm512_loadu_si512(in + (j + r * SIDE) * WIDTH), odd);
        forward_some(k, t, index, x, 4);
        UNROLL
        for (int r = 0; r < SIDE; r++) between[j + r * SIDE] = x[r];
    }
    for (int j = 0; j < SIDE; j++) {
        V x[SIDE];
        UNROLL
        for (int r = 0; r < SIDE; r++) x[r] = between[j * SIDE + r];
        forward_some(k, t, (index << 4) + j, x, 4);
        UNROLL
        for (int r = 0; r < SIDE; r++) {
            const int at = j * SIDE + r;
            if (odd)
                put_both(k, out + at * WIDTH, even[at], lower(k, x[r]), true);
            else
                between[at] = lower(k, x[r]);
        }
    }
}

INLINE void inverse_tail(const K *k, const geodec__ntt_tables *t, const uint32_t *in, int64_t index, bool odd,
                         bool last, V *between, uint32_t *out, const V *even)
{
    for (int j = 0; j < SIDE; j++) {
        V x[SIDE];
        UNROLL
        for (int r = 0; r < SIDE; r++) x[r] = half_of(_mm512_loadu_si512(in + (j * SIDE + r) * WIDTH), odd);
        inverse_some(k, t, (index << 4) + j, x, 4, false);
        UNROLL
        for (int r = 0; r < SIDE; r++) between[j * SIDE + r] = x[r];
    }
    for (int j = 0; j < SIDE; j++) {
        V x[SIDE];
        UNROLL
        for (int r = 0; r < SIDE; r++) x[r] = between[j + r * SIDE];
        inverse_some(k, t, index, x, 4, last);
        UNROLL
        for (int r = 0; r < SIDE; r++) {
            const int at = j + r * SIDE;
            const V y = last || r >= SIDE / 2 ? x[r] : lower(k, x[r]);
            if (odd)
                put_both(k, out + at * WIDTH, even[at], y, last);
            else
                between[at] = y;
        }
    }
}

/* The levels above the tail in passes of at most 4: the length of the pass that ends at level `end`. */
static int pass_of(int end) { return end > 4 ? end > 8 ? 4 : (end + 1) / 2 : end; }

static void forward_halves(const geodec__ntt_tables *t, const void *in, void *out)
{
    const K k = constants(t);
    const uint32_t *from = in;
    uint32_t *to = out;
    V even[SIDE * SIDE], odd[SIDE * SIDE];
    const int levels = t->levels - TAIL;
    if (levels < 0) {
        forward_batch(t, in, out);
        return;
    }
    for (int s = 0, log; s < levels; s += log, from = to) {
        log = pass_of(levels - s);
        heads(t, from, to, s, log, false);
    }
    for (int64_t i = 0; i < (int64_t)1 << levels; i++, from += SIDE * SIDE * WIDTH, to += SIDE * SIDE * WIDTH) {
        const int64_t index = ((int64_t)1 << levels) + i;
        forward_tail(&k, t, from, index, false, even, NULL, NULL);
        forward_tail(&k, t, from, index, true, odd, to, even);
    }
}

static void inverse_halves(const geodec__ntt_tables *t, const void *in, void *out)
{
    const K k = constants(t);
    const uint32_t *from = in;
    uint32_t *to = out;
    V even[SIDE * SIDE], odd[SIDE * SIDE];
    const int levels = t->levels - TAIL;
    if (levels < 0) {
        inverse_batch(t, in, out);
        return;
    }
    for (int64_t i = 0; i < (int64_t)1 << levels; i++, from += SIDE * SIDE * WIDTH, to += SIDE * SIDE * WIDTH) {
        const int64_t index = ((int64_t)1 << levels) + i;
        inverse_tail(&k, t, from, index, false, levels == 0, even, NULL, NULL);
        inverse_tail(&k, t, from, index, true, levels == 0, odd, to, even);
    }
    for (int s = levels, log; s > 0;) {
        log = pass_of(s);
        s -= log;
        heads(t, out, out, s, log, true);
    }
}

const geodec__ntt_kernel geodec__ntt_narrow_ifma = {GEODEC_NTT_IFMA, LANES,          PARTS,   sizeof(WORD),
                                                    sizeof(TWORD),   twiddle,        forward, inverse,
                                                    forward_halves,  inverse_halves, multiply};
