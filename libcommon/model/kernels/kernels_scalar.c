/* Any CPU: the 16 lanes as plain loops, fused multiply-add in software (base/simd_internal.h). */
#define PORTABLE
#include "base/f16.h"
#include "base/simd_internal.h"
#include "kernels/kernels_internal.h"

#include <string.h>

#define LANES(expression)                                                                                              \
    fvec out;                                                                                                          \
    for (int l = 0; l < 16; l++) out.x[l] = (expression);                                                              \
    return out

static inline fvec f_within(fvec a, int64_t lo, int64_t hi, fvec b) { LANES(l >= lo && l < hi ? a.x[l] : b.x[l]); }
static inline fvec f_pair(float a, float b) { LANES(l < 8 ? a : b); }
static inline fvec f_load_pair(const float *p, const float *q) { LANES(l < 8 ? p[l] : q[l - 8]); }
static inline void f_store_pair(float *p, float *q, fvec a)
{
    memcpy(p, a.x, 8 * sizeof *p);
    memcpy(q, a.x + 8, 8 * sizeof *q);
}

static inline float f_top(fvec a)
{
    float top = a.x[0];
    for (int l = 1; l < 16; l++) top = a.x[l] > top ? a.x[l] : top;
    return top;
}

static inline fvec f_pow2(fvec t)
{
    fvec out;
    for (int l = 0; l < 16; l++) {
        uint32_t u;
        memcpy(&u, &t.x[l], sizeof u);
        u = (u + 127u) << 23;
        memcpy(&out.x[l], &u, sizeof u);
    }
    return out;
}

static inline float sum16(fvec a)
{
    for (int half = 8; half >= 1; half /= 2)
        for (int l = 0; l < half; l++) a.x[l] = a.x[l] + a.x[l + half];
    return a.x[0];
}

static inline fvec f_keep(fvec a) { return a; }
static inline void f_sum4(fvec a, fvec b, fvec c, fvec d, float *out, int n)
{
    out[0] = sum16(a);
    if (n > 1) out[1] = sum16(b);
    if (n > 2) out[2] = sum16(c);
    if (n > 3) out[3] = sum16(d);
}

static inline uint16_t half_at(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline fvec load_f16(const uint8_t *p) { LANES(geodec_f16_to_f32(half_at(p + 2 * l))); }
static inline fvec load_bf16(const uint8_t *p) { LANES(geodec_bf16_to_f32(half_at(p + 2 * l))); }
static inline fvec load_i8(const uint8_t *p) { LANES((float)(int8_t)p[l]); }
static inline fvec load_f16_tail(const uint8_t *p, int64_t n)
{
    LANES(l < n ? geodec_f16_to_f32(half_at(p + 2 * l)) : 0.0f);
}
static inline fvec load_bf16_tail(const uint8_t *p, int64_t n)
{
    LANES(l < n ? geodec_bf16_to_f32(half_at(p + 2 * l)) : 0.0f);
}
static inline fvec scale_f16(const uint8_t *p) { return f_set1(geodec_f16_to_f32(half_at(p))); }

#define MAX_GROUP 1
#define TILE_ROWS(B) 1
#define ATTEND_ROWS 1
#define ATTEND_WIDE(R) 4
#define KERNELS geodec__kernels_scalar
#define KERNELS_ISA GEODEC_ISA_SCALAR
#include "kernels/kernels_body.h"
