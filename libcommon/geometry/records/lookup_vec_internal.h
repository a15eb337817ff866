/* Internal: sixteen floats and their comparisons, for the instruction set of the including file, and additions to
 * linalg/vec64_internal.h for searching. */
#ifndef GEODEC_RECORDS_LOOKUP_VEC_INTERNAL_H
#define GEODEC_RECORDS_LOOKUP_VEC_INTERNAL_H

#include "linalg/vec64_internal.h"

/* f_not_above: bit i set unless a_i > b. v_min_at: where x < best (lane by lane), best = x and at = index. */
#if defined(__AVX512F__) && defined(__AVX512DQ__)
typedef __m512 fvec;
INLINE fvec f_set1(float x) { return _mm512_set1_ps(x); }
INLINE fvec f_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void f_store(float *p, fvec a) { _mm512_storeu_ps(p, a); }
INLINE fvec f_sub(fvec a, fvec b) { return _mm512_sub_ps(a, b); }
INLINE fvec f_mul(fvec a, fvec b) { return _mm512_mul_ps(a, b); }
INLINE fvec f_fma(fvec a, fvec b, fvec c) { return _mm512_fmadd_ps(a, b, c); }
INLINE fvec f_max(fvec a, fvec b) { return _mm512_max_ps(a, b); }
INLINE unsigned f_not_above(fvec a, float b) { return _mm512_cmp_ps_mask(a, _mm512_set1_ps(b), _CMP_NGT_UQ); }
INLINE vec v_div(vec a, vec b) { return _mm512_div_pd(a, b); }
INLINE vec v_sqrt(vec a) { return _mm512_sqrt_pd(a); }
/* to [8][8]: element i of the eight rows at from, from + stride, .. */
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
#elif defined(__AVX2__) && defined(__FMA__)
typedef struct fvec {
    __m256 a, b;
} fvec;
INLINE fvec f_set1(float x) { return (fvec){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
INLINE fvec f_load(const float *p) { return (fvec){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
INLINE void f_store(float *p, fvec a)
{
    _mm256_storeu_ps(p, a.a);
    _mm256_storeu_ps(p + 8, a.b);
}
INLINE fvec f_sub(fvec x, fvec y) { return (fvec){_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
INLINE fvec f_mul(fvec x, fvec y) { return (fvec){_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
INLINE fvec f_fma(fvec x, fvec y, fvec z)
{
    return (fvec){_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
INLINE fvec f_max(fvec x, fvec y) { return (fvec){_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
INLINE unsigned f_not_above(fvec x, float b)
{
    const __m256 y = _mm256_set1_ps(b);
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x.a, y, _CMP_NGT_UQ)) |
           (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x.b, y, _CMP_NGT_UQ)) << 8;
}
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
#else
typedef struct fvec {
    float x[16];
} fvec;
#define LANES(n) for (int i = 0; i < (n); i++)
INLINE fvec f_set1(float x)
{
    fvec r;
    LANES(16) r.x[i] = x;
    return r;
}
INLINE fvec f_load(const float *p)
{
    fvec r;
    LANES(16) r.x[i] = p[i];
    return r;
}
INLINE void f_store(float *p, fvec a) { LANES(16) p[i] = a.x[i]; }
INLINE fvec f_sub(fvec a, fvec b)
{
    LANES(16) a.x[i] -= b.x[i];
    return a;
}
INLINE fvec f_mul(fvec a, fvec b)
{
    LANES(16) a.x[i] *= b.x[i];
    return a;
}
INLINE fvec f_fma(fvec a, fvec b, fvec c)
{
    LANES(16) c.x[i] = fmaf(a.x[i], b.x[i], c.x[i]);
    return c;
}
INLINE fvec f_max(fvec a, fvec b)
{
    LANES(16) a.x[i] = a.x[i] > b.x[i] ? a.x[i] : b.x[i];
    return a;
}
INLINE unsigned f_not_above(fvec a, float b)
{
    unsigned m = 0;
    LANES(16) m |= (unsigned)!(a.x[i] > b) << i;
    return m;
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
#endif

#endif
