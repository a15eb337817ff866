/* Eight doubles (vec) and four (half), with the same results on every instruction set: lane by lane, fused
 * multiply-adds where `fma` is called, sums over lanes in one fixed order. The compiler flags of the including file
 * choose the set. */
#ifndef GEODEC_LINALG_VEC64_INTERNAL_H
#define GEODEC_LINALG_VEC64_INTERNAL_H

#include <math.h>
#include <stdint.h>

#include "base/unroll_internal.h"

enum { VEC = 8, HALF = 4 };

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
enum { VEC_REGISTERS = 32, VEC_SIZE = 1 }; /* registers of the processor, registers of a vec */
typedef __m512d vec;
typedef __m256d half;
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
INLINE half h_zero(void) { return _mm256_setzero_pd(); }
INLINE half h_set1(double x) { return _mm256_set1_pd(x); }
INLINE half h_load(const double *p) { return _mm256_loadu_pd(p); }
INLINE half h_fma(half a, half b, half c) { return _mm256_fmadd_pd(a, b, c); }
INLINE vec v_widen(half a) { return _mm512_zextpd256_pd512(a); } /* the upper lanes are zero */
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
enum { VEC_REGISTERS = 16, VEC_SIZE = 2 };
typedef struct vec {
    __m256d a, b;
} vec;
typedef __m256d half;
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
INLINE half h_zero(void) { return _mm256_setzero_pd(); }
INLINE half h_set1(double x) { return _mm256_set1_pd(x); }
INLINE half h_load(const double *p) { return _mm256_loadu_pd(p); }
INLINE half h_fma(half a, half b, half c) { return _mm256_fmadd_pd(a, b, c); }
INLINE vec v_widen(half a) { return (vec){a, _mm256_setzero_pd()}; }
#else
enum { VEC_REGISTERS = 16, VEC_SIZE = 2 };
typedef struct vec {
    double x[VEC];
} vec;
typedef struct half {
    double x[HALF];
} half;
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
INLINE half h_load(const double *p)
{
    half r;
    LANES(HALF) r.x[i] = p[i];
    return r;
}
INLINE half h_set1(double x)
{
    half r;
    LANES(HALF) r.x[i] = x;
    return r;
}
INLINE half h_zero(void) { return h_set1(0); }
INLINE half h_fma(half a, half b, half c)
{
    LANES(HALF) c.x[i] = fma(a.x[i], b.x[i], c.x[i]);
    return c;
}
INLINE vec v_widen(half a)
{
    vec r = v_zero();
    LANES(HALF) r.x[i] = a.x[i];
    return r;
}
#undef LANES
#endif

/* ((0+4) + (2+6)) + ((1+5) + (3+7)) */
INLINE double v_sum(vec a)
{
    double x[VEC];
    v_store(x, a);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

#endif
