/* AVX-512 with VNNI: 16 lanes in one register; codes are unsigned, with their offset in the start of the sum. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512VNNI__)
#include "base/simd_internal.h"
#include "kernels/products_internal.h"

#include <string.h>

typedef __m512i ivec;
typedef __m512i codes;
typedef uint16_t halves __attribute__((vector_size(64))); /* shifts by numbers that need not be constants */

static inline __m128i load16(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }

static inline fvec f_half(const uint8_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline fvec f_u8(const uint8_t *p) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load16(p))); }
static inline fvec f_i8(const uint8_t *p) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(p))); }
static inline fvec f_u4(const uint8_t *p, int shift)
{
    const __m512i v = _mm512_srli_epi32(_mm512_cvtepu8_epi32(load16(p)), (unsigned)shift);
    return _mm512_cvtepi32_ps(_mm512_and_si512(v, _mm512_set1_epi32(15)));
}

/* Halved exponents: two of them are subnormal. */
static inline fvec f_e8m0(const uint8_t *p)
{
    const __m512i e = _mm512_cvtepu8_epi32(load16(p)), one = _mm512_set1_epi32(1);
    const __m512i small = _mm512_slli_epi32(_mm512_add_epi32(e, one), 21);
    return _mm512_castsi512_ps(
        _mm512_mask_slli_epi32(small, _mm512_cmpgt_epi32_mask(e, one), _mm512_sub_epi32(e, one), 23));
}
/* Seven bits of a binary16 are 2^-8 of the number. */
static inline fvec f_e4m3(const uint8_t *p)
{
    return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(load16(p)), 7)),
                         _mm512_set1_ps(128.0f));
}

static inline ivec i_set1(int32_t x) { return _mm512_set1_epi32(x); }
static inline fvec i_float(ivec a) { return _mm512_cvtepi32_ps(a); }

static inline codes c_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
/* Shifts of 16 bits: bits that cross into the other byte are masked. */
static inline __attribute__((always_inline)) codes c_field(codes a, int from, int to, int mask)
{
    const halves v = from > to ? (halves)a >> (from - to) : (halves)a << (to - from);
    return _mm512_and_si512((__m512i)v, _mm512_set1_epi8((char)(mask << to)));
}
static inline codes c_or(codes a, codes b) { return _mm512_or_si512(a, b); }
static inline codes c_bytes(codes a) { return a; }
static inline __attribute__((always_inline)) codes c_levels(geodec__levels levels, int offset, codes a)
{
    const __m128i level = load16((const uint8_t *)geodec__code_books_level[levels]);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_add_epi8(level, _mm_set1_epi8((char)offset))), a);
}
typedef ivec part;
static inline part p_start(int32_t x) { return i_set1(x); }
static inline part p_dot(bool wide, part sum, codes c, const int8_t *q)
{
    int32_t four;
    (void)wide;
    memcpy(&four, q, sizeof four);
    return _mm512_dpbusd_epi32(sum, c, _mm512_set1_epi32(four));
}
static inline ivec p_sum(part a, int times)
{
    return times == 1 ? a : _mm512_sub_epi32(_mm512_slli_epi32(a, 8), _mm512_slli_epi32(a, 1)); /* 254 */
}
static inline ivec i_add(ivec a, ivec b) { return _mm512_add_epi32(a, b); }
static inline ivec i_keep(ivec a) { return a; }

/* The conversion rounds to nearest, ties to even. */
static inline void to_integers(const float *x, float factor, int32_t v[32])
{
    const __m512 f = _mm512_set1_ps(factor);
    _mm512_storeu_si512(v, _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), f)));
    _mm512_storeu_si512(v + 16, _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16), f)));
}

#define OWN_LARGEST
static inline int32_t largest(const float *x)
{
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const __m512i a = _mm512_and_si512(_mm512_loadu_si512(x), magnitude);
    const __m512i b = _mm512_and_si512(_mm512_loadu_si512(x + 16), magnitude);
    const __m512i m16 = _mm512_max_epi32(a, b);
    const __m256i m8 = _mm256_max_epi32(_mm512_castsi512_si256(m16), _mm512_extracti64x4_epi64(m16, 1));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(m8), _mm256_extracti128_si256(m8, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}
/* 32 registers: eight of codes, sixteen of sums. */
#define RUN(bits, offset, wide) 8
#define START(wide) true
#define FAST_WIDTHS(X, ...) UP_TO(8, X, __VA_ARGS__) X(16, __VA_ARGS__)
#define EXACT_WIDTHS(X, ...) UP_TO(2, X, __VA_ARGS__) X(0, __VA_ARGS__)
#define TOGETHER(planes) 4
#define PRODUCTS geodec__products_vnni
#define PRODUCTS_ISA GEODEC_ISA_AVX512
#include "kernels/products_body.h"
#else
typedef int geodec__no_vnni; /* built for another architecture */
#endif
