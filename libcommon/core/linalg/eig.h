/* Eigenvalues and eigenvectors of real symmetric matrices: tridiagonal form and implicit QL up to n = 32 (the same bits
 * on every processor), LAPACK dsyevd above (the same for the same input). */
#ifndef GEODEC_LINALG_EIG_H
#define GEODEC_LINALG_EIG_H

#include "base/err.h"

#include <stdint.h>

/* Number of doubles of scratch for geodec_eig_sym_ws at dimension n; 0 when n is out of range. */
int64_t geodec_eig_sym_scratch(int64_t n);

/* A = V diag(w) V^T. Reads the lower triangle of a [n][n] row-major. w [n] ascends; v [n][n] holds the eigenvectors as
 * ROWS (v[k] belongs to w[k]): A = sum_k w[k] v[k] v[k]^T. v may be a itself. w and v are undefined on failure.
 * scratch: geodec_eig_sym_scratch(n) doubles, for calls in a loop without allocation. Thread-safe. GEODEC_NUMERIC (not
 * finite), GEODEC_NOCONV. */
geodec_status geodec_eig_sym_ws(int64_t n, const double *a, double *w, double *v, double *scratch,
                                geodec_err *err) GEODEC_MUST_USE;
/* As geodec_eig_sym_ws, with scratch of its own. */
geodec_status geodec_eig_sym(int64_t n, const double *a, double *w, double *v, geodec_err *err) GEODEC_MUST_USE;

/* Eigenvalues only, ascending; reads the lower triangle of a. */
geodec_status geodec_eig_values(int64_t n, const double *a, double *w, geodec_err *err) GEODEC_MUST_USE;

/* f(A) = V diag(fw) V^T for given eigenvectors (rows of v) and new eigenvalues fw; out [n][n], exactly symmetric. */
void geodec_eig_compose(int64_t n, const double *fw, const double *v, double *out);

#endif
