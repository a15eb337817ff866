/* Gated activation: SiLU (Elfwing et al. 2018) or the tanh form of GELU (Hendrycks and Gimpel 2016), times up. */
#include "reference/ops.h"

#include <math.h>

/* act(x) and its derivative. */
static void activate(geodec_activation act, double x, double *value, double *slope)
{
    if (act == GEODEC_SILU) {
        const double s = 1 / (1 + exp(-x));
        *value = x * s;
        *slope = s * (1 + x * (1 - s));
    } else {
        static const double root = 0.79788456080286535588 /* sqrt(2 / pi) */, cubic = 0.044715;
        const double t = tanh(root * (x + cubic * x * x * x));
        *value = 0.5 * x * (1 + t);
        *slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * cubic * x * x);
    }
}

void geodec__ref_gated(geodec_activation act, int64_t n, const double *gate, const double *up, double *y)
{
    for (int64_t i = 0; i < n; i++) {
        double value, slope;
        activate(act, gate[i], &value, &slope);
        y[i] = value * up[i];
    }
}

void geodec__ref_gated_jvp(geodec_activation act, int64_t n, const double *gate, const double *up, int64_t k,
                           const double *dgate, const double *dup, double *dy)
{
    for (int64_t i = 0; i < n; i++) {
        double value, slope;
        activate(act, gate[i], &value, &slope);
        for (int64_t j = 0; j < k; j++) dy[j * n + i] = slope * up[i] * dgate[j * n + i] + value * dup[j * n + i];
    }
}

void geodec__ref_gated_vjp(geodec_activation act, int64_t n, const double *gate, const double *up, int64_t k,
                           const double *gy, double *ggate, double *gup)
{
    for (int64_t i = 0; i < n; i++) {
        double value, slope;
        activate(act, gate[i], &value, &slope);
        for (int64_t j = 0; j < k; j++) {
            const double g = gy[j * n + i];
            ggate[j * n + i] = slope * up[i] * g;
            gup[j * n + i] = value * g;
        }
    }
}
