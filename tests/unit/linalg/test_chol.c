#include "base/mem.h"
#include "base/rng.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* A random symmetric positive definite matrix B B^T + n I. */
static double *random_spd(int64_t n, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("spd", 0));
    double *b = geodec_mem_new(n * n, sizeof *b), *a = geodec_mem_new(n * n, sizeof *a);
    for (int64_t i = 0; i < n * n; i++) b[i] = geodec_rng_normal(&r);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] = geodec_blas_dot(n, b + i * n, b + j * n) + (i == j ? (double)n : 0);
    geodec_mem_free(b);
    return a;
}

/* Both the plain loops (n <= 96) and LAPACK: L L^T = A, A x = b, A A^-1 = I. */
Test(linalg, cholesky_reproduces_the_matrix_and_solves)
{
    const int64_t sizes[] = {1, 2, 5, 17, 96, 97, 150};
    for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
        const int64_t n = sizes[t];
        geodec_err err = {0};
        double *a = random_spd(n, 1 + t), *l = geodec_mem_new(n * n, sizeof *l), *p = geodec_mem_new(n * n, sizeof *p);
        memcpy(l, a, (size_t)(n * n) * sizeof *l);
        test_ok(geodec_chol_factor(n, l, &err), &err);
        geodec_blas_mul_small_t(n, l, l, p);
        cr_assert_lt(test_max_abs_diff(p, a, n * n), 1e-13 * test_max_abs(a, n * n));

        double *x = geodec_mem_new(3 * n, sizeof *x), *b = geodec_mem_new(3 * n, sizeof *b);
        for (int64_t i = 0; i < 3 * n; i++) x[i] = sin((double)i + 1);
        geodec_blas_gemm(false, false, 3, n, n, 1, x, n, a, n, 0, b, n); /* rows: A symmetric */
        geodec_chol_solve(n, l, 3, b);
        cr_assert_lt(test_max_abs_diff(x, b, 3 * n), 1e-12);

        double *inv = geodec_mem_new(n * n, sizeof *inv);
        geodec_chol_inverse(n, l, inv);
        geodec_blas_mul_small(n, a, inv, p);
        for (int64_t i = 0; i < n; i++) p[i * n + i] -= 1;
        cr_assert_lt(test_max_abs(p, n * n), 1e-12);
        geodec_mem_free(a);
        geodec_mem_free(l);
        geodec_mem_free(p);
        geodec_mem_free(x);
        geodec_mem_free(b);
        geodec_mem_free(inv);
    }
}

Test(linalg, cholesky_refuses_indefinite_and_non_finite)
{
    for (int64_t n = 2; n <= 100; n += 98) {
        double *a = geodec_mem_new(n * n, sizeof *a);
        for (int64_t i = 0; i < n; i++) a[i * n + i] = 1;
        a[n * n - 1] = -1e-3;
        cr_assert_eq(geodec_chol_factor(n, a, NULL), GEODEC_SINGULAR);
        for (int64_t i = 0; i < n; i++) a[i * n + i] = 1;
        a[(n - 1) * n] = NAN;
        cr_assert_eq(geodec_chol_factor(n, a, NULL), GEODEC_SINGULAR);
        geodec_mem_free(a);
    }
}

Test(linalg, log_determinant)
{
    double a[4] = {4, 0, 2, 3}; /* lower triangle of {{4,2},{2,3}}: determinant 8 */
    test_ok(geodec_chol_factor(2, a, NULL), NULL);
    cr_assert_lt(fabs(geodec_chol_logdet(2, a) - log(8)), 1e-15);
}

Test(linalg, products_against_loops)
{
    enum { M = 7, N = 5, K = 9 };
    double a[M * K], at[K * M], b[K * N], bt[N * K], want[M * N], c[M * N];
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) at[k * M + i] = a[i * K + k] = cos(i * 3.1 + k);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) bt[j * K + k] = b[k * N + j] = sin(j * 1.7 + k * k);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            want[i * N + j] = 0;
            for (int k = 0; k < K; k++) want[i * N + j] += 2 * a[i * K + k] * b[k * N + j];
        }
    for (int t = 0; t < 4; t++) {
        const bool ta = t & 1, tb = t & 2;
        for (int i = 0; i < M * N; i++) c[i] = NAN; /* beta = 0 must not read C */
        geodec_blas_gemm(ta, tb, M, N, K, 2, ta ? at : a, ta ? M : K, tb ? bt : b, tb ? K : N, 0, c, N);
        cr_assert_lt(test_max_abs_diff(c, want, M * N), 1e-13);
    }
    double s[N * N];
    geodec_blas_syrk(K, N, 1, b, N, 0, s, N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double w = 0;
            for (int k = 0; k < K; k++) w += b[k * N + i] * b[k * N + j];
            cr_assert_lt(fabs(s[i * N + j] - w), 1e-13);
            cr_assert_eq(s[i * N + j], s[j * N + i]);
        }
}
