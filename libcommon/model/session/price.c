#include "session/price.h"

#include <math.h>

static const double PARTS[3] = {0.2, 0.35, 0.45}; /* of a pass of one row, before any fit: base, row, experts */
static const double PRIOR = 4;                    /* weight of these parts, in passes */
static const double DECAY = 0.99;                 /* weight of a pass after one more: about the last hundred count */
static const double OUTLIER = 3; /* a time counts as at most this factor above or below the expected one */

void geodec_price_begin(geodec_price_fit *f, double row_experts) { *f = (geodec_price_fit){.unit = row_experts}; }

double geodec_price_pass(const geodec_price_fit *f, int32_t n, double experts)
{
    return f->base + f->row * n + f->expert * experts;
}

/* Solves a x = b, with a symmetric and positive definite. */
static void solve(double a[3][3], double b[3], double *x)
{
    for (int k = 0; k < 3; k++)
        for (int i = k + 1; i < 3; i++) {
            const double factor = a[i][k] / a[k][k];
            for (int j = k; j < 3; j++) a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    for (int k = 2; k >= 0; k--) {
        x[k] = b[k];
        for (int j = k + 1; j < 3; j++) x[k] -= a[k][j] * x[j];
        x[k] /= a[k][k];
    }
}

/* Least squares with the first parts as further observations. */
static void fit(geodec_price_fit *f)
{
    double a[3][3], b[3], x[3];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) a[i][j] = f->xx[i][j] + (i == j ? PRIOR : 0);
        b[i] = f->xt[i] + PRIOR * f->first[i];
    }
    solve(a, b, x);
    f->base = fmax(x[0], 0);
    f->row = fmax(x[1], 0);
    f->expert = fmax(x[2], 0) / f->unit;
}

void geodec_price_observe(geodec_price_fit *f, int32_t n, double experts, double seconds)
{
    if (!(seconds > 0) || n < 1 || !(f->unit > 0)) return;
    const double x[3] = {1, n, experts / f->unit};
    if (f->seen++ == 0) {
        const double parts = PARTS[0] + PARTS[1] * x[1] + PARTS[2] * x[2];
        for (int i = 0; i < 3; i++) f->first[i] = PARTS[i] * seconds / parts;
    } else {
        const double due = geodec_price_pass(f, n, experts);
        seconds = fmin(fmax(seconds, due / OUTLIER), due * OUTLIER);
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) f->xx[i][j] = DECAY * f->xx[i][j] + x[i] * x[j];
        f->xt[i] = DECAY * f->xt[i] + x[i] * seconds;
    }
    fit(f);
}

void geodec_price_add_row(int32_t n, const float *p, const uint8_t *resident, float *unused, double *distinct,
                          double *missing)
{
    for (int32_t e = 0; e < n; e++) {
        const double first = (double)unused[e] * (double)p[e];
        *distinct += first;
        if (resident && !resident[e]) *missing += first;
        unused[e] *= 1 - p[e];
    }
}
