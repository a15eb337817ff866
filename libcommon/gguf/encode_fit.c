#include "gguf/encode_internal.h"

#include <math.h>

enum { REFINE = 4 /* least-squares steps after the grid, at most: each is kept only when it lowers the error */ };

/* Levels under one inverse scale, and the least-squares scale for them; returns how much of sum x^2 it explains. */
static float try_scale(const float *x, int n, float top, float inverse, float *scale)
{
    float xq = 0, qq = 0;
    for (int i = 0; i < n; i++) {
        const float q = geodec__level(x[i] * inverse, -top, top - 1);
        xq += x[i] * q;
        qq += q * q;
    }
    *scale = qq > 0 ? xq / qq : 0;
    return qq > 0 ? xq * xq / qq : 0;
}

float geodec__fit_scale(const float *x, int n, int top, bool search)
{
    float extreme = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
    const float plain = extreme / (float)-top; /* the extreme goes to -top, where there is one level more */
    if (!search || geodec__inverse(plain) == 0) return plain;
    /* The extreme at level top - 1 of one sign to a level and a half beyond top, where it is clipped. */
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

/* Levels under inverse scale and offset, the least-squares a and b for them, and their squared error. */
static float try_affine(const float *x, int n, float top, float inverse, float offset, bool any_sign, float *a,
                        float *b)
{
    float level[32], sq = 0, sqq = 0, sx = 0, sxq = 0;
    for (int i = 0; i < n; i++) {
        const float q = geodec__level((x[i] + offset) * inverse, 0, top);
        level[i] = q;
        sq += q;
        sqq += q * q;
        sx += x[i];
        sxq += x[i] * q;
    }
    const float det = (float)n * sqq - sq * sq;
    *a = det > 0 ? ((float)n * sxq - sx * sq) / det : 0;
    *b = det > 0 ? (sq * sxq - sqq * sx) / det : -sx / (float)n;
    if (*b < 0 && !any_sign) {
        *b = 0;
        *a = sqq > 0 ? sxq / sqq : 0;
    }
    if (*a < 0) *a = 0;
    float error = 0;
    for (int i = 0; i < n; i++) {
        const float d = *a * level[i] - *b - x[i];
        error += d * d;
    }
    return error;
}

void geodec__fit_affine(const float *x, int n, int top, bool search, bool any_sign, float *a, float *b)
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
