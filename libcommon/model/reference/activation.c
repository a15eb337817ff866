/* The hidden vector of a feed-forward network: y = A(gate) B(up), element by element, with A the activation and B(u) =
 * u, or A(gate) alone; and the cut of a gate before it. */
#include "reference/operators_internal.h"

#include <math.h>

static const double limit = 7, steep = 1.702; /* of the clamped one (gpt-oss) */

static void silu(double x, double *value, double *slope)
{
    const double s = 1 / (1 + exp(-x));
    *value = x * s;
    *slope = s * (1 + x * (1 - s));
}

static void gelu(double x, double *value, double *slope)
{
    static const double root = 0.79788456080286535588 /* sqrt(2 / pi) */, cubic = 0.044715;
    const double t = tanh(root * (x + cubic * x * x * x));
    *value = 0.5 * x * (1 + t);
    *slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * cubic * x * x);
}

/* x > 0: p x^2 + b x; else (exp(min(x, eps)) - 1 - x) q + b x, with p = softplus(c_0), b = c_2, q = b + softplus(c_1),
 * eps = c_3. */
static void xielu(const float *c, double x, double *value, double *slope)
{
    const double b = (double)c[2], eps = (double)c[3];
    const double p = geodec__reference_softplus((double)c[0]), q = b + geodec__reference_softplus((double)c[1]);
    if (x > 0) {
        *value = p * x * x + b * x;
        *slope = 2 * p * x + b;
    } else {
        *value = (expm1(fmin(x, eps)) - x) * q + b * x;
        *slope = ((x < eps ? exp(x) : 0) - 1) * q + b;
    }
}

/* g sigmoid(1.702 g) of g = min(x, 7) */
static void clamped(double x, double *value, double *slope)
{
    const double g = fmin(x, limit), s = 1 / (1 + exp(-steep * g));
    *value = g * s;
    *slope = x < limit ? s * (1 + steep * g * (1 - s)) : 0;
}

/* A(x) and its derivative: SiLU (Elfwing et al. 2018), the tanh form of GELU (Hendrycks and Gimpel 2016), ReLU, its
 * square (So et al. 2021), xIELU (Huang and Schlag 2025), or the clamped SwiGLU's. */
static void activate(const geodec__ref_activation *a, double x, double *value, double *slope)
{
    switch (a->kind) {
    case GEODEC_SILU:
        silu(x, value, slope);
        return;
    case GEODEC_GELU_TANH:
        gelu(x, value, slope);
        return;
    case GEODEC_RELU:
        *value = fmax(x, 0);
        *slope = x > 0;
        return;
    case GEODEC_RELU2:
        *value = fmax(x, 0) * fmax(x, 0);
        *slope = 2 * fmax(x, 0);
        return;
    case GEODEC_XIELU:
        xielu(a->constant, x, value, slope);
        return;
    case GEODEC_SWIGLU_CLAMPED:
        clamped(x, value, slope);
        return;
    }
}

/* B(u) and its derivative: u, or clamp(u, -7, 7) + 1. */
static double factor(const geodec__ref_activation *a, double u)
{
    return a->kind == GEODEC_SWIGLU_CLAMPED ? fmin(fmax(u, -limit), limit) + 1 : u;
}
static double factor_slope(const geodec__ref_activation *a, double u)
{
    return a->kind == GEODEC_SWIGLU_CLAMPED && fabs(u) >= limit ? 0 : 1;
}

void geodec__reference_gated(const geodec__ref_activation *a, int64_t n, const double *gate, const double *up,
                             double *y)
{
    for (int64_t i = 0; i < n; i++) {
        double value, slope;
        activate(a, gate[i], &value, &slope);
        y[i] = up ? value * factor(a, up[i]) : value;
    }
}

/* The derivatives go strip by strip: a strip's d y / d gate and d y / d up are computed once for all tangents. */
enum { STRIP = 256 };

static int64_t strip(const geodec__ref_activation *a, int64_t n, int64_t first, const double *gate, const double *up,
                     double *by_gate, double *by_up)
{
    const int64_t m = n - first < STRIP ? n - first : STRIP;
    for (int64_t i = 0; i < m; i++) {
        activate(a, gate[first + i], &by_up[i], &by_gate[i]);
        if (!up) continue;
        by_gate[i] *= factor(a, up[first + i]);
        by_up[i] *= factor_slope(a, up[first + i]);
    }
    return m;
}

void geodec__reference_gated_jvp(const geodec__ref_activation *a, int64_t n, const double *gate, const double *up,
                                 int64_t k, const double *dgate, const double *dup, double *dy)
{
    double by_gate[STRIP], by_up[STRIP];
    for (int64_t first = 0; first < n; first += STRIP) {
        const int64_t m = strip(a, n, first, gate, up, by_gate, by_up);
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0, at = j * n + first; i < m; i++, at++)
                dy[at] = by_gate[i] * dgate[at] + (up ? by_up[i] * dup[at] : 0);
    }
}

void geodec__reference_gated_vjp(const geodec__ref_activation *a, int64_t n, const double *gate, const double *up,
                                 int64_t k, const double *gy, double *ggate, double *gup)
{
    double by_gate[STRIP], by_up[STRIP];
    for (int64_t first = 0; first < n; first += STRIP) {
        const int64_t m = strip(a, n, first, gate, up, by_gate, by_up);
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0, at = j * n + first; i < m; i++, at++) {
                const double g = gy[at];
                ggate[at] = by_gate[i] * g;
                if (up) gup[at] = by_up[i] * g;
            }
    }
}

/* ---- cut --------------------------------------------------------------------------------------------------------- */

typedef struct moments {
    double mean, deviation, from; /* from: c */
} moments;

static moments moments_of(int64_t width, double at, const double *g)
{
    moments m = {0};
    for (int64_t i = 0; i < width; i++) m.mean += g[i] / (double)width;
    for (int64_t i = 0; i < width; i++) m.deviation += (g[i] - m.mean) * (g[i] - m.mean);
    m.deviation = sqrt(m.deviation / (double)(width - 1));
    m.from = m.mean + at * m.deviation;
    return m;
}

void geodec__reference_cut(int64_t n, int64_t width, double at, const double *g, double *y)
{
    for (int64_t t = 0; t < n; t++, g += width, y += width) {
        const moments m = moments_of(width, at, g);
        for (int64_t i = 0; i < width; i++) y[i] = fmax(g[i] - m.from, 0);
    }
}

/* d c / d g_i */
static double slope_of(int64_t width, double at, const moments *m, double g)
{
    return 1 / (double)width + (m->deviation > 0 ? at * (g - m->mean) / ((double)(width - 1) * m->deviation) : 0);
}

void geodec__reference_cut_jvp(int64_t n, int64_t width, double at, const double *g, int64_t k, const double *dg,
                               double *dy)
{
    for (int64_t t = 0; t < k * n; t++, dg += width, dy += width) {
        const double *x = g + t % n * width;
        const moments m = moments_of(width, at, x);
        double dfrom = 0;
        for (int64_t i = 0; i < width; i++) dfrom += slope_of(width, at, &m, x[i]) * dg[i];
        for (int64_t i = 0; i < width; i++) dy[i] = x[i] > m.from ? dg[i] - dfrom : 0;
    }
}

void geodec__reference_cut_vjp(int64_t n, int64_t width, double at, const double *g, int64_t k, const double *gy,
                               double *gg)
{
    for (int64_t t = 0; t < k * n; t++, gy += width, gg += width) {
        const double *x = g + t % n * width;
        const moments m = moments_of(width, at, x);
        double sum = 0;
        for (int64_t i = 0; i < width; i++) sum += x[i] > m.from ? gy[i] : 0;
        for (int64_t i = 0; i < width; i++) gg[i] = (x[i] > m.from ? gy[i] : 0) - sum * slope_of(width, at, &m, x[i]);
    }
}
