/* Gated activation: SiLU (Elfwing et al. 2018) or the tanh form of GELU (Hendrycks and Gimpel 2016), times up. */
#include "reference/ops_internal.h"

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

void geodec__reference_gated(geodec_activation act, int64_t n, const double *gate, const double *up, double *y)
{
    for (int64_t i = 0; i < n; i++) {
        double value, slope;
        activate(act, gate[i], &value, &slope);
        y[i] = value * up[i];
    }
}

/* The derivatives go strip by strip: act and its slope are computed once for all tangents. */
enum { STRIP = 256 };

static int64_t strip(geodec_activation act, int64_t n, int64_t first, const double *gate, double *value, double *slope)
{
    const int64_t m = n - first < STRIP ? n - first : STRIP;
    for (int64_t i = 0; i < m; i++) activate(act, gate[first + i], &value[i], &slope[i]);
    return m;
}

void geodec__reference_gated_jvp(geodec_activation act, int64_t n, const double *gate, const double *up, int64_t k,
                                 const double *dgate, const double *dup, double *dy)
{
    double value[STRIP], slope[STRIP];
    for (int64_t first = 0; first < n; first += STRIP) {
        const int64_t m = strip(act, n, first, gate, value, slope);
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0, at = j * n + first; i < m; i++, at++)
                dy[at] = slope[i] * up[first + i] * dgate[at] + value[i] * dup[at];
    }
}

void geodec__reference_gated_vjp(geodec_activation act, int64_t n, const double *gate, const double *up, int64_t k,
                                 const double *gy, double *ggate, double *gup)
{
    double value[STRIP], slope[STRIP];
    for (int64_t first = 0; first < n; first += STRIP) {
        const int64_t m = strip(act, n, first, gate, value, slope);
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0, at = j * n + first; i < m; i++, at++) {
                const double g = gy[at];
                ggate[at] = slope[i] * up[first + i] * g;
                gup[at] = value[i] * g;
            }
    }
}
