#include "drafters/recurrent.h"

#include "base/mem.h"
#include "linalg/blas.h"

#include <math.h>
#include <string.h>

enum { LANES = 8 };

void geodec_recurrent_clear(geodec_recurrent *r)
{
    GEODEC_FREE(r->token_of, r->class_of, r->weight);
    *r = (geodec_recurrent){0};
}

int64_t geodec_recurrent_count(const geodec_recurrent *r)
{
    const int64_t h = r->width, c = r->classes;
    return h * (1 + GEODEC_RECURRENT_PARTS * r->d + GEODEC_RECURRENT_BACK * (c + 1) + h + 1 + h + c) + c;
}

geodec_recurrent_arrays geodec_recurrent_parts(const geodec_recurrent *r)
{
    geodec_recurrent_arrays p;
    const int64_t h = r->width;
    p.start = r->weight;
    p.input = p.start + h;
    p.token = p.input + GEODEC_RECURRENT_PARTS * r->d * h;
    p.hidden = p.token + GEODEC_RECURRENT_BACK * (r->classes + 1) * h;
    p.bias = p.hidden + h * h;
    p.carry = p.bias + h;
    p.head = p.carry + h * h;
    p.prior = p.head + h * r->classes;
    return p;
}

void geodec_recurrent_advance(int64_t d, const float *h, bool first, float *f)
{
    double square = 0;
    for (int64_t i = 0; i < d; i++) square += (double)h[i] * (double)h[i];
    const float factor = (float)(1 / sqrt(square / (double)d + 1e-5));
    for (int64_t i = 0; i < d; i++) {
        const float s = h[i] * factor;
        f[i] = s;
        f[d + i] = first ? s : 0.5F * f[d + i] + 0.5F * s;
        f[2 * d + i] = first ? s : 0.9F * f[2 * d + i] + 0.1F * s;
    }
}

void geodec_recurrent_start(const geodec_recurrent *r, const float *f, float *c)
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    memcpy(c, w.start, (size_t)r->width * sizeof *c);
    geodec_blas_gemv_f32(GEODEC_RECURRENT_PARTS * r->d, r->width, f, w.input, c);
}

void geodec_recurrent_step(const geodec_recurrent *r, float *c, const int32_t x[GEODEC_RECURRENT_BACK], float *h)
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    for (int64_t b = 0; b < GEODEC_RECURRENT_BACK; b++) {
        const int64_t class = x[b] < 0 || x[b] >= r->vocab ? r->classes : r->class_of[x[b]];
        const float *t = w.token + (b * (r->classes + 1) + class) * r->width;
        for (int64_t i = 0; i < r->width; i++) c[i] += t[i];
    }
    memcpy(h, w.bias, (size_t)r->width * sizeof *h);
    for (int64_t i = 0; i < r->width; i++) c[i] = c[i] > 0 ? c[i] : 0;
    geodec_blas_gemv_f32(r->width, r->width, c, w.hidden, h);
    for (int64_t i = 0; i < r->width; i++) h[i] = c[i] + (h[i] > 0 ? h[i] : 0);
}

void geodec_recurrent_probabilities(const geodec_recurrent *r, const float *h, float *p)
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    memcpy(p, w.prior, (size_t)r->classes * sizeof *p);
    geodec_blas_gemv_f32(r->width, r->classes, h, w.head, p);
    geodec_recurrent_softmax(r->classes, p);
}

void geodec_recurrent_carry(const geodec_recurrent *r, const float *h, float *c)
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    memset(c, 0, (size_t)r->width * sizeof *c);
    geodec_blas_gemv_f32(r->width, r->width, h, w.carry, c);
}

/* exp(x) for x <= 0, to 2e-7: 2^i e^f with |f| <= log(2)/2. The compiler vectorises a loop over it, but not over a
 * call. */
static inline float exp_of(float x)
{
    const float y = (x > -87 ? x : -87) * 1.44269504F;
    const int32_t i = (int32_t)(y - 0.5F);
    const float f = (y - (float)i) * 0.69314718F;
    const float e =
        1 + f * (1 + f * (0.5F + f * (0.16666667F + f * (0.041666667F + f * (0.0083333333F + f * 0.0013888889F)))));
    union {
        uint32_t bits;
        float value;
    } scale = {.bits = (uint32_t)(i + 127) << 23};
    return e * scale.value;
}

void geodec_recurrent_softmax(int64_t n, float *x)
{
    float top = x[0], part[LANES] = {0}, sum = 0;
    for (int64_t i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < n; i++) x[i] = exp_of(x[i] - top);
    for (int64_t i = 0; i + LANES <= n; i += LANES)
        for (int64_t l = 0; l < LANES; l++) part[l] += x[i + l];
    for (int64_t i = n / LANES * LANES; i < n; i++) part[0] += x[i];
    for (int64_t l = 0; l < LANES; l++) sum += part[l];
    const float factor = 1 / sum;
    for (int64_t i = 0; i < n; i++) x[i] *= factor;
}
