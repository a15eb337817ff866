/* Written once, compiled for each instruction set: see kernels_internal.h. KERNELS names the table. */
#include "base/unroll_internal.h"
#include "lab/harness/kernels_internal.h"

#include <string.h>

static void distances(int64_t sites, int64_t first, int64_t last, int64_t n, const double *site_t, const double *x,
                      double *d2)
{
    for (int64_t p = first; p < last; p += LANES) {
        double s[LANES] = {0};
        for (int64_t a = 0; a < n; a++) {
            const double *row = site_t + a * sites + p;
            for (int i = 0; i < LANES; i++) s[i] += (row[i] - x[a]) * (row[i] - x[a]);
        }
        memcpy(d2 + p - first, s, sizeof s);
    }
}

INLINE int is_inside(const double *restrict y, const double *restrict centre, double inner2)
{
    double t[LANES];
    for (int i = 0; i < LANES; i++) t[i] = (y[i] - centre[i]) * (y[i] - centre[i]);
    return ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7])) < inner2;
}

INLINE void acceleration(const int n, const double *restrict packed, const double *restrict v, double *restrict a)
{
    double s[LANES] = {0};
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++, packed += LANES) {
            const double c = (i == j ? -1 : -2) * v[i] * v[j];
            for (int k = 0; k < LANES; k++) s[k] += c * packed[k];
        }
    memcpy(a, s, sizeof s);
}

INLINE int64_t advance(const int n, const double *restrict packed, const double *restrict centre, double inner2,
                       double *restrict x, double *restrict v, int64_t steps, double dl)
{
    for (int64_t t = 0; t < steps; t++) {
        double y[LANES], u[4][LANES], k[4][LANES];
        for (int s = 0; s < 4; s++) {
            const double c = s == 0 ? 0 : (s == 3 ? dl : 0.5 * dl);
            for (int i = 0; i < LANES; i++) {
                u[s][i] = s == 0 ? v[i] : v[i] + c * k[s - 1][i];
                y[i] = s == 0 ? x[i] : x[i] + c * u[s - 1][i];
            }
            if (!is_inside(y, centre, inner2)) return t;
            acceleration(n, packed, u[s], k[s]);
        }
        for (int i = 0; i < LANES; i++) {
            x[i] += dl / 6 * (u[0][i] + 2 * u[1][i] + 2 * u[2][i] + u[3][i]);
            v[i] += dl / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
        }
    }
    return steps;
}

static int64_t runge_kutta(int64_t n, const double *packed, const double *centre, double inner2, double *x, double *v,
                           int64_t steps, double dl)
{
    switch (n) {
    case 6:
        return advance(6, packed, centre, inner2, x, v, steps, dl);
    case 8:
        return advance(8, packed, centre, inner2, x, v, steps, dl);
    default:
        return advance((int)n, packed, centre, inner2, x, v, steps, dl);
    }
}

const geodec__harness_kernels KERNELS = {distances, runge_kutta};
