/* Any CPU: the 16 lanes as plain loops, fused multiply-add in software (fma32_internal.h). */
#define PORTABLE
#include "base/f16.h"
#include "kernels/fma32_internal.h"
#include "kernels/kernels_internal.h"

#include <string.h>

typedef struct vec {
    float v[16];
} vec;

#define LANES(expression)                                                                                              \
    vec out;                                                                                                           \
    for (int l = 0; l < 16; l++) out.v[l] = (expression);                                                              \
    return out

static inline vec v_zero(void) { LANES(0.0f); }
static inline vec v_set1(float x) { LANES(x); }
static inline vec v_load(const float *p) { LANES(p[l]); }
static inline void v_store(float *p, vec a) { memcpy(p, a.v, sizeof a.v); }
static inline vec v_add(vec a, vec b) { LANES(a.v[l] + b.v[l]); }
static inline vec v_sub(vec a, vec b) { LANES(a.v[l] - b.v[l]); }
static inline vec v_mul(vec a, vec b) { LANES(a.v[l] * b.v[l]); }
static inline vec v_div(vec a, vec b) { LANES(a.v[l] / b.v[l]); }
static inline vec v_fma(vec a, vec b, vec c) { LANES(geodec__fma32(a.v[l], b.v[l], c.v[l])); }
static inline vec v_max(vec a, vec b) { LANES(a.v[l] > b.v[l] ? a.v[l] : b.v[l]); }
static inline vec v_min(vec a, vec b) { LANES(a.v[l] < b.v[l] ? a.v[l] : b.v[l]); }
static inline vec v_below(vec a, vec b, vec x, vec y) { LANES(a.v[l] < b.v[l] ? x.v[l] : y.v[l]); }

static inline vec v_within(vec a, int64_t lo, int64_t hi, vec b) { LANES(l >= lo && l < hi ? a.v[l] : b.v[l]); }
static inline vec v_pair(float a, float b) { LANES(l < 8 ? a : b); }
static inline vec v_load_pair(const float *p, const float *q) { LANES(l < 8 ? p[l] : q[l - 8]); }
static inline void v_store_pair(float *p, float *q, vec a)
{
    memcpy(p, a.v, 8 * sizeof *p);
    memcpy(q, a.v + 8, 8 * sizeof *q);
}

static inline float v_top(vec a)
{
    float top = a.v[0];
    for (int l = 1; l < 16; l++) top = a.v[l] > top ? a.v[l] : top;
    return top;
}

static inline vec v_pow2(vec t)
{
    vec out;
    for (int l = 0; l < 16; l++) {
        uint32_t u;
        memcpy(&u, &t.v[l], sizeof u);
        u = (u + 127u) << 23;
        memcpy(&out.v[l], &u, sizeof u);
    }
    return out;
}

static inline float sum16(vec a)
{
    for (int half = 8; half >= 1; half /= 2)
        for (int l = 0; l < half; l++) a.v[l] = a.v[l] + a.v[l + half];
    return a.v[0];
}

static inline vec v_keep(vec a) { return a; }
static inline void v_sum4(vec a, vec b, vec c, vec d, float *out, int n)
{
    out[0] = sum16(a);
    if (n > 1) out[1] = sum16(b);
    if (n > 2) out[2] = sum16(c);
    if (n > 3) out[3] = sum16(d);
}

static inline uint16_t half_at(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline vec load_f16(const uint8_t *p) { LANES(geodec_f16_to_f32(half_at(p + 2 * l))); }
static inline vec load_bf16(const uint8_t *p) { LANES(geodec_bf16_to_f32(half_at(p + 2 * l))); }
static inline vec load_i8(const uint8_t *p) { LANES((float)(int8_t)p[l]); }
static inline vec load_f32_tail(const float *p, int64_t n) { LANES(l < n ? p[l] : 0.0f); }
static inline vec load_f16_tail(const uint8_t *p, int64_t n)
{
    LANES(l < n ? geodec_f16_to_f32(half_at(p + 2 * l)) : 0.0f);
}
static inline vec load_bf16_tail(const uint8_t *p, int64_t n)
{
    LANES(l < n ? geodec_bf16_to_f32(half_at(p + 2 * l)) : 0.0f);
}
static inline vec scale_f16(const uint8_t *p) { return v_set1(geodec_f16_to_f32(half_at(p))); }

#define MAX_GROUP 1
#define TILE_ROWS(B) 1
#define ATTEND_ROWS 1
#define ATTEND_WIDE(R) 4
#define KERNELS geodec__kernels_scalar
#define KERNELS_ISA GEODEC_ISA_SCALAR
#include "kernels/kernels_body.h"
