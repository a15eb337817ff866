/* The steps, over vectors of 16 floats. Included once for each instruction set after VARIANT(name) and
 * power_of_two(t), 2^n for the n in the low mantissa bits of t, and total(a), the sum of the lanes in the order of
 * recurrence.h, are defined. */
#include "base/f16.h"

#include <string.h>

enum { WIDE = GEODEC_RECURRENCE_LANES };

/* The nearest numbers of float16. */
INLINE fvec halved(fvec x)
{
    float s[WIDE];
    uint16_t h[WIDE];
    f_store(s, x);
    geodec_f32_to_f16_n(s, h, WIDE);
    for (int l = 0; l < WIDE; l++) s[l] = geodec_f16_to_f32(h[l]);
    return f_load(s);
}

/* A channel at a row: its gate and value, its strength and rates if it has them, and its key and query (or NULL). */
typedef struct input {
    float g, v, b;
    const float *a, *k, *q;
} input;

INLINE float decay(float *to, const float *from, int64_t stride, bool half, const input *x)
{
    const fvec g = f_set1(x->g), v = f_set1(x->v);
    fvec sum = f_zero();
    for (int64_t j = 0; j < stride; j += WIDE) {
        fvec s = f_add(f_mul(g, f_load(from + j)), f_mul(v, f_load(x->k + j)));
        if (half) s = halved(s);
        f_store(to + j, s);
        if (x->q) sum = f_add(sum, f_mul(s, f_load(x->q + j)));
    }
    return total(sum);
}

INLINE float delta(float *to, const float *from, int64_t stride, const input *x)
{
    const fvec g = f_set1(x->g);
    fvec sum = f_zero(), known = f_zero();
    for (int64_t j = 0; j < stride; j += WIDE) {
        const fvec s = f_mul(g, f_load(from + j));
        known = f_add(known, f_mul(s, f_load(x->k + j)));
        f_store(to + j, s);
    }
    const fvec u = f_set1(x->b * (x->v - total(known)));
    for (int64_t j = 0; j < stride; j += WIDE) {
        const fvec s = f_add(f_load(to + j), f_mul(u, f_load(x->k + j)));
        f_store(to + j, s);
        if (x->q) sum = f_add(sum, f_mul(s, f_load(x->q + j)));
    }
    return total(sum);
}

INLINE fvec exponential(fvec x)
{
    static const float coefficient[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                                        5.0000001201e-1f};
    const fvec magic = f_set1(12582912.0f); /* 1.5 2^23: the sum is rounded to an integer, which is in its low bits */
    x = f_min(f_set1(88.0f), f_max(f_set1(-87.0f), x)); /* in this order NaN is kept */
    const fvec t = f_add(f_mul(x, f_set1(1.44269504088896341f)), magic), n = f_sub(t, magic);
    const fvec r = f_add(f_sub(x, f_mul(n, f_set1(0.693359375f))), f_mul(n, f_set1(2.12194440e-4f)));
    fvec p = f_set1(1.9875691500e-4f);
    UNROLL
    for (int i = 0; i < 5; i++) p = f_add(f_mul(p, r), f_set1(coefficient[i]));
    p = f_add(f_add(f_mul(f_mul(r, r), p), r), f_set1(1.0f));
    return f_mul(p, power_of_two(t));
}

INLINE float scan(float *to, const float *from, int64_t stride, const input *x)
{
    const fvec g = f_set1(x->g), v = f_set1(x->v);
    fvec sum = f_zero();
    for (int64_t j = 0; j < stride; j += WIDE) {
        const fvec e = exponential(f_mul(g, f_load(x->a + j)));
        const fvec s = f_add(f_mul(e, f_load(from + j)), f_mul(v, f_load(x->k + j)));
        f_store(to + j, s);
        if (x->q) sum = f_add(sum, f_mul(s, f_load(x->q + j)));
    }
    return total(sum);
}

INLINE void load(const void *from, bool half, int64_t at, int64_t n, float *x)
{
    if (!half) {
        memcpy(x, (const float *)from + at, (size_t)n * sizeof *x);
        return;
    }
    for (int64_t j = 0; j < n; j++) x[j] = geodec_f16_to_f32(((const uint16_t *)from)[at + j]);
}

INLINE void store(void *to, bool half, int64_t at, int64_t n, const float *x)
{
    if (half)
        geodec_f32_to_f16_n(x, (uint16_t *)to + at, n);
    else
        memcpy((float *)to + at, x, (size_t)n * sizeof *x);
}

INLINE void run_kind(const geodec_recurrence_kind kind, const geodec_recurrence_shape *shape, const void *from,
                     void *to, const bool half, int64_t first, int64_t end, const geodec_recurrence_rows *rows,
                     float *scratch)
{
    const int64_t stride = geodec_recurrence_stride(shape->r);
    for (int64_t i = first; i < end; i++) {
        const int64_t head = i / shape->share, key = geodec_recurrence_key(shape, head) * stride;
        input x = {.a = kind == GEODEC_RECURRENCE_SCAN ? rows->a + i * stride : NULL};
        load(from, half, i * stride, stride, scratch);
        for (int64_t t = 0; t < rows->n; t++) {
            const float *before = rows->parent ? scratch + (1 + (int64_t)rows->parent[t]) * stride : scratch;
            float *after = rows->parent ? scratch + (1 + t) * stride : scratch;
            x.g = rows->g[t][head];
            x.v = rows->v[t][i];
            x.k = rows->k[t] + key;
            x.q = rows->y ? rows->q[t] + key : NULL;
            if (kind == GEODEC_RECURRENCE_DELTA) x.b = rows->b[t][head];
            const float y = kind == GEODEC_RECURRENCE_DECAY   ? decay(after, before, stride, half, &x)
                            : kind == GEODEC_RECURRENCE_DELTA ? delta(after, before, stride, &x)
                                                              : scan(after, before, stride, &x);
            if (rows->y) rows->y[t][i] = y;
        }
        if (to) store(to, half, i * stride, stride, scratch);
    }
}

static void VARIANT(run)(const geodec_recurrence_shape *shape, const void *from, void *to, bool half, int64_t first,
                         int64_t end, const geodec_recurrence_rows *rows, float *scratch)
{
    if (shape->kind == GEODEC_RECURRENCE_DELTA)
        run_kind(GEODEC_RECURRENCE_DELTA, shape, from, to, false, first, end, rows, scratch);
    else if (shape->kind == GEODEC_RECURRENCE_SCAN)
        run_kind(GEODEC_RECURRENCE_SCAN, shape, from, to, false, first, end, rows, scratch);
    else if (half)
        run_kind(GEODEC_RECURRENCE_DECAY, shape, from, to, true, first, end, rows, scratch);
    else
        run_kind(GEODEC_RECURRENCE_DECAY, shape, from, to, false, first, end, rows, scratch);
}

static void VARIANT(convolve)(const geodec_recurrence_shape *shape, const float *weight, const float *bias, int64_t n,
                              const float *const *tap, int64_t first, int64_t end, float *const *y)
{
    const int64_t taps = shape->taps, width = shape->width;
    for (int64_t t = 0; t < n; t++) {
        const float *const *x = tap + t * taps;
        float *out = y[t];
        int64_t c = first;
        for (; c + WIDE <= end; c += WIDE) {
            fvec s = f_mul(f_load(weight + c), f_load(x[0] + c));
            for (int64_t k = 1; k < taps; k++) s = f_add(s, f_mul(f_load(weight + k * width + c), f_load(x[k] + c)));
            f_store(out + c, bias ? f_add(s, f_load(bias + c)) : s);
        }
        for (; c < end; c++) {
            float s = weight[c] * x[0][c];
            for (int64_t k = 1; k < taps; k++) s += weight[k * width + c] * x[k][c];
            out[c] = bias ? s + bias[c] : s;
        }
    }
}

static const geodec__recurrence VARIANT(steps) = {.run = VARIANT(run), .convolve = VARIANT(convolve)};
