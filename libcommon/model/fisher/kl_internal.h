/* Internal: the divergence of a distribution from logits. */
#ifndef GEODEC_LAB_HARNESS_KL_INTERNAL_H
#define GEODEC_LAB_HARNESS_KL_INTERNAL_H

#include <math.h>
#include <stdint.h>

/* KL(p || softmax(y)) in nats; p, y [v]. May be below zero by rounding. */
static inline double geodec__kl(int64_t v, const double *p, const double *y)
{
    double most = y[0], sum = 0, kl = 0;
    for (int64_t i = 1; i < v; i++) most = y[i] > most ? y[i] : most;
    for (int64_t i = 0; i < v; i++) sum += exp(y[i] - most);
    const double lse = most + log(sum);
    for (int64_t i = 0; i < v; i++)
        if (p[i] > 0) kl += p[i] * (log(p[i]) - (y[i] - lse));
    return kl;
}

#endif
