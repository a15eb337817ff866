/* Thin singular value decomposition (LAPACK dgesdd), row-major float64. */
#ifndef GEODEC_LINALG_SVD_H
#define GEODEC_LINALG_SVD_H

#include "base/err.h"

#include <stdint.h>

/* A = U diag(s) Vt with r = min(m,n): a [m][n] (unchanged), u [m][r], s [r] descending, vt [r][n]. Signs of the vectors
 * are LAPACK's; outputs are undefined on failure. GEODEC_NUMERIC (not finite), GEODEC_NOCONV, GEODEC_NOMEM. */
geodec_status geodec_svd_thin(int64_t m, int64_t n, const double *a, double *u, double *s, double *vt,
                              geodec_err *err) GEODEC_MUST_USE;
/* The singular values only. */
geodec_status geodec_svd_values(int64_t m, int64_t n, const double *a, double *s, geodec_err *err) GEODEC_MUST_USE;

#endif
