#include "linalg/chol.h"

#include <cblas.h>
#include <lapack.h>
#include <math.h>
#include <string.h>

enum { PLAIN_MAX = 96 }; /* below this, LAPACK's call overhead exceeds the gain of blocking */

/* Left-looking, dot products in index order. */
static int64_t factor_plain(int64_t n, double *a)
{
    for (int64_t j = 0; j < n; j++) {
        double *aj = a + j * n;
        double d = aj[j];
        for (int64_t k = 0; k < j; k++) d -= aj[k] * aj[k];
        if (!(d > 0) || !isfinite(d)) return j + 1;
        const double r = sqrt(d);
        aj[j] = r;
        for (int64_t i = j + 1; i < n; i++) {
            double *ai = a + i * n;
            double s = ai[j];
            for (int64_t k = 0; k < j; k++) s -= ai[k] * aj[k];
            ai[j] = s / r;
        }
    }
    return 0;
}

static int64_t factor_lapack(int64_t n, double *a)
{
    /* OpenBLAS only compares the pivot with zero, and NaN passes that test. */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            if (!isfinite(a[i * n + j])) return i + 1;
    /* row-major lower = column-major upper */
    const char upper = 'U';
    const lapack_int order = (lapack_int)n;
    lapack_int info = 0;
    LAPACK_dpotrf(&upper, &order, a, &order, &info);
    return info == 0 ? 0 : (info < 0 ? -info : info);
}

geodec_status geodec_chol_factor(int64_t n, double *a, geodec_err *err)
{
    if (n < 0 || n > INT32_MAX) GEODEC_FAIL(GEODEC_RANGE, "Cholesky of dimension %lld", (long long)n);
    const int64_t bad = n <= PLAIN_MAX ? factor_plain(n, a) : factor_lapack(n, a);
    if (bad) {
        GEODEC_FAIL(GEODEC_SINGULAR, "matrix of dimension %lld is not positive definite (pivot %lld)", (long long)n,
                    (long long)bad);
    }
    for (int64_t i = 0; i < n; i++) memset(a + i * n + i + 1, 0, (size_t)(n - i - 1) * sizeof *a);
    return GEODEC_OK;
}

void geodec_chol_solve_lower(int64_t n, const double *l, int64_t n_rhs, double *b)
{
    if (n > PLAIN_MAX) {
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (blasint)n_rhs, (blasint)n, 1.0, l,
                    (blasint)n, b, (blasint)n);
        return;
    }
    for (int64_t r = 0; r < n_rhs; r++) {
        double *x = b + r * n;
        for (int64_t i = 0; i < n; i++) {
            double s = x[i];
            for (int64_t k = 0; k < i; k++) s -= l[i * n + k] * x[k];
            x[i] = s / l[i * n + i];
        }
    }
}

static void solve_upper(int64_t n, const double *l, int64_t n_rhs, double *b)
{
    if (n > PLAIN_MAX) {
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (blasint)n_rhs, (blasint)n, 1.0,
                    l, (blasint)n, b, (blasint)n);
        return;
    }
    for (int64_t r = 0; r < n_rhs; r++) {
        double *x = b + r * n;
        for (int64_t i = n - 1; i >= 0; i--) { /* by columns of L^T, so that rows of L are read in order */
            const double xi = x[i] / l[i * n + i];
            x[i] = xi;
            for (int64_t k = 0; k < i; k++) x[k] -= l[i * n + k] * xi;
        }
    }
}

void geodec_chol_solve(int64_t n, const double *l, int64_t n_rhs, double *b)
{
    geodec_chol_solve_lower(n, l, n_rhs, b);
    solve_upper(n, l, n_rhs, b);
}

void geodec_chol_inverse(int64_t n, const double *l, double *inverse)
{
    memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
    for (int64_t i = 0; i < n; i++) inverse[i * n + i] = 1;
    geodec_chol_solve(n, l, n, inverse);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            const double m = 0.5 * (inverse[i * n + j] + inverse[j * n + i]);
            inverse[i * n + j] = inverse[j * n + i] = m;
        }
}

double geodec_chol_logdet(int64_t n, const double *l)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += log(l[i * n + i]);
    return 2 * s;
}
