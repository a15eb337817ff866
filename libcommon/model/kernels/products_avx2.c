/* AVX2, FMA and F16C: 16 lanes in two registers. Products of bytes are added in pairs with saturation: 4 to 6 bit codes
 * cannot saturate unsigned; 8-bit codes are signed (128 * 127 * 2 fits). */
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "base/simd_internal.h"
#include "kernels/products_internal.h"

#include <string.h>

typedef struct ivec {
    __m256i lo, hi;
} ivec;
typedef ivec codes;
typedef uint16_t halves __attribute__((vector_size(32))); /* shifts by numbers that need not be constants */

static inline __m128i load8(const uint8_t *p) { return _mm_loadl_epi64((const __m128i *)(const void *)p); }
static inline __m128i load16(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }

static inline fvec f_half(const uint8_t *p)
{
    return (fvec){_mm256_cvtph_ps(load16(p)), _mm256_cvtph_ps(load16(p + 16))};
}
static inline fvec f_ints(__m256i lo, __m256i hi) { return (fvec){_mm256_cvtepi32_ps(lo), _mm256_cvtepi32_ps(hi)}; }
static inline fvec f_u8(const uint8_t *p)
{
    return f_ints(_mm256_cvtepu8_epi32(load8(p)), _mm256_cvtepu8_epi32(load8(p + 8)));
}
static inline fvec f_i8(const uint8_t *p)
{
    return f_ints(_mm256_cvtepi8_epi32(load8(p)), _mm256_cvtepi8_epi32(load8(p + 8)));
}
static inline fvec f_u4(const uint8_t *p, int shift)
{
    const __m256i mask = _mm256_set1_epi32(15);
    return f_ints(_mm256_and_si256(_mm256_srli_epi32(_mm256_cvtepu8_epi32(load8(p)), shift), mask),
                  _mm256_and_si256(_mm256_srli_epi32(_mm256_cvtepu8_epi32(load8(p + 8)), shift), mask));
}

/* Halved exponents: two of them are subnormal. */
static inline __m256 e8m0(const uint8_t *p)
{
    const __m256i e = _mm256_cvtepu8_epi32(load8(p)), one = _mm256_set1_epi32(1);
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23),
                  small = _mm256_slli_epi32(_mm256_add_epi32(e, one), 21);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(small, normal, _mm256_cmpgt_epi32(e, one)));
}
static inline fvec f_e8m0(const uint8_t *p) { return (fvec){e8m0(p), e8m0(p + 8)}; }
/* Seven bits of a binary16 are 2^-8 of the number. */
static inline __m256 e4m3(const uint8_t *p)
{
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(load8(p)), 7)), _mm256_set1_ps(128.0f));
}
static inline fvec f_e4m3(const uint8_t *p) { return (fvec){e4m3(p), e4m3(p + 8)}; }

static inline ivec i_set1(int32_t x) { return (ivec){_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
static inline fvec i_float(ivec a) { return f_ints(a.lo, a.hi); }

static inline codes c_load(const uint8_t *p)
{
    const __m256i *v = (const __m256i *)(const void *)p;
    return (codes){_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1)};
}
/* Shifts of 16 bits: bits that cross into the other byte are masked. */
static inline __attribute__((always_inline)) __m256i field(__m256i a, int from, int to, int mask)
{
    const halves v = from > to ? (halves)a >> (from - to) : (halves)a << (to - from);
    return _mm256_and_si256((__m256i)v, _mm256_set1_epi8((char)(mask << to)));
}
static inline __attribute__((always_inline)) codes c_field(codes a, int from, int to, int mask)
{
    return (codes){field(a.lo, from, to, mask), field(a.hi, from, to, mask)};
}
static inline codes c_or(codes a, codes b) { return (codes){_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
static inline codes c_bytes(codes a)
{
    const __m256i top = _mm256_set1_epi8((char)0x80);
    return (codes){_mm256_xor_si256(a.lo, top), _mm256_xor_si256(a.hi, top)};
}
/* Signed where sums of 16 bits would overflow (is_wide), with the offset otherwise. */
static inline __attribute__((always_inline)) codes c_levels(geodec__levels levels, int offset, codes a)
{
    const __m128i level = load16((const uint8_t *)geodec__code_books_level[levels]);
    const __m256i t =
        _mm256_broadcastsi128_si256(offset > 16 ? level : _mm_add_epi8(level, _mm_set1_epi8((char)offset)));
    return (codes){_mm256_shuffle_epi8(t, a.lo), _mm256_shuffle_epi8(t, a.hi)};
}
/* Sums of 16 bits: two products each, added until they could overflow. */
typedef ivec part;
static inline part p_start(int32_t x) { return i_set1(x); }
static inline __m256i dot(bool wide, __m256i sum, __m256i c, __m256i q)
{
    const __m256i pairs =
        wide ? _mm256_maddubs_epi16(_mm256_abs_epi8(c), _mm256_sign_epi8(q, c)) : _mm256_maddubs_epi16(c, q);
    sum = _mm256_add_epi16(sum, pairs);
    __asm__("" : "+x"(sum)); /* in this order: a compiler that computes all products first runs out of registers */
    return sum;
}
static inline __attribute__((always_inline)) part p_dot(bool wide, part sum, codes c, const int8_t *q)
{
    int32_t four;
    memcpy(&four, q, sizeof four);
    const __m256i v = _mm256_set1_epi32(four);
    return (part){dot(wide, sum.lo, c.lo, v), dot(wide, sum.hi, c.hi, v)};
}
static inline ivec p_sum(part a, int times)
{
    const __m256i t = _mm256_set1_epi16((int16_t)times);
    return (ivec){_mm256_madd_epi16(a.lo, t), _mm256_madd_epi16(a.hi, t)};
}
static inline ivec i_add(ivec a, ivec b) { return (ivec){_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }

/* Sums of parts, one after the other: otherwise all parts go to memory first. */
static inline __attribute__((always_inline)) ivec i_keep(ivec a)
{
    __asm__("" : "+x"(a.lo), "+x"(a.hi));
    return a;
}

#define OWN_LARGEST
static inline int32_t largest(const float *x)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff), *p = (const __m256i *)(const void *)x;
    __m256i top = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++) top = _mm256_max_epi32(top, _mm256_and_si256(_mm256_loadu_si256(p + i), magnitude));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}

#define OWN_DIGITS
static inline int32_t sum_of_8(__m256i a)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
/* Conversions round to nearest, ties to even. */
static inline __attribute__((always_inline)) void round_digits(const float *x, float inverse, const int planes,
                                                               int8_t (*q)[32], int32_t sum[2])
{
    const __m256 factor = _mm256_set1_ps(inverse), by_254 = _mm256_set1_ps(1.0f / 254.0f);
    __m256i v[4];
    for (int i = 0; i < 4; i++) v[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), factor));
    sum[0] = sum_of_8(_mm256_add_epi32(v[0], v[1]));
    sum[1] = sum_of_8(_mm256_add_epi32(v[2], v[3]));
    for (int p = 0; p < planes; p++) {
        __m256i digit[4];
        for (int i = 0; i < 4; i++) {
            const __m256i rest = p + 1 < planes ? _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(v[i]), by_254))
                                                : _mm256_setzero_si256();
            /* 254 = 256 - 2 */
            digit[i] = _mm256_add_epi32(_mm256_sub_epi32(v[i], _mm256_slli_epi32(rest, 8)), _mm256_slli_epi32(rest, 1));
            v[i] = rest;
        }
        const __m256i bytes =
            _mm256_packs_epi16(_mm256_packs_epi32(digit[0], digit[1]), _mm256_packs_epi32(digit[2], digit[3]));
        _mm256_storeu_si256((__m256i *)(void *)q[p],
                            _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    }
}

/* Each of the two 16-bit sums of a lane has its own start; wide codes need none. */
static inline void starts(const int8_t q[32], int offset, int group, int planes, int32_t *out)
{
    const __m256i pairs =
        _mm256_maddubs_epi16(_mm256_set1_epi8(1), _mm256_loadu_si256((const __m256i *)(const void *)q));
    __m128i a = _mm256_castsi256_si128(pairs), b = _mm256_extracti128_si256(pairs, 1);
    if (group == 32) a = _mm_add_epi16(a, b);
    a = _mm_add_epi16(a, _mm_shuffle_epi32(a, 0x4e));
    b = _mm_add_epi16(b, _mm_shuffle_epi32(b, 0x4e));
    const __m128i both =
        _mm_unpacklo_epi32(_mm_add_epi16(a, _mm_shuffle_epi32(a, 0xb1)), _mm_add_epi16(b, _mm_shuffle_epi32(b, 0xb1)));
    const __m128i start = _mm_mullo_epi16(both, _mm_set1_epi16((int16_t)-offset));
    out[0] = _mm_cvtsi128_si32(start);
    if (group != 32) out[planes] = _mm_extract_epi32(start, 1);
}

/* Two columns of a word go to each sum of 16 bits. With the offset in their start the results stay within 16 * 127 * 16
 * (Q5_0, eight words) and 32 * 127 * 8 (Q6_K, four), without one within 15 * 127 * 16 and 31 * 127 * 8; intermediate
 * sums may wrap and return. Signed levels are at most as large as the offset: 127 for one word, 43 for two, 31 for
 * four. */
#define RUN(bits, offset, wide)                                                                                        \
    (!(wide) ? ((bits) == 5 && !(offset) ? 4 : 8) : (offset) > 64 ? 1 : (offset) > 32 ? 2 : 4)
#define START(wide) (!(wide))
#define FAST_WIDTHS(X, ...)                                                                                            \
    X(1, __VA_ARGS__)                                                                                                  \
    X(0, __VA_ARGS__)
#define EXACT_WIDTHS(X, ...) FAST_WIDTHS(X, __VA_ARGS__)
#define TOGETHER(planes) ((planes) == 1 ? 4 : 2) /* 16 registers, two per part */
#define PRODUCTS geodec__products_avx2
#define PRODUCTS_ISA GEODEC_ISA_AVX2
#include "kernels/products_body.h"
#else
typedef int geodec__no_avx2; /* built for another architecture */
#endif
