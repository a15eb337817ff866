/* AVX-512 (F, BW, VL, DQ): 16 lanes in one register. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include "kernels/kernels_internal.h"

#include <immintrin.h>
#include <string.h>

typedef __m512 vec;

static inline vec v_zero(void) { return _mm512_setzero_ps(); }
static inline vec v_set1(float x) { return _mm512_set1_ps(x); }
static inline vec v_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void v_store(float *p, vec a) { _mm512_storeu_ps(p, a); }
static inline vec v_add(vec a, vec b) { return _mm512_add_ps(a, b); }
static inline vec v_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
static inline vec v_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
static inline vec v_div(vec a, vec b) { return _mm512_div_ps(a, b); }
static inline vec v_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec v_max(vec a, vec b) { return _mm512_max_ps(a, b); }
static inline vec v_min(vec a, vec b) { return _mm512_min_ps(a, b); }
static inline vec v_below(vec a, vec b, vec x, vec y)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
static inline float v_top(vec a) { return _mm512_reduce_max_ps(a); }
static inline vec v_within(vec a, int64_t lo, int64_t hi, vec b)
{
    return _mm512_mask_blend_ps((__mmask16)(((1u << hi) - 1u) & ~((1u << lo) - 1u)), b, a);
}
static inline vec v_pair(float a, float b)
{
    return _mm512_mask_broadcastss_ps(_mm512_set1_ps(a), (__mmask16)0xff00, _mm_set_ss(b));
}
static inline vec v_load_pair(const float *p, const float *q)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(p)), _mm256_loadu_ps(q), 1);
}
static inline void v_store_pair(float *p, float *q, vec a)
{
    _mm256_storeu_ps(p, _mm512_castps512_ps256(a));
    _mm256_storeu_ps(q, _mm512_extractf32x8_ps(a, 1));
}

static inline vec v_pow2(vec t)
{
    const __m512i n = _mm512_add_epi32(_mm512_castps_si512(t), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(n, 23));
}

static inline vec v_keep(vec a)
{
    __asm__("" : "+v"(a));
    return a;
}

static inline void v_sum4(vec a, vec b, vec c, vec d, float *out, int n)
{
    /* 256-bit halves: (a, b) and (c, d), eight sums each */
    const vec ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    const vec cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    /* 128-bit lanes a, b, c, d, four sums each */
    const vec s4 = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    const vec s2 = _mm512_add_ps(s4, _mm512_permute_ps(s4, 0x4e));
    const vec s1 = _mm512_add_ps(s2, _mm512_permute_ps(s2, 0xb1));
    const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    _mm_mask_storeu_ps(out, (__mmask8)((1u << n) - 1u), _mm512_castps512_ps128(_mm512_permutexvar_ps(first, s1)));
}

static inline vec load_f16(const uint8_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline vec widen_bf16(__m256i h) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16)); }
static inline vec load_bf16(const uint8_t *p)
{
    return widen_bf16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline vec load_i8(const uint8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
static inline __mmask16 first_n(int64_t n) { return (__mmask16)((1u << n) - 1u); }
static inline vec load_f32_tail(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(first_n(n), p); }
static inline vec load_f16_tail(const uint8_t *p, int64_t n)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_n(n), p));
}
static inline vec load_bf16_tail(const uint8_t *p, int64_t n)
{
    return widen_bf16(_mm256_maskz_loadu_epi16(first_n(n), p));
}
static inline vec scale_f16(const uint8_t *p)
{
    return _mm512_broadcastss_ps(
        _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)p))); /* 8 bytes of a block */
}

static inline __m256 v_low(vec a) { return _mm512_castps512_ps256(a); }
static inline __m256 v_high(vec a) { return _mm512_extractf32x8_ps(a, 1); }

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
