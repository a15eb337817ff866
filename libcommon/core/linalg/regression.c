#include "linalg/regression.h"

#include "base/mem.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

geodec_status geodec_regression_fit(int64_t rows, int64_t width, int64_t n, const double *z, const double *y,
                                    double ridge, double *map, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL, trace = 0;
    if (rows < 1 || width < 1 || n < 1 || !(ridge >= 0) || !isfinite(ridge))
        GEODEC_THROW(GEODEC_RANGE, "regression of %lld rows, %lld on %lld columns, ridge %g", (long long)rows,
                     (long long)n, (long long)width, ridge);
    GEODEC_NEW(block, (rows + width + n + 1) * width + (rows + 1) * n);
    double *zc = block, *yc = zc + rows * width, *cov = yc + rows * n, *cross = cov + width * width,
           *zm = cross + n * width, *ym = zm + width;
    geodec_stats_centre(rows, width, z, zm, zc);
    geodec_stats_centre(rows, n, y, ym, yc);
    geodec_blas_syrk(rows, width, 1 / (double)rows, zc, width, 0, cov, width);
    geodec_blas_gemm(true, false, n, width, rows, 1 / (double)rows, yc, n, zc, width, 0, cross, width);
    for (int64_t j = 0; j < width; j++) trace += cov[j * width + j];
    for (int64_t j = 0; j < width; j++) cov[j * width + j] += ridge * trace / (double)width;
    if (trace > 0) {
        GEODEC_TRY(geodec_chol_factor(width, cov, err));
        geodec_chol_solve(width, cov, n, cross);
    } else
        memset(cross, 0, (size_t)(n * width) * sizeof *cross);
    for (int64_t a = 0; a < n; a++) {
        map[a] = ym[a] - geodec_blas_dot(width, cross + a * width, zm);
        for (int64_t j = 0; j < width; j++) map[(j + 1) * n + a] = cross[a * width + j];
    }
done:
    geodec_mem_free(block);
    return st;
}

void geodec_regression_at(int64_t width, int64_t n, const double *map, const double *z, double *y)
{
    for (int64_t a = 0; a < n; a++) y[a] = map[a];
    for (int64_t j = 0; j < width; j++)
        for (int64_t a = 0; a < n; a++) y[a] += z[j] * map[(j + 1) * n + a];
}
