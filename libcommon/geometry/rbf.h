/* Log-Euclidean radial basis field: a smooth Riemannian metric through symmetric positive definite matrices given at
 * sites (Arsigny, Fillard, Pennec, Ayache, SIAM J. Matrix Anal. Appl. 29 (2007) 328, with Gaussian kernel weights):
 *
 *     g(x) = exp(L(x)),  L(x) = sum_p w_p(x) log g_p,  w_p(x) = e_p / sum_q e_q,  e_p = exp(-|x-s_p|^2 / 2 sigma^2)
 *
 * The largest exponent is subtracted before exponentials are taken, so the field is defined everywhere: far outside it
 * tends to the metric of the nearest site. Derivatives are exact; with m = sum_p w_p s_p and
 * C = sum_p w_p (s_p-m)(s_p-m)^T
 *
 *     d_a w_p     = w_p (s_pa - m_a) / sigma^2
 *
 *     d_a d_b w_p = w_p ((s_pa - m_a)(s_pb - m_b) - C_ab) / sigma^4
 *
 * and the derivatives of exp follow from divided differences in the eigenbasis of L (Daleckii and Krein; Higham,
 * Functions of Matrices, 2008, theorem 3.11).
 *
 * Sites whose weight is below e^-50 of the largest are left out (a relative change below N 2e-22). Cost of a point: N n
 * for the weights, (n+1) N n(n+1)/2 multiplications for L and its derivatives in one matrix product, O(n^4) after that.
 * A point's result does not depend on the batch it is part of or on threads. */
#ifndef GEODEC_GEOMETRY_RBF_H
#define GEODEC_GEOMETRY_RBF_H

#include "base/hooks.h"
#include "base/pool.h"
#include "geometry/space.h"

#include <stdint.h>

enum { GEODEC_RBF_MAX_N = 64 };

typedef struct geodec_rbf geodec_rbf; /* immutable after creation; may be shared between threads */

/* sites [n_sites][n]; log_g [n_sites][n(n+1)/2], rows of the upper triangle (linalg/expm.h); both are copied.
 * 1 <= n <= 64, n_sites >= 1, sigma > 0 in the unit of the sites. GEODEC_RANGE, GEODEC_NUMERIC (not finite),
 * GEODEC_NOMEM. */
GEODEC_API geodec_status geodec_rbf_create(int64_t n_sites, int64_t n, const double *sites, const double *log_g,
                                           double sigma, geodec_rbf **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_rbf_destroy(geodec_rbf *f); /* NULL ok */

GEODEC_API int64_t geodec_rbf_sites(const geodec_rbf *f);
GEODEC_API int64_t geodec_rbf_dim(const geodec_rbf *f);
GEODEC_API double geodec_rbf_sigma(const geodec_rbf *f);
GEODEC_API const double *geodec_rbf_site(const geodec_rbf *f, int64_t p); /* [n] */

/* The field as a space: `at` and an analytic `dgamma`; fd_step = sigma 1e-3. Owned by f. */
GEODEC_API const geodec_space *geodec_rbf_space(const geodec_rbf *f);

/* Many points at once, over the pool: x [count][n]; g [count][n][n], dg [count][n][n][n] (dg[a][i][j] = d_a g_ij),
 * gamma [count][n][n][n] (Gamma^k_ij, k last); any of the three may be NULL. The message of a failure names the point.
 */
GEODEC_API geodec_status geodec_rbf_eval(const geodec_rbf *f, int64_t count, const double *x, double *g, double *dg,
                                         double *gamma, geodec_pool *pool, const geodec_hooks *hooks,
                                         geodec_err *err) GEODEC_MUST_USE;
/* Where x stands among the sites: squared distance to the nearest and its index, and exp of the entropy of the weights
 * (the number of sites that share in the value). Any output may be NULL. */
GEODEC_API geodec_status geodec_rbf_locate(const geodec_rbf *f, const double *x, double *nearest_d2, int64_t *nearest,
                                           double *effective_sites, geodec_err *err) GEODEC_MUST_USE;
/* The field by the formulas above in plain loops, without blocking, cut-off or BLAS: what the fast one is tested
 * against. */
GEODEC_API geodec_status geodec_rbf_reference(const geodec_rbf *f, const double *x, double *g, double *dg,
                                              geodec_err *err) GEODEC_MUST_USE;

#endif
