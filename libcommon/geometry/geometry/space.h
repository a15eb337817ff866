/* A Riemannian space in one chart: the interface of a metric of any kind (log-Euclidean RBF field, sphere, hyperbolic
 * space, user field) to geodesics, curvature and propagators.
 *
 * Conventions of the whole project (row-major float64):
 *   g[i][j]            metric
 *   gamma[i][j][k]     Gamma^k_ij, upper index last, symmetric in i,j
 *   dgamma[c][i][j][k] d_c Gamma^k_ij
 *   riem[a][b][c][d]   R^a_bcd = d_c Gamma^a_bd - d_d Gamma^a_bc + Gamma^a_ce Gamma^e_bd - Gamma^a_de Gamma^e_bc
 *                      (constant curvature K: K (delta^a_c g_bd - delta^a_d g_bc)) */
#ifndef GEODEC_GEOMETRY_SPACE_H
#define GEODEC_GEOMETRY_SPACE_H

#include "base/err.h"

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

/* For geodesics: at any number of points x [points][n] with velocities v [points][n]: speed2 [points] = g(v,v),
 * accel [points][n] = -Gamma^k_ij v^i v^j; either may be NULL. work: n^3 + n^2 doubles. The error is that of
 * the first point that fails; the results are then undefined. The result at a point does not depend on the others. */
GEODEC_API geodec_status geodec_space_path(const geodec_space *s, int64_t points, const double *x, const double *v,
                                           double *speed2, double *accel, double *work,
                                           geodec_err *err) GEODEC_MUST_USE;
/* For the variation of geodesics: gv [points][k][j] = Gamma^k_ij v^i, dgvv [points][k][m] = (d_m Gamma^k_ij) v^i v^j.
 * work: n^3 (n + 1) doubles. Otherwise as geodec_space_path. */
GEODEC_API geodec_status geodec_space_variation(const geodec_space *s, int64_t points, const double *x, const double *v,
                                                double *gv, double *dgvv, double *work,
                                                geodec_err *err) GEODEC_MUST_USE;
/* dgamma by the space's own method or by central differences of the analytic gamma. */
GEODEC_API geodec_status geodec_space_dgamma(const geodec_space *s, const double *x, double *dgamma,
                                             geodec_err *err) GEODEC_MUST_USE;
/* gamma from g and dg by Cholesky: Gamma^k_ij = 1/2 g^kl (d_i g_jl + d_j g_il - d_l g_ij). work: none; n <= 64. */
GEODEC_API geodec_status geodec_space_christoffel(int32_t n, const double *g, const double *dg, double *gamma,
                                                  geodec_err *err) GEODEC_MUST_USE;
/* dg [n][n][n] by central differences of g with step h > 0: the control of an analytic one, O(h^2) from it. */
GEODEC_API geodec_status geodec_space_dg_fd(const geodec_space *s, const double *x, double h, double *dg,
                                            geodec_err *err) GEODEC_MUST_USE;
/* gamma [n][n][n] from those differences. */
GEODEC_API geodec_status geodec_space_christoffel_fd(const geodec_space *s, const double *x, double h, double *gamma,
                                                     geodec_err *err) GEODEC_MUST_USE;

#endif
