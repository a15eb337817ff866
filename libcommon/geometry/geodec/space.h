/* A Riemannian space in one chart: the interface of a metric of any kind (log-Euclidean RBF field, sphere, hyperbolic
 * space, user field) to geodesics, curvature and propagators.
 *
 * Conventions of the whole project (row-major float64):
 *   g[i][j]            metric
 *   gamma[i][j][k]     Gamma^k_ij, upper index last, symmetric in i,j
 *   dgamma[c][i][j][k] d_c Gamma^k_ij
 *   riem[a][b][c][d]   R^a_bcd = d_c Gamma^a_bd - d_d Gamma^a_bc + Gamma^a_ce Gamma^e_bd - Gamma^a_de Gamma^e_bc
 *                      (constant curvature K: K (delta^a_c g_bd - delta^a_d g_bc)) */
#ifndef GEODEC_SPACE_H
#define GEODEC_SPACE_H

#include "geodec/run.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_SPACE_TOGETHER = 8 }; /* points that are computed together, which costs less than one by one */
typedef struct geodec_space geodec_space;

struct geodec_space {
    int32_t n;        /* dimension */
    const char *name; /* for messages */
    /* All thread-safe for concurrent calls on one space; x [n]. GEODEC_NUMERIC outside the chart or on a metric that is
     * not positive definite. Any output pointer may be NULL = not computed. at: g [n][n], dg [n][n][n] (dg[a][i][j] =
     * d_a g_ij), gamma [n][n][n]. */
    geodec_status (*at)(const geodec_space *s, const double *x, double *g, double *dg, double *gamma, geodec_err *err);
    /* dgamma [n][n][n][n]; NULL member = central differences of `at` with step fd_step (geodec_space_dgamma does it).
     */
    geodec_status (*dgamma)(const geodec_space *s, const double *x, double *dgamma, geodec_err *err);
    double fd_step; /* natural length of the chart times 1e-3 */
    /* Contractions for which a space may have a faster method. With a NULL member, or *done_here = false (nothing
     * written), they are computed from gamma and dgamma. Called through geodec_space_path, geodec_space_variation and
     * geodec_curvature_at; path and variation with up to GEODEC_SPACE_TOGETHER points. The bits of a point's result
     * must not depend on the others. */
    geodec_status (*path)(const geodec_space *s, int64_t points, const double *x, const double *v, double *speed2,
                          double *accel, bool *done_here, geodec_err *err);
    geodec_status (*variation)(const geodec_space *s, int64_t points, const double *x, const double *v, double *gv,
                               double *dgvv, bool *done_here, geodec_err *err);
    geodec_status (*riemann)(const geodec_space *s, const double *x, double *riem, bool *done_here, geodec_err *err);
};

/* dgamma by the space's own method or by central differences of the analytic gamma. */
GEODEC_API geodec_status geodec_space_dgamma(const geodec_space *s, const double *x, double *dgamma,
                                             geodec_err *err) GEODEC_MUST_USE;

/* gamma from g and dg by Cholesky: Gamma^k_ij = 1/2 g^kl (d_i g_jl + d_j g_il - d_l g_ij). work: none; n <= 64. */
GEODEC_API geodec_status geodec_space_christoffel(int32_t n, const double *g, const double *dg, double *gamma,
                                                  geodec_err *err) GEODEC_MUST_USE;

/* ---- constant curvature, and constant metrics: references and controls
 * -------------------------------------------------- */

enum { GEODEC_SPACE_DIM_MAX = 64 }; /* largest dimension any part of the geometry chain accepts */

/* Constant curvature K in the conformal (stereographic) chart g = (2 / (1 + K |x|^2))^2 I: the sphere for K > 0,
 * Euclidean space (scaled by 2) for K = 0, the Poincare ball |x| < 1/sqrt(-K) for K < 0. */
typedef struct geodec_space_conformal {
    geodec_space base;
    double curvature;
} geodec_space_conformal;

/* n in 1..GEODEC_SPACE_DIM_MAX, curvature finite; GEODEC_RANGE otherwise. */
GEODEC_API geodec_status geodec_space_conformal_init(geodec_space_conformal *s, int32_t n, double curvature,
                                                     geodec_err *err) GEODEC_MUST_USE;

/* A space whose metric is the same everywhere: Gamma = 0. */
typedef struct geodec_space_constant {
    geodec_space base;
    double g[GEODEC_SPACE_DIM_MAX * GEODEC_SPACE_DIM_MAX];
} geodec_space_constant;

/* g [n][n] symmetric and positive definite, n in 1..GEODEC_SPACE_DIM_MAX; GEODEC_RANGE, GEODEC_NUMERIC otherwise. */
GEODEC_API geodec_status geodec_space_constant_init(geodec_space_constant *s, int32_t n, const double *g,
                                                    geodec_err *err) GEODEC_MUST_USE;

/* Flat torus with side lengths L_i in the chart x_i in R/Z: g = diag(L_i^2), Gamma = 0. */
typedef geodec_space_constant geodec_space_torus;

/* ---- the log-Euclidean radial basis field --------------------------------------------------------------------------
 *
 * A smooth Riemannian metric through symmetric positive definite matrices given at sites (Arsigny, Fillard, Pennec,
 * Ayache, SIAM J. Matrix Anal. Appl. 29 (2007) 328, with Gaussian kernel weights):
 *
 *     g(x) = exp(L(x)),  L(x) = sum_p w_p(x) log g_p,  w_p(x) = e_p / sum_q e_q,  e_p = exp(-|x-s_p|^2 / 2 sigma^2)
 *
 * It is defined everywhere: far outside it tends to the metric of the nearest site. Derivatives are exact. */

enum { GEODEC_RBF_MAX_N = 64 };
typedef struct geodec_rbf geodec_rbf; /* immutable after creation; may be shared between threads */

/* sites [n_sites][n]; log_g [n_sites][n(n+1)/2], rows of the upper triangle; both are copied.
 * 1 <= n <= 64, n_sites >= 1, sigma > 0 in the unit of the sites. GEODEC_RANGE, GEODEC_NUMERIC (not finite),
 * GEODEC_NOMEM. */
GEODEC_API geodec_status geodec_rbf_create(int64_t n_sites, int64_t n, const double *sites, const double *log_g,
                                           double sigma, geodec_rbf **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_rbf_destroy(geodec_rbf *f); /* NULL ok */

/* The field as a space: `at` and an analytic `dgamma`; fd_step = sigma 1e-3. Owned by f. */
GEODEC_API const geodec_space *geodec_rbf_space(const geodec_rbf *f);

/* Many points at once, over the pool: x [count][n]; g [count][n][n], dg [count][n][n][n] (dg[a][i][j] = d_a g_ij),
 * gamma [count][n][n][n] (Gamma^k_ij, k last); any of the three may be NULL. The message of a failure names the point.
 */
GEODEC_API geodec_status geodec_rbf_eval(const geodec_rbf *f, int64_t count, const double *x, double *g, double *dg,
                                         double *gamma, geodec_pool *pool, const geodec_hooks *hooks,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
