/* AVX-512 (F, BW, VL, DQ): 16 lanes in one register. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include "base/simd_internal.h"
#include "kernels/kernels_internal.h"

#include <string.h>

static inline float f_top(fvec a) { return _mm512_reduce_max_ps(a); }
static inline fvec f_within(fvec a, int64_t lo, int64_t hi, fvec b)
{
    return _mm512_mask_blend_ps((__mmask16)(((1u << hi) - 1u) & ~((1u << lo) - 1u)), b, a);
}
static inline fvec f_pair(float a, float b)
{
    return _mm512_mask_broadcastss_ps(_mm512_set1_ps(a), (__mmask16)0xff00, _mm_set_ss(b));
}
static inline fvec f_load_pair(const float *p, const float *q)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(p)), _mm256_loadu_ps(q), 1);
}
static inline void f_store_pair(float *p, float *q, fvec a)
{
    _mm256_storeu_ps(p, _mm512_castps512_ps256(a));
    _mm256_storeu_ps(q, _mm512_extractf32x8_ps(a, 1));
}

static inline fvec f_pow2(fvec t)
{
    const __m512i n = _mm512_add_epi32(_mm512_castps_si512(t), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(n, 23));
}

static inline fvec f_keep(fvec a)
{
    __asm__("" : "+v"(a));
    return a;
}

static inline void f_sum4(fvec a, fvec b, fvec c, fvec d, float *out, int n)
{
    /* 256-bit halves: (a, b) and (c, d), eight sums each */
    const fvec ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    const fvec cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    /* 128-bit lanes a, b, c, d, four sums each */
    const fvec s4 = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    const fvec s2 = _mm512_add_ps(s4, _mm512_permute_ps(s4, 0x4e));
    const fvec s1 = _mm512_add_ps(s2, _mm512_permute_ps(s2, 0xb1));
    const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    _mm_mask_storeu_ps(out, (__mmask8)((1u << n) - 1u), _mm512_castps512_ps128(_mm512_permutexvar_ps(first, s1)));
}

static inline fvec load_f16(const uint8_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline fvec widen_bf16(__m256i h)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
static inline fvec load_bf16(const uint8_t *p)
{
    return widen_bf16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline fvec load_i8(const uint8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
static inline __mmask16 first_n(int64_t n) { return (__mmask16)((1u << n) - 1u); }
static inline fvec load_f16_tail(const uint8_t *p, int64_t n)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_n(n), p));
}
static inline fvec load_bf16_tail(const uint8_t *p, int64_t n)
{
    return widen_bf16(_mm256_maskz_loadu_epi16(first_n(n), p));
}
static inline fvec scale_f16(const uint8_t *p)
{
    return _mm512_broadcastss_ps(
        _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)p))); /* 8 bytes of a block */
}

static inline __m256 f_low(fvec a) { return _mm512_castps512_ps256(a); }
static inline __m256 f_high(fvec a) { return _mm512_extractf32x8_ps(a, 1); }

/* 32 registers: at most 24 for sums. The heights divide a strip and a task's block of rows. */
#define MAX_GROUP 8
#define TILE_ROWS(B) ((B) <= 3 ? 4 : (B) == 4 ? 6 : (B) <= 6 ? 4 : 3)
#define COLUMN_GROUP 5 /* ten sums, fifteen pending ones, two weights */
#define GEMM_GROUP 12
#define ATTEND_ROWS 6
#define ATTEND_WIDE(R) 4
#define KERNELS geodec__kernels_avx512
#define KERNELS_ISA GEODEC_ISA_AVX512
#include "kernels/kernels_body.h"
#else
typedef int geodec__no_avx512; /* built for another architecture */
#endif
