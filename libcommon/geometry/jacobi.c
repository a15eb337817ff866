#include "geometry/jacobi.h"

int64_t geodec_jacobi_scratch(int64_t n) { return n * n * n * (n + 1); }

geodec_status geodec_jacobi_generator(const geodec_space *s, const double *x, const double *v, double *a,
                                      double *scratch, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, n3 = n * n * n, m = 2 * n;
    double *gamma = scratch, *dgamma = scratch + n3;
    GEODEC_TRY(s->at(s, x, NULL, NULL, gamma, err));
    GEODEC_TRY(geodec_space_dgamma(s, x, dgamma, err));
    for (int64_t i = 0; i < m * m; i++) a[i] = 0;
    for (int64_t k = 0; k < n; k++) a[k * m + n + k] = 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const double *row = gamma + (i * n + j) * n;
            for (int64_t k = 0; k < n; k++) a[(n + k) * m + n + j] -= 2 * v[i] * row[k];
        }
    }
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++) { /* symmetric in i, j */
                const double w = (i == j ? 1 : 2) * v[i] * v[j];
                const double *row = dgamma + c * n3 + (i * n + j) * n;
                for (int64_t k = 0; k < n; k++) a[(n + k) * m + c] -= w * row[k];
            }
        }
    }
done:
    return st;
}
