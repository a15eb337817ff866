/* Matrix products over CBLAS: row-major float64 (and float32) with int64_t sizes. BLAS runs on one thread
 * (geodec_linalg_init); split work into blocks of fixed size and run those on a pool.
 *
 * The last bits of an element may depend on the shape of the product, because BLAS kernels treat edges differently.
 * Code that promises the same bytes for any thread count must use fixed shapes. */
#ifndef GEODEC_LINALG_BLAS_H
#define GEODEC_LINALG_BLAS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* C = alpha op(A) op(B) + beta C with op(A) [m][k], op(B) [k][n], C [m][n]; ld* = elements from one stored row to the
 * next. With beta = 0, C may hold anything. Sizes must lie in 0..INT32_MAX (a programming error otherwise); zero sizes
 * are allowed. C must not overlap A or B. */
void geodec_blas_gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                      int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
void geodec_blas_gemm_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

/* y += x A with x [m], A [m][n], y [n]. */
void geodec_blas_gemv_f32(int64_t m, int64_t n, const float *x, const float *a, float *y);

/* C = alpha A^T A + beta C with A [m][n], C [n][n]; both triangles are written (the lower is a copy of the upper). */
void geodec_blas_syrk(int64_t m, int64_t n, double alpha, const double *a, int64_t lda, double beta, double *c,
                      int64_t ldc);

/* C = A B for small dense square matrices [n][n], in a fixed order of summation (plain loops; no call overhead). */
void geodec_blas_mul_small(int64_t n, const double *a, const double *b, double *c);
/* C = A B^T likewise. */
void geodec_blas_mul_small_t(int64_t n, const double *a, const double *b, double *c);
/* sum_i a[i] b[i], summed in index order. */
double geodec_blas_dot(int64_t n, const double *a, const double *b);

#endif
