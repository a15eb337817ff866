#include "geometry/jacobi.h"

enum { TOGETHER = GEODEC_SPACE_TOGETHER };

int64_t geodec_jacobi_scratch(int64_t n) { return n * n * n * (n + 1) + 2 * TOGETHER * n * n; }

geodec_status geodec_jacobi_generators(const geodec_space *s, int64_t points, const double *x, const double *v,
                                       double *a, double *scratch, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, nn = n * n, m = 2 * n;
    double *gv = scratch, *dgvv = gv + TOGETHER * nn, *work = dgvv + TOGETHER * nn;
    for (int64_t first = 0; first < points; first += TOGETHER) {
        const int64_t now = points - first < TOGETHER ? points - first : TOGETHER;
        GEODEC_TRY(geodec_space_variation(s, now, x + first * n, v + first * n, gv, dgvv, work, err));
        for (int64_t p = 0; p < now; p++) {
            double *to = a + (first + p) * m * m;
            for (int64_t i = 0; i < n * m; i++) to[i] = 0;
            for (int64_t k = 0; k < n; k++) to[k * m + n + k] = 1;
            for (int64_t k = 0; k < n; k++) {
                for (int64_t j = 0; j < n; j++) {
                    to[(n + k) * m + j] = -dgvv[p * nn + k * n + j];
                    to[(n + k) * m + n + j] = -2 * gv[p * nn + k * n + j];
                }
            }
        }
    }
done:
    return st;
}
