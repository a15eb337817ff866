#include "base/mem.h"
#include "chain/metric.h"
#include "geometry/pca.h"
#include "linalg/chol.h"

#include <string.h>

geodec_status geodec_metric_constant(int64_t points, int64_t n, const double *x, bool covariance, geodec_pool *pool,
                                     double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca_moments moments = {0};
    double *g = NULL, *cov = NULL;
    GEODEC_NEW(g, points * n * n);
    if (covariance) {
        GEODEC_NEW(cov, n * n);
        GEODEC_TRY(geodec_pca_moments_init(&moments, n, x, err));
        GEODEC_TRY(geodec_pca_moments_add(&moments, points, x, pool, err));
        GEODEC_TRY(geodec_pca_moments_result(&moments, NULL, cov, err));
        GEODEC_TRY_MSG(geodec_chol_factor(n, cov, err), "covariance of all points");
        geodec_chol_inverse(n, cov, g);
    } else {
        for (int64_t i = 0; i < n; i++) g[i * n + i] = 1;
    }
    for (int64_t p = 1; p < points; p++) memcpy(g + p * n * n, g, (size_t)(n * n) * sizeof *g);
    *out = g;
    g = NULL;
done:
    geodec_pca_moments_clear(&moments);
    geodec_mem_free(g);
    geodec_mem_free(cov);
    return st;
}
