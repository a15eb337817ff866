#include "geometry/twonn_sphere.h"

#include <math.h>

enum { STEPS = 2048, HALVINGS = 48 };

/* ln of du/dt, t = ln(s/(1-s)): s^(D/2) (1-s)^(D/2) / B(D/2, D/2). */
static double log_density(double half, double log_beta, double t)
{
    return -half * (fabs(t) + 2 * log1p(exp(-fabs(t)))) - log_beta;
}

double geodec_twonn_sphere_mean(double dimension, int64_t n)
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
    double u = exp(log_density(half, log_beta, begin)) / (half * tanh(-begin / 2)), sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double t = begin + i * step, far = 1 / (1 + exp(t)); /* 1 - s */
        if (u >= 1) break;
        sum += m * u * exp((m - 1) * log1p(-u)) * far;
        u += step / 6 *
             (exp(log_density(half, log_beta, t)) + 4 * exp(log_density(half, log_beta, t + step / 2)) +
              exp(log_density(half, log_beta, t + step)));
    }
    return sum * step / 2;
}

double geodec_twonn_sphere_dimension(double mean, int64_t n)
{
    double low = log(0.01), high = log(1e4);
    if (n < 3 || !(mean <= geodec_twonn_sphere_mean(exp(low), n)) || !(mean >= geodec_twonn_sphere_mean(exp(high), n)))
        return NAN;
    for (int i = 0; i < HALVINGS; i++) { /* the mean falls with the dimension */
        const double d = (low + high) / 2;
        *(geodec_twonn_sphere_mean(exp(d), n) > mean ? &low : &high) = d;
    }
    return exp((low + high) / 2);
}
