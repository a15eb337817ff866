#include "gguf/encode_internal.h"

#include <math.h>

enum { REFINE = 4 /* least-squares steps after the grid, at most; a step is kept only when it lowers the error */ };

/* Levels for one inverse scale, and their least-squares scale; returns the explained part of sum x^2. */
static float try_scale(const float *x, int n, float top, float inverse, float *scale)
{
    const geodec__v4 by = geodec__v4_set(inverse), lo = geodec__v4_set(-top), hi = geodec__v4_set(top - 1);
    geodec__v4 xq4 = {0}, qq4 = {0};
    for (int i = 0; i < n; i += 4) {
        const geodec__v4 v = geodec__v4_load(x + i), q = geodec__v4_level(v * by, lo, hi);
        xq4 += v * q;
        qq4 += q * q;
    }
    const float xq = geodec__v4_sum(xq4), qq = geodec__v4_sum(qq4);
    *scale = qq > 0 ? xq / qq : 0;
    return qq > 0 ? xq * xq / qq : 0;
}

float geodec__encode_fit_scale(const float *x, int n, int top, bool search)
{
    float extreme = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
    const float plain = extreme / (float)-top; /* the extreme maps to -top, since the negative side has one level
                                                * more */
    if (!search || geodec__inverse(plain) == 0) return plain;
    /* The extreme maps to levels from top - 1 of one sign to 1.5 beyond top, where it is clipped. */
    float best = 0, explained = -1;
    for (int sign = -1; sign <= 1; sign += 2)
        for (int k = -8; k <= 12; k++) {
            float scale;
            const float level = (float)sign * ((float)top + 0.125f * (float)k);
            const float e = try_scale(x, n, (float)top, level / extreme, &scale);
            if (e > explained) {
                explained = e;
                best = scale;
            }
        }
    for (int k = 0; k < REFINE && best != 0; k++) {
        float scale;
        const float e = try_scale(x, n, (float)top, geodec__inverse(best), &scale);
        if (!(e > explained)) break;
        explained = e;
        best = scale;
    }
    return best;
}

/* Levels for an inverse scale and offset, their least-squares a and b, and the squared error. */
static float try_affine(const float *x, int n, float top, float inverse, float offset, bool any_sign, float *a,
                        float *b)
{
    const geodec__v4 by = geodec__v4_set(inverse), shift = geodec__v4_set(offset), lo = {0}, hi = geodec__v4_set(top);
    geodec__v4 level[8], sq4 = {0}, sqq4 = {0}, sx4 = {0}, sxq4 = {0}, error = {0};
    for (int i = 0; i < n; i += 4) {
        const geodec__v4 v = geodec__v4_load(x + i), q = geodec__v4_level((v + shift) * by, lo, hi);
        level[i / 4] = q;
        sq4 += q;
        sqq4 += q * q;
        sx4 += v;
        sxq4 += v * q;
    }
    const float sq = geodec__v4_sum(sq4), sqq = geodec__v4_sum(sqq4), sx = geodec__v4_sum(sx4),
                sxq = geodec__v4_sum(sxq4), det = (float)n * sqq - sq * sq;
    *a = det > 0 ? ((float)n * sxq - sx * sq) / det : 0;
    *b = det > 0 ? (sq * sxq - sqq * sx) / det : -sx / (float)n;
    if (*b < 0 && !any_sign) {
        *b = 0;
        *a = sqq > 0 ? sxq / sqq : 0;
    }
    if (*a < 0) *a = 0;
    const geodec__v4 scale = geodec__v4_set(*a), min = geodec__v4_set(*b);
    for (int i = 0; i < n; i += 4) {
        const geodec__v4 d = scale * level[i / 4] - min - geodec__v4_load(x + i);
        error += d * d;
    }
    return geodec__v4_sum(error);
}

void geodec__encode_fit_affine(const float *x, int n, int top, bool search, bool any_sign, float *a, float *b)
{
    float lo = any_sign ? x[0] : 0, hi = x[0]; /* b >= 0: the lowest level is at most zero */
    for (int i = 0; i < n; i++) {
        if (x[i] < lo) lo = x[i];
        if (x[i] > hi) hi = x[i];
    }
    const float range = hi > lo ? hi - lo : 0;
    *a = range / (float)top;
    *b = -lo;
    if (!search || geodec__inverse(*a) == 0) return;
    float error = INFINITY;
    for (int k = -16; k <= 12; k++) {
        float scale, min;
        const float e =
            try_affine(x, n, (float)top, ((float)top + 0.125f * (float)k) / range, -lo, any_sign, &scale, &min);
        if (e < error) {
            error = e;
            *a = scale;
            *b = min;
        }
    }
    for (int k = 0; k<REFINE && * a> 0; k++) {
        float scale, min;
        const float e = try_affine(x, n, (float)top, geodec__inverse(*a), *b, any_sign, &scale, &min);
        if (!(e < error)) break;
        error = e;
        *a = scale;
        *b = min;
    }
}
