#include "geometry/jacobi.h"

int64_t geodec_jacobi_scratch(int64_t n) { return n * n * n * (n + 1) + 2 * n * n; }

geodec_status geodec_jacobi_generator(const geodec_space *s, const double *x, const double *v, double *a,
                                      double *scratch, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, m = 2 * n;
    double *gv = scratch, *dgvv = gv + n * n;
    GEODEC_TRY(geodec_space_variation(s, x, v, gv, dgvv, dgvv + n * n, err));
    for (int64_t i = 0; i < m * m; i++) a[i] = 0;
    for (int64_t k = 0; k < n; k++) a[k * m + n + k] = 1;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t j = 0; j < n; j++) {
            a[(n + k) * m + j] = -dgvv[k * n + j];
            a[(n + k) * m + n + j] = -2 * gv[k * n + j];
        }
    }
done:
    return st;
}
