/* Internal: vectors of eight doubles (vec, v_), four doubles (hvec, h_) and sixteen floats (fvec, f_), with the same
 * results on every instruction set: lane by lane, fused multiply-adds where `fma` is called, sums over lanes in one
 * fixed order. The compiler flags of the including file choose the set. A function whose name ends in _n reads or
 * writes the first n lanes, 1 <= n <= the lanes; the others are zero.
 *
 *   v_fnma(a, b, c)             c - a b, fused
 *   v_min_at(x, i, best, at)    where x < best: best = x and at = i
 *   v_transpose(from, s, to)    to [8][8]: element i of the eight rows at from, from + s, ..
 *   f_max(a, b)                 a > b ? a : b
 *   f_min(a, b)                 a < b ? a : b
 *   f_below(a, b, x, y)         a < b ? x : y
 *   f_not_above(a, b)           bit i is set unless a_i > b
 *
 * Vectors of another kind are apart: lanes_internal.h has one form for all builds, without fused operations, and the
 * vectors of rbf_kernel.inc are as wide as the set, so that sums differ between sets. */
#ifndef GEODEC_BASE_SIMD_INTERNAL_H
#define GEODEC_BASE_SIMD_INTERNAL_H

#include "base/unroll_internal.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Fused multiply-add of float32 without the hardware instruction, correctly rounded. The product is exact in double.
 * The sum is rounded to odd there (Boldo and Melquiond 2008): when it is not exact and its last bit is even, the
 * neighbour on the side of the error is taken; then rounding to float is the only rounding.
 */
static inline float geodec__fma32(float a, float b, float c)
{
    const double p = (double)a * (double)b, z = (double)c, s = p + z;
    const double zz = s - p, error = (p - (s - zz)) + (z - zz); /* Knuth's exact error of p + z */
    uint64_t u;
    double odd;
    memcpy(&u, &s, sizeof u);
    if ((error > 0 || error < 0) && !(u & 1u)) u += (error > 0) == (s > 0) ? 1u : UINT64_MAX;
    memcpy(&odd, &u, sizeof odd);
    return (float)odd;
}

/* The including file may ask that functions of floats are always inlined; by default the compiler decides. */
#ifndef F_INLINE
#define F_INLINE static inline
#endif

enum { VEC = 8, HALF = 4 };

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
enum { VEC_REGISTERS = 32, VEC_SIZE = 1 }; /* registers of the processor, registers of a vec */
typedef __m512d vec;
typedef __m256d hvec;
INLINE vec v_zero(void) { return _mm512_setzero_pd(); }
INLINE vec v_set1(double x) { return _mm512_set1_pd(x); }
INLINE vec v_load(const double *p) { return _mm512_loadu_pd(p); }
INLINE vec v_load_n(const double *p, int64_t n) { return _mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1u), p); }
INLINE void v_store(double *p, vec a) { _mm512_storeu_pd(p, a); }
INLINE void v_store_n(double *p, vec a, int64_t n) { _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1u), a); }
INLINE vec v_add(vec a, vec b) { return _mm512_add_pd(a, b); }
INLINE vec v_mul(vec a, vec b) { return _mm512_mul_pd(a, b); }
INLINE vec v_fma(vec a, vec b, vec c) { return _mm512_fmadd_pd(a, b, c); }
INLINE vec v_fnma(vec a, vec b, vec c) { return _mm512_fnmadd_pd(a, b, c); }
INLINE vec v_abs(vec a) { return _mm512_abs_pd(a); }
INLINE hvec h_zero(void) { return _mm256_setzero_pd(); }
INLINE hvec h_set1(double x) { return _mm256_set1_pd(x); }
INLINE hvec h_load(const double *p) { return _mm256_loadu_pd(p); }
INLINE hvec h_fma(hvec a, hvec b, hvec c) { return _mm256_fmadd_pd(a, b, c); }
INLINE vec v_widen(hvec a) { return _mm512_zextpd256_pd512(a); } /* the upper lanes are zero */
INLINE vec v_div(vec a, vec b) { return _mm512_div_pd(a, b); }
INLINE vec v_sqrt(vec a) { return _mm512_sqrt_pd(a); }
INLINE void v_transpose(const double *from, int64_t stride, double *to)
{
    vec r[8], s[8], t[8];
    UNROLL
    for (int i = 0; i < 8; i++) r[i] = v_load(from + i * stride);
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
        s[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 2; i++) {
        t[i] = _mm512_shuffle_f64x2(s[i], s[i + 2], 0x88);
        t[i + 2] = _mm512_shuffle_f64x2(s[i], s[i + 2], 0xdd);
        t[i + 4] = _mm512_shuffle_f64x2(s[i + 4], s[i + 6], 0x88);
        t[i + 6] = _mm512_shuffle_f64x2(s[i + 4], s[i + 6], 0xdd);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        v_store(to + i * 8, _mm512_shuffle_f64x2(t[i], t[i + 4], 0x88));
        v_store(to + (i + 4) * 8, _mm512_shuffle_f64x2(t[i], t[i + 4], 0xdd));
    }
}
INLINE void v_min_at(vec x, double index, vec *best, vec *at)
{
    const __mmask8 m = _mm512_cmp_pd_mask(x, *best, _CMP_LT_OQ);
    *best = _mm512_mask_mov_pd(*best, m, x);
    *at = _mm512_mask_mov_pd(*at, m, _mm512_set1_pd(index));
}
/* ---- sixteen floats ---- */
typedef __m512 fvec;
F_INLINE fvec f_zero(void) { return _mm512_setzero_ps(); }
F_INLINE fvec f_set1(float x) { return _mm512_set1_ps(x); }
F_INLINE fvec f_load(const float *p) { return _mm512_loadu_ps(p); }
F_INLINE fvec f_load_n(const float *p, int64_t n) { return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p); }
F_INLINE void f_store(float *p, fvec a) { _mm512_storeu_ps(p, a); }
F_INLINE void f_store_n(float *p, fvec a, int64_t n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), a); }
F_INLINE fvec f_add(fvec a, fvec b) { return _mm512_add_ps(a, b); }
F_INLINE fvec f_sub(fvec a, fvec b) { return _mm512_sub_ps(a, b); }
F_INLINE fvec f_mul(fvec a, fvec b) { return _mm512_mul_ps(a, b); }
F_INLINE fvec f_div(fvec a, fvec b) { return _mm512_div_ps(a, b); }
F_INLINE fvec f_fma(fvec a, fvec b, fvec c) { return _mm512_fmadd_ps(a, b, c); }
F_INLINE fvec f_fnma(fvec a, fvec b, fvec c) { return _mm512_fnmadd_ps(a, b, c); }
F_INLINE fvec f_max(fvec a, fvec b) { return _mm512_max_ps(a, b); }
F_INLINE fvec f_min(fvec a, fvec b) { return _mm512_min_ps(a, b); }
F_INLINE fvec f_below(fvec a, fvec b, fvec x, fvec y)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
F_INLINE unsigned f_not_above(fvec a, float b) { return _mm512_cmp_ps_mask(a, _mm512_set1_ps(b), _CMP_NGT_UQ); }
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
enum { VEC_REGISTERS = 16, VEC_SIZE = 2 };
typedef struct vec {
    __m256d a, b;
} vec;
typedef __m256d hvec;
INLINE vec v_zero(void) { return (vec){_mm256_setzero_pd(), _mm256_setzero_pd()}; }
INLINE vec v_set1(double x) { return (vec){_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
INLINE vec v_load(const double *p) { return (vec){_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
INLINE __m256i first_lanes(int64_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINE vec v_load_n(const double *p, int64_t n)
{
    return (vec){_mm256_maskload_pd(p, first_lanes(n)),
                 n > 4 ? _mm256_maskload_pd(p + 4, first_lanes(n - 4)) : _mm256_setzero_pd()};
}
INLINE void v_store(double *p, vec x)
{
    _mm256_storeu_pd(p, x.a);
    _mm256_storeu_pd(p + 4, x.b);
}
INLINE void v_store_n(double *p, vec x, int64_t n)
{
    _mm256_maskstore_pd(p, first_lanes(n), x.a);
    if (n > 4) _mm256_maskstore_pd(p + 4, first_lanes(n - 4), x.b);
}
INLINE vec v_add(vec x, vec y) { return (vec){_mm256_add_pd(x.a, y.a), _mm256_add_pd(x.b, y.b)}; }
INLINE vec v_mul(vec x, vec y) { return (vec){_mm256_mul_pd(x.a, y.a), _mm256_mul_pd(x.b, y.b)}; }
INLINE vec v_fma(vec x, vec y, vec z) { return (vec){_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b)}; }
INLINE vec v_fnma(vec x, vec y, vec z)
{
    return (vec){_mm256_fnmadd_pd(x.a, y.a, z.a), _mm256_fnmadd_pd(x.b, y.b, z.b)};
}
INLINE vec v_abs(vec x)
{
    const __m256d sign = _mm256_set1_pd(-0.0);
    return (vec){_mm256_andnot_pd(sign, x.a), _mm256_andnot_pd(sign, x.b)};
}
INLINE hvec h_zero(void) { return _mm256_setzero_pd(); }
INLINE hvec h_set1(double x) { return _mm256_set1_pd(x); }
INLINE hvec h_load(const double *p) { return _mm256_loadu_pd(p); }
INLINE hvec h_fma(hvec a, hvec b, hvec c) { return _mm256_fmadd_pd(a, b, c); }
INLINE vec v_widen(hvec a) { return (vec){a, _mm256_setzero_pd()}; }
INLINE vec v_div(vec x, vec y) { return (vec){_mm256_div_pd(x.a, y.a), _mm256_div_pd(x.b, y.b)}; }
INLINE vec v_sqrt(vec x) { return (vec){_mm256_sqrt_pd(x.a), _mm256_sqrt_pd(x.b)}; }
INLINE void v_transpose(const double *from, int64_t stride, double *to)
{
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++) to[i * 8 + k] = from[k * stride + i];
}
INLINE void v_min_at(vec x, double index, vec *best, vec *at)
{
    const __m256d i = _mm256_set1_pd(index), m = _mm256_cmp_pd(x.a, best->a, _CMP_LT_OQ),
                  o = _mm256_cmp_pd(x.b, best->b, _CMP_LT_OQ);
    *best = (vec){_mm256_blendv_pd(best->a, x.a, m), _mm256_blendv_pd(best->b, x.b, o)};
    *at = (vec){_mm256_blendv_pd(at->a, i, m), _mm256_blendv_pd(at->b, i, o)};
}
/* ---- sixteen floats ---- */
typedef struct fvec {
    __m256 lo, hi;
} fvec;
F_INLINE fvec f_zero(void) { return (fvec){_mm256_setzero_ps(), _mm256_setzero_ps()}; }
F_INLINE fvec f_set1(float x) { return (fvec){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
F_INLINE fvec f_load(const float *p) { return (fvec){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
F_INLINE fvec f_load_n(const float *p, int64_t n)
{
    float t[16] = {0};
    memcpy(t, p, (size_t)n * sizeof *t);
    return f_load(t);
}
F_INLINE void f_store(float *p, fvec a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
F_INLINE void f_store_n(float *p, fvec a, int64_t n)
{
    float t[16];
    f_store(t, a);
    memcpy(p, t, (size_t)n * sizeof *p);
}
F_INLINE fvec f_add(fvec a, fvec b) { return (fvec){_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
F_INLINE fvec f_sub(fvec a, fvec b) { return (fvec){_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
F_INLINE fvec f_mul(fvec a, fvec b) { return (fvec){_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
F_INLINE fvec f_div(fvec a, fvec b) { return (fvec){_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
F_INLINE fvec f_fma(fvec a, fvec b, fvec c)
{
    return (fvec){_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
F_INLINE fvec f_fnma(fvec a, fvec b, fvec c)
{
    return (fvec){_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
F_INLINE fvec f_max(fvec a, fvec b) { return (fvec){_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
F_INLINE fvec f_min(fvec a, fvec b) { return (fvec){_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
F_INLINE fvec f_below(fvec a, fvec b, fvec x, fvec y)
{
    return (fvec){_mm256_blendv_ps(y.lo, x.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
                  _mm256_blendv_ps(y.hi, x.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
}
F_INLINE unsigned f_not_above(fvec x, float b)
{
    const __m256 y = _mm256_set1_ps(b);
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x.lo, y, _CMP_NGT_UQ)) |
           (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x.hi, y, _CMP_NGT_UQ)) << 8;
}
#else
enum { VEC_REGISTERS = 16, VEC_SIZE = 2 };
typedef struct vec {
    double x[VEC];
} vec;
typedef struct hvec {
    double x[HALF];
} hvec;
#define LANES(n) for (int i = 0; i < (n); i++)
INLINE vec v_set1(double x)
{
    vec r;
    LANES(VEC) r.x[i] = x;
    return r;
}
INLINE vec v_zero(void) { return v_set1(0); }
INLINE vec v_load_n(const double *p, int64_t n)
{
    vec r = v_zero();
    LANES((int)n) r.x[i] = p[i];
    return r;
}
INLINE vec v_load(const double *p) { return v_load_n(p, VEC); }
INLINE void v_store_n(double *p, vec a, int64_t n) { LANES((int)n) p[i] = a.x[i]; }
INLINE void v_store(double *p, vec a) { v_store_n(p, a, VEC); }
INLINE vec v_add(vec a, vec b)
{
    LANES(VEC) a.x[i] += b.x[i];
    return a;
}
INLINE vec v_mul(vec a, vec b)
{
    LANES(VEC) a.x[i] *= b.x[i];
    return a;
}
INLINE vec v_fma(vec a, vec b, vec c)
{
    LANES(VEC) c.x[i] = fma(a.x[i], b.x[i], c.x[i]);
    return c;
}
INLINE vec v_fnma(vec a, vec b, vec c)
{
    LANES(VEC) c.x[i] = fma(-a.x[i], b.x[i], c.x[i]);
    return c;
}
INLINE vec v_abs(vec a)
{
    LANES(VEC) a.x[i] = fabs(a.x[i]);
    return a;
}
INLINE hvec h_load(const double *p)
{
    hvec r;
    LANES(HALF) r.x[i] = p[i];
    return r;
}
INLINE hvec h_set1(double x)
{
    hvec r;
    LANES(HALF) r.x[i] = x;
    return r;
}
INLINE hvec h_zero(void) { return h_set1(0); }
INLINE hvec h_fma(hvec a, hvec b, hvec c)
{
    LANES(HALF) c.x[i] = fma(a.x[i], b.x[i], c.x[i]);
    return c;
}
INLINE vec v_widen(hvec a)
{
    vec r = v_zero();
    LANES(HALF) r.x[i] = a.x[i];
    return r;
}
INLINE vec v_div(vec a, vec b)
{
    LANES(VEC) a.x[i] /= b.x[i];
    return a;
}
INLINE vec v_sqrt(vec a)
{
    LANES(VEC) a.x[i] = sqrt(a.x[i]);
    return a;
}
INLINE void v_transpose(const double *from, int64_t stride, double *to)
{
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++) to[i * 8 + k] = from[k * stride + i];
}
INLINE void v_min_at(vec x, double index, vec *best, vec *at)
{
    for (int i = 0; i < VEC; i++) {
        if (!(x.x[i] < best->x[i])) continue;
        best->x[i] = x.x[i];
        at->x[i] = index;
    }
}
#undef LANES
/* ---- sixteen floats ---- */
typedef struct fvec {
    float x[16];
} fvec;
#define EACH(expression)                                                                                               \
    fvec out;                                                                                                          \
    for (int i = 0; i < 16; i++) out.x[i] = (expression);                                                              \
    return out
F_INLINE fvec f_zero(void) { EACH(0.0f); }
F_INLINE fvec f_set1(float x) { EACH(x); }
F_INLINE fvec f_load(const float *p) { EACH(p[i]); }
F_INLINE fvec f_load_n(const float *p, int64_t n) { EACH(i < n ? p[i] : 0.0f); }
F_INLINE void f_store(float *p, fvec a) { memcpy(p, a.x, sizeof a.x); }
F_INLINE void f_store_n(float *p, fvec a, int64_t n) { memcpy(p, a.x, (size_t)n * sizeof *p); }
F_INLINE fvec f_add(fvec a, fvec b) { EACH(a.x[i] + b.x[i]); }
F_INLINE fvec f_sub(fvec a, fvec b) { EACH(a.x[i] - b.x[i]); }
F_INLINE fvec f_mul(fvec a, fvec b) { EACH(a.x[i] * b.x[i]); }
F_INLINE fvec f_div(fvec a, fvec b) { EACH(a.x[i] / b.x[i]); }
F_INLINE fvec f_fma(fvec a, fvec b, fvec c) { EACH(geodec__fma32(a.x[i], b.x[i], c.x[i])); }
F_INLINE fvec f_fnma(fvec a, fvec b, fvec c) { EACH(geodec__fma32(-a.x[i], b.x[i], c.x[i])); }
F_INLINE fvec f_max(fvec a, fvec b) { EACH(a.x[i] > b.x[i] ? a.x[i] : b.x[i]); }
F_INLINE fvec f_min(fvec a, fvec b) { EACH(a.x[i] < b.x[i] ? a.x[i] : b.x[i]); }
F_INLINE fvec f_below(fvec a, fvec b, fvec x, fvec y) { EACH(a.x[i] < b.x[i] ? x.x[i] : y.x[i]); }
#undef EACH
F_INLINE unsigned f_not_above(fvec a, float b)
{
    unsigned m = 0;
    for (int i = 0; i < 16; i++) m |= (unsigned)!(a.x[i] > b) << i;
    return m;
}
#endif

/* ((0+4) + (2+6)) + ((1+5) + (3+7)) */
INLINE double v_sum(vec a)
{
    double x[VEC];
    v_store(x, a);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

#endif
