/* RMS normalisation (Zhang and Sennrich 2019). */
#include "reference/ops_internal.h"

#include <math.h>

static double inverse_rms(int64_t d, double eps, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < d; i++) sum += x[i] * x[i];
    return 1 / sqrt(sum / (double)d + eps);
}

void geodec__reference_norm(int64_t n, int64_t d, double eps, const float *gain, const double *x, double *y)
{
    for (int64_t t = 0; t < n; t++, x += d, y += d) {
        const double r = inverse_rms(d, eps, x);
        for (int64_t i = 0; i < d; i++) y[i] = x[i] * r * (double)gain[i];
    }
}

void geodec__reference_norm_jvp(int64_t n, int64_t d, double eps, const float *gain, const double *x, int64_t k,
                                const double *dx, double *dy)
{
    for (int64_t t = 0; t < n; t++, x += d) {
        const double r = inverse_rms(d, eps, x);
        for (int64_t j = 0; j < k; j++) {
            const double *in = dx + (j * n + t) * d;
            double *out = dy + (j * n + t) * d, dot = 0;
            for (int64_t i = 0; i < d; i++) dot += x[i] * in[i];
            const double along = r * r * r * dot / (double)d;
            for (int64_t i = 0; i < d; i++) out[i] = (double)gain[i] * (r * in[i] - along * x[i]);
        }
    }
}

void geodec__reference_norm_vjp(int64_t n, int64_t d, double eps, const float *gain, const double *x, int64_t k,
                                const double *gy, double *gx)
{
    for (int64_t t = 0; t < n; t++, x += d) {
        const double r = inverse_rms(d, eps, x);
        for (int64_t j = 0; j < k; j++) {
            const double *in = gy + (j * n + t) * d;
            double *out = gx + (j * n + t) * d, dot = 0;
            for (int64_t i = 0; i < d; i++) dot += x[i] * (double)gain[i] * in[i];
            const double along = r * r * r * dot / (double)d;
            for (int64_t i = 0; i < d; i++) out[i] = r * (double)gain[i] * in[i] - along * x[i];
        }
    }
}
