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
 * Truncation. Sites whose weight is below e^-50 of the largest are left out; above 256 sites a k-d tree finds the
 * others without a pass over all sites. Bound: let L* have all N sites and d be the share of what is left out in the
 * sum of all weights, d < N e^-50. L* = (1 - d) L + d L', with L and L' convex combinations of the log g_p, so |L* - L|
 * <= d ln k in the spectral norm, k = the largest over the smallest eigenvalue of all g_p. Along A_t = L + t (L* - L),
 * 0 <= t <= 1, whose eigenvalues lie between those of the log g_p,
 *
 *     |e^(-A/2) (d/dt e^A) e^(-A/2)| = |int_0^1 e^((s-1/2) A) A' e^((1/2-s) A) ds| <= |A'| int_0^1 k^|s-1/2| ds
 *                                    = |A'| 2 (sqrt(k) - 1) / ln k <= 2 d (sqrt(k) - 1),
 *
 * and that integrates to |ln (v^T g v / v^T g* v)| <= 2 d (sqrt(k) - 1) < 2 N e^-50 sqrt(k) for every v: below N e^-50
 * k from k = 4 on, 2e-16 k at N = 1e6.
 *
 * Cost of a point with A sites of weight: finding them O(A + log N) for clouds of low dimension (A tends to N when
 * sigma is the distance of neighbours and the dimension above about 6); A n for the weights; for a geodesic's
 * acceleration 2 A n(n+1)/2 multiplications, for its variation 2 n A n(n+1)/2, and (n+1) A n(n+1)/2 for the field and
 * its derivatives; O(n^4) after that (rbf_kernel_internal.h). A point's result does not depend on the batch it is part
 * of or on threads; its last bits depend on the instruction set. */
#ifndef GEODEC_GEOMETRY_RBF_H
#define GEODEC_GEOMETRY_RBF_H

#include "base/hooks.h"
#include "base/pool.h"
#include "geodec/space.h"
#include "geometry/space.h"

#include <stdint.h>

/* As geodec_rbf_create, with log_g in slabs: `rows` is called in the order of the sites and fills log_g
 * [count][n(n+1)/2] of sites first .. first+count-1. With `folder` the field keeps log_g in an unnamed file there,
 * mapped into memory: pages are read on access and dropped when memory is short, so a field may be larger than the
 * machine's memory. The values are the same. NULL: in memory. Also GEODEC_IO. */
typedef geodec_status (*geodec_rbf_rows)(void *ctx, int64_t first, int64_t count, double *log_g, geodec_err *err);
geodec_status geodec_rbf_create_rows(int64_t n_sites, int64_t n, const double *sites, geodec_rbf_rows rows, void *ctx,
                                     double sigma, const char *folder, geodec_rbf **out,
                                     geodec_err *err) GEODEC_MUST_USE;

int64_t geodec_rbf_dim(const geodec_rbf *f);

#endif
