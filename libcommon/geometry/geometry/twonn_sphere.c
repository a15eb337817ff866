#include "geometry/twonn_sphere.h"

#include <math.h>

enum { STEPS = 512, HALVINGS = 48, LIMIT = 200 };

/* ln of du/dt, t = ln(s/(1-s)): s^(D/2) (1-s)^(D/2) / B(D/2, D/2). */
static double log_density(double half, double log_beta, double t)
{
    return -half * (fabs(t) + 2 * log1p(exp(-fabs(t)))) - log_beta;
}

/* E ln(r2/r1) of n >= 3 uniform points on the sphere S^dimension. */
static double expected(double dimension, int64_t n)
{
    const double half = dimension / 2, log_beta = 2 * lgamma(half) - lgamma(dimension), m = (double)(n - 1);
    const double floor = log(1e-12 / m);
    double low = -1, high = 0;
    while (log_density(half, log_beta, low) > floor) low *= 2;
    for (int i = 0; i < HALVINGS; i++) {
        const double t = (low + high) / 2;
        *(log_density(half, log_beta, t) < floor ? &low : &high) = t;
    }
    /* Below t the share is about its density over the slope of its logarithm. Simpson's rule within each step for u,
     * the trapezoidal rule, whose integrand vanishes at both ends, for the mean. */
    const double begin = low, step = -2 * begin / STEPS;
    double before = exp(log_density(half, log_beta, begin)), u = before / (half * tanh(-begin / 2)), sum = 0;
    for (int i = 0; i <= STEPS && u < 1; i++) {
        const double t = begin + i * step, far = 1 / (1 + exp(t)); /* 1 - s */
        const double after = exp(log_density(half, log_beta, t + step));
        sum += m * u * exp((m - 1) * log1p(-u)) * far;
        u += step / 6 * (before + 4 * exp(log_density(half, log_beta, t + step / 2)) + after);
        before = after;
    }
    return sum * step / 2;
}

/* The logarithm of a mean is nearly linear in that of the dimension: regula falsi, the kept end halved (Illinois). */
double geodec_twonn_sphere_dimension(double mean, int64_t n)
{
    double low = log(0.01), high = log(1e4), at = low;
    if (n < 3 || !(mean > 0)) return NAN;
    double above = log(expected(exp(low), n) / mean), below = log(expected(exp(high), n) / mean);
    if (!(above >= 0) || !(below <= 0)) return NAN;
    for (int i = 0, side = 0; i < LIMIT && high - low > 1e-12; i++) {
        const double next = above - below > 0 ? low + (high - low) * above / (above - below) : low;
        const double f = log(expected(exp(next), n) / mean);
        if (fabs(next - at) < 1e-9) return exp(next);
        at = next;
        if (f > 0) {
            low = next;
            above = f;
            if (side == 1) below /= 2;
            side = 1;
        } else {
            high = next;
            below = f;
            if (side == -1) above /= 2;
            side = -1;
        }
    }
    return exp(at);
}
