/* Least squares over the simplex: the weights w >= 0, sum w = 1 for which sum_i w_i r_i is nearest to a target: the
 * nearest point of a convex hull. */
#ifndef GEODEC_LINALG_SIMPLEX_LS_H
#define GEODEC_LINALG_SIMPLEX_LS_H

#include "base/err.h"

#include <stdint.h>

/* Minimises |sum_i w_i row_i - target|_2 over the simplex by Wolfe's active set (Math. Programming 11 (1976) 128),
 * which ends at the exact minimum after finitely many steps. rows [k][d], target [d], w [k]; residual (may be NULL):
 * the minimum; kkt (may be NULL): max over i of (x.x - x.p_i) / max |p|^2 with p_i = row_i - target, x = sum w_i p_i,
 * which is zero at the minimum. For another norm multiply rows and target by a factor of its matrix. GEODEC_RANGE (k or
 * d below 1), GEODEC_NUMERIC (not finite), GEODEC_NOCONV, GEODEC_NOMEM. O(k^2 d + k^3 steps). */
geodec_status geodec_simplex_ls(int64_t k, int64_t d, const double *rows, const double *target, double *w,
                                double *residual, double *kkt, geodec_err *err) GEODEC_MUST_USE;

#endif
