/* Cholesky factorisation of symmetric positive definite matrices, row-major float64. */
#ifndef GEODEC_LINALG_CHOL_H
#define GEODEC_LINALG_CHOL_H

#include "base/err.h"

#include <stdint.h>

/* A = L L^T. Reads the lower triangle of a [n][n] and leaves L there, the upper triangle zero.
 * GEODEC_SINGULAR when A is not positive definite to working precision or not finite (a is then undefined). In place:
 * the one exception to "outputs on success only". n^3/3 flops; plain loops up to n = 96, LAPACK dpotrf above. */
geodec_status geodec_chol_factor(int64_t n, double *a, geodec_err *err) GEODEC_MUST_USE;
/* Solves A x = b for n_rhs right-hand sides, each one row of b [n_rhs][n], in place, with L from geodec_chol_factor. */
void geodec_chol_solve(int64_t n, const double *l, int64_t n_rhs, double *b);
/* L y = b only (the whitening half): |y|^2 = b^T A^-1 b. Rows of b [n_rhs][n], in place. */
void geodec_chol_solve_lower(int64_t n, const double *l, int64_t n_rhs, double *b);
/* A^-1 [n][n], exactly symmetric. */
void geodec_chol_inverse(int64_t n, const double *l, double *inverse);
/* ln det A = 2 sum ln L_ii. */
double geodec_chol_logdet(int64_t n, const double *l);

#endif
