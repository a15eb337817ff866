/* Matrix exponentials and logarithms, row-major float64. */
#ifndef GEODEC_LINALG_EXPM_H
#define GEODEC_LINALG_EXPM_H

#include "base/err.h"

#include <stdint.h>

/* exp(A) of a general matrix by scaling and squaring: up to n = 64 with polynomials of degree 2..24 in one to five
 * products (Sastre, Ibanez, Defez, Appl. Math. Comput. 340 (2019) 206), the same bits on every processor; above with
 * the [3/3]..[13/13] Pade approximants (Higham, SIAM J. Matrix Anal. Appl. 26 (2005) 1179).
 *   a [n][n] kept, e [n][n], must not overlap. Backward error within unit roundoff. scratch: geodec_expm_scratch(n)
 * doubles, or NULL to allocate. GEODEC_NUMERIC when a is not finite or exp overflows. */
int64_t geodec_expm_scratch(int64_t n);
geodec_status geodec_expm(int64_t n, const double *a, double *e, double *scratch, geodec_err *err) GEODEC_MUST_USE;

/* C = A B of small square matrices [n][n], C neither: at n = 8, 16 .. 64 by the products of the exponential, the same
 * bits on every processor; else by geodec_blas_gemm. */
void geodec_expm_product(int64_t n, const double *a, const double *b, double *c);

/* exp of a symmetric matrix (lower triangle read) through its eigenvalues: symmetric positive definite, exactly
 * symmetric. */
geodec_status geodec_expm_sym(int64_t n, const double *a, double *e, geodec_err *err) GEODEC_MUST_USE;
/* log of a symmetric positive definite matrix through its eigenvalues. GEODEC_NUMERIC when one is not positive. */
geodec_status geodec_logm_spd(int64_t n, const double *a, double *l, geodec_err *err) GEODEC_MUST_USE;

/* Symmetric matrices packed by rows of the upper triangle: (0,0) (0,1) .. (0,n-1) (1,1) ..; n (n+1) / 2 values. */
int64_t geodec_sym_packed(int64_t n);
void geodec_sym_pack(int64_t n, const double *a, double *packed);
void geodec_sym_unpack(int64_t n, const double *packed, double *a);

#endif
