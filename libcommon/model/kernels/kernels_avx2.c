/* AVX2, FMA and F16C: 16 lanes in two registers. */
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "base/simd_internal.h"
#include "kernels/kernels_internal.h"

#include <string.h>

static inline float f_top(fvec a)
{
    const __m256 m8 = _mm256_max_ps(a.lo, a.hi);
    const __m128 m4 = _mm_max_ps(_mm256_castps256_ps128(m8), _mm256_extractf128_ps(m8, 1));
    const __m128 m2 = _mm_max_ps(m4, _mm_movehl_ps(m4, m4));
    return _mm_cvtss_f32(_mm_max_ss(m2, _mm_shuffle_ps(m2, m2, 1)));
}

/* Lanes lo .. hi-1 of a, the others of b; index: the lanes' numbers. */
static inline __m256 within_8(__m256 a, __m256i index, int64_t lo, int64_t hi, __m256 b)
{
    const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lo), index);
    const __m256i under = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)hi), index);
    return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(_mm256_andnot_si256(below, under)));
}
static inline fvec f_within(fvec a, int64_t lo, int64_t hi, fvec b)
{
    const __m256i low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), high = _mm256_add_epi32(low, _mm256_set1_epi32(8));
    return (fvec){within_8(a.lo, low, lo, hi, b.lo), within_8(a.hi, high, lo, hi, b.hi)};
}
static inline fvec f_pair(float a, float b) { return (fvec){_mm256_set1_ps(a), _mm256_set1_ps(b)}; }
static inline fvec f_load_pair(const float *p, const float *q)
{
    return (fvec){_mm256_loadu_ps(p), _mm256_loadu_ps(q)};
}
static inline void f_store_pair(float *p, float *q, fvec a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(q, a.hi);
}

static inline __m256 pow2_8(__m256 t)
{
    const __m256i n = _mm256_add_epi32(_mm256_castps_si256(t), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(n, 23));
}
static inline fvec f_pow2(fvec t) { return (fvec){pow2_8(t.lo), pow2_8(t.hi)}; }

static inline fvec f_keep(fvec a)
{
    __asm__("" : "+x"(a.lo), "+x"(a.hi));
    return a;
}

static inline void f_sum4(fvec a, fvec b, fvec c, fvec d, float *out, int n)
{
    const __m256 a8 = _mm256_add_ps(a.lo, a.hi), b8 = _mm256_add_ps(b.lo, b.hi);
    const __m256 c8 = _mm256_add_ps(c.lo, c.hi), d8 = _mm256_add_ps(d.lo, d.hi);
    /* 128-bit lanes: (a, b) and (c, d), four sums each */
    const __m256 ab = _mm256_add_ps(_mm256_permute2f128_ps(a8, b8, 0x20), _mm256_permute2f128_ps(a8, b8, 0x31));
    const __m256 cd = _mm256_add_ps(_mm256_permute2f128_ps(c8, d8, 0x20), _mm256_permute2f128_ps(c8, d8, 0x31));
    /* l + (l+2): lanes (a0 a1 c0 c1 | b0 b1 d0 d1) */
    const __m256 s2 = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
    const __m256 s1 =
        _mm256_add_ps(_mm256_shuffle_ps(s2, s2, 0x88), _mm256_shuffle_ps(s2, s2, 0xdd)); /* (a c . . | b d . .) */
    const __m128 all = _mm_unpacklo_ps(_mm256_castps256_ps128(s1), _mm256_extractf128_ps(s1, 1));
    if (n == 4)
        _mm_storeu_ps(out, all);
    else
        _mm_maskstore_ps(out, _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3)), all);
}

static inline __m256 half8(const uint8_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static inline fvec load_f16(const uint8_t *p) { return (fvec){half8(p), half8(p + 16)}; }
static inline __m256 bf8(const uint8_t *p)
{
    const __m256i u = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(u, 16));
}
static inline fvec load_bf16(const uint8_t *p) { return (fvec){bf8(p), bf8(p + 16)}; }
static inline __m256 byte8(const uint8_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
static inline fvec load_i8(const uint8_t *p) { return (fvec){byte8(p), byte8(p + 8)}; }
static inline fvec load_f16_tail(const uint8_t *p, int64_t n)
{
    uint8_t t[32] = {0};
    memcpy(t, p, (size_t)n * 2);
    return load_f16(t);
}
static inline fvec load_bf16_tail(const uint8_t *p, int64_t n)
{
    uint8_t t[32] = {0};
    memcpy(t, p, (size_t)n * 2);
    return load_bf16(t);
}
static inline fvec scale_f16(const uint8_t *p)
{
    const __m256 s = _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)p)));
    return (fvec){s, s}; /* 8 bytes of a block were read */
}

static inline __m256 f_low(fvec a) { return a.lo; }
static inline __m256 f_high(fvec a) { return a.hi; }

/* Halves of a vector, for tiles that would need more registers than there are. */
typedef __m256 vec8;
static inline vec8 p_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void p_store(float *p, vec8 a) { _mm256_storeu_ps(p, a); }
static inline vec8 p_half(const uint8_t *p) { return half8(p); }
static inline vec8 p_bf16(const uint8_t *p) { return bf8(p); }
static inline vec8 p_fma(vec8 a, vec8 b, vec8 c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec8 p_keep(vec8 a)
{
    __asm__("" : "+x"(a));
    return a;
}

/* 16 registers: 12 for sums, 4 for weights and x. Whole vectors take two registers: tiles of one and two rows of x use
 * them, larger tiles use half the lanes at a time. */
#define MAX_GROUP 4
#define TILE_ROWS(B) ((B) == 2 ? 2 : (B) <= 3 ? 4 : 3)
#define BLOCK_GROUP 2
#define PARTS_FROM 3 /* rows of x */
#define COLUMN_GROUP 2
#define GEMM_GROUP 6
#define ATTEND_ROWS 3
#define ATTEND_WIDE(R) ((R) == 1 ? 4 : 2)
#define KERNELS geodec__kernels_avx2
#define KERNELS_ISA GEODEC_ISA_AVX2
#include "kernels/kernels_body.h"
#else
typedef int geodec__no_avx2; /* built for another architecture */
#endif
