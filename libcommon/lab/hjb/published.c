#include "lab/hjb/published.h"

#include "base/mem.h"
#include "base/vec_internal.h"

geodec_status geodec_hjb_published(const geodec_harness_manifold *m, int64_t nodes, const double *xs, double *total,
                                   double *kinetic, double *curvature, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, n4 = n * n * n * n;
    double *riem = NULL, d[GEODEC_PUBLISHED_MAX_N], d2[GEODEC_PUBLISHED_MAX_N], r[GEODEC_PUBLISHED_MAX_N],
           j[GEODEC_PUBLISHED_MAX_N];
    if (nodes < 3) GEODEC_THROW(GEODEC_RANGE, "a residual needs 3 nodes, not %lld", (long long)nodes);
    GEODEC_NEW(riem, 2 * n4);
    for (int64_t l = 1; l + 1 < nodes; l++) {
        const double *s = xs + l * n;
        for (int64_t i = 0; i < n; i++) {
            d[i] = s[n + i] - s[i];
            d2[i] = s[n + i] - 2 * s[i] + s[i - n];
        }
        geodec_harness_riemann(m, s, 5e-3, riem, riem + n4);
        for (int64_t a = 0; a < n; a++) {
            r[a] = 0;
            for (int64_t q = 0; q < n; q++) { /* K^a_q = R^a_iql v^i v^l first, as the harness does */
                double k = 0;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t c = 0; c < n; c++) k += riem[((a * n + i) * n + q) * n + c] * d[i] * d[c];
                r[a] += k * d[q];
            }
            j[a] = d2[a] + r[a];
        }
        total[l - 1] = geodec__dot(n, j, j);
        kinetic[l - 1] = geodec__dot(n, d2, d2);
        curvature[l - 1] = geodec__dot(n, r, r);
    }
done:
    geodec_mem_free(riem);
    return st;
}
