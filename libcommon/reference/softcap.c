#include "reference/ops_internal.h"

#include <math.h>

void geodec__reference_softcap(double cap, int64_t n, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = cap * tanh(x[i] / cap);
}

void geodec__reference_softcap_derivative(double cap, int64_t n, const double *y, int64_t k, const double *dx,
                                          double *dy)
{
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < n; i++) dy[j * n + i] = (1 - y[i] / cap * (y[i] / cap)) * dx[j * n + i];
}
