/* Any CPU: the 16 lanes as plain loops, fused multiply-add in software (base/simd_internal.h). */
#define PORTABLE
#include "base/f16.h"
#include "base/simd_internal.h"
#include "kernels/products_internal.h"

#include <math.h>
#include <string.h>

typedef struct ivec {
    int32_t x[16];
} ivec;
typedef struct codes {
    uint8_t x[64];
} codes;

#define LANES(type, n, expression)                                                                                     \
    type out;                                                                                                          \
    for (int l = 0; l < (n); l++) out.x[l] = (expression);                                                             \
    return out

static inline fvec f_half(const uint8_t *p)
{
    LANES(fvec, 16, geodec_f16_to_f32((uint16_t)(p[2 * l] | p[2 * l + 1] << 8)));
}
static inline fvec f_u8(const uint8_t *p) { LANES(fvec, 16, (float)p[l]); }
static inline fvec f_i8(const uint8_t *p) { LANES(fvec, 16, (float)(int8_t)p[l]); }
static inline fvec f_u4(const uint8_t *p, int shift) { LANES(fvec, 16, (float)(p[l] >> shift & 15)); }

static inline fvec f_e8m0(const uint8_t *p) { LANES(fvec, 16, geodec__e8m0_half(p[l])); }
static inline fvec f_e4m3(const uint8_t *p) { LANES(fvec, 16, geodec__e4m3_half(p[l])); }

static inline ivec i_set1(int32_t x) { LANES(ivec, 16, x); }
static inline fvec i_float(ivec a) { LANES(fvec, 16, (float)a.x[l]); }

static inline codes c_load(const uint8_t *p)
{
    codes out;
    memcpy(out.x, p, sizeof out.x);
    return out;
}
static inline codes c_field(codes a, int from, int to, unsigned mask)
{
    LANES(codes, 64, (uint8_t)(((unsigned)(a.x[l] >> from) & mask) << to));
}
static inline codes c_or(codes a, codes b) { LANES(codes, 64, a.x[l] | b.x[l]); }
static inline codes c_bytes(codes a) { return a; }
static inline codes c_levels(geodec__levels levels, int offset, codes a)
{
    const int8_t *const level = geodec__code_books_level[levels];
    LANES(codes, 64, (uint8_t)(level[a.x[l]] + offset));
}
typedef ivec part;
static inline part p_start(int32_t x) { return i_set1(x); }
static inline part p_dot(bool wide, part sum, codes c, const int8_t *q)
{
    (void)wide;
    LANES(part, 16,
          sum.x[l] + c.x[4 * l] * q[0] + c.x[4 * l + 1] * q[1] + c.x[4 * l + 2] * q[2] + c.x[4 * l + 3] * q[3]);
}
static inline ivec p_sum(part a, int times) { LANES(ivec, 16, a.x[l] * times); }
static inline ivec i_add(ivec a, ivec b) { LANES(ivec, 16, a.x[l] + b.x[l]); }
static inline ivec i_keep(ivec a) { return a; }

static inline void to_integers(const float *x, float factor, int32_t v[32])
{
    for (int i = 0; i < 32; i++) v[i] = (int32_t)lrintf(x[i] * factor);
}

#define RUN(bits, offset, wide) 8
#define START(wide) true
#define FAST_WIDTHS(X, ...) X(1, __VA_ARGS__)
#define EXACT_WIDTHS(X, ...) X(1, __VA_ARGS__)
#define TOGETHER(planes) 1
#define PRODUCTS geodec__products_scalar
#define PRODUCTS_ISA GEODEC_ISA_SCALAR
#include "kernels/products_body.h"
