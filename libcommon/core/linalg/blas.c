#include "linalg/blas.h"

#include <cblas.h>

void geodec_blas_gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                      int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
    if (m == 0 || n == 0) return;
    if (k == 0) { /* CBLAS rejects the leading dimensions of empty operands */
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
        return;
    }
    cblas_dgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans, (blasint)m,
                (blasint)n, (blasint)k, alpha, a, (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}

void geodec_blas_gemm_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
        return;
    }
    cblas_sgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans, (blasint)m,
                (blasint)n, (blasint)k, alpha, a, (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}

void geodec_blas_gemv_f32(int64_t m, int64_t n, const float *x, const float *a, float *y)
{
    if (m == 0 || n == 0) return;
    cblas_sgemv(CblasRowMajor, CblasTrans, (blasint)m, (blasint)n, 1, a, (blasint)n, x, 1, 1, y, 1);
}

void geodec_blas_syrk(int64_t m, int64_t n, double alpha, const double *a, int64_t lda, double beta, double *c,
                      int64_t ldc)
{
    if (n == 0) return;
    if (m == 0) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i; j < n; j++) c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
    } else {
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (blasint)n, (blasint)m, alpha, a, (blasint)lda, beta, c,
                    (blasint)ldc);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) c[j * ldc + i] = c[i * ldc + j];
}

void geodec_blas_mul_small(int64_t n, const double *a, const double *b, double *c)
{
    for (int64_t i = 0; i < n; i++) {
        double *ci = c + i * n;
        for (int64_t j = 0; j < n; j++) ci[j] = a[i * n] * b[j];
        for (int64_t k = 1; k < n; k++) {
            const double aik = a[i * n + k], *bk = b + k * n;
            for (int64_t j = 0; j < n; j++) ci[j] += aik * bk[j];
        }
    }
}

void geodec_blas_mul_small_t(int64_t n, const double *a, const double *b, double *c)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) c[i * n + j] = geodec_blas_dot(n, a + i * n, b + j * n);
}

double geodec_blas_dot(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
