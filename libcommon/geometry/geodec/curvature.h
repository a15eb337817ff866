/* Curvature: R^a_bcd = d_c Gamma^a_bd - d_d Gamma^a_bc + Gamma^a_ce Gamma^e_bd - Gamma^a_de Gamma^e_bc (do Carmo 1992,
 * ch. 4; index order of space.h). Ricci R_bd = R^a_bad, scalar g^bd R_bd: K n (n - 1) on constant curvature K. */
#ifndef GEODEC_CURVATURE_H
#define GEODEC_CURVATURE_H

#include "geodec/space.h"

#include <stdbool.h>
#include <stdint.h>

/* Residuals of the algebraic symmetries of the lowered tensor, each relative to max |R_abcd| (0 for a flat point).
 * R_abcd = -R_abdc holds by construction up to rounding; the others hold only when Gamma and dGamma belong to one
 * metric, so they measure the differentiation error. */
typedef struct geodec_curvature_check {
    double first_pair; /* R_abcd + R_bacd */
    double last_pair;  /* R_abcd + R_abdc */
    double exchange;   /* R_abcd - R_cdab */
    double bianchi;    /* R_abcd + R_acdb + R_adbc */
} geodec_curvature_check;

typedef struct geodec_curvature_invariants {
    double scalar;                       /* g^bd R_bd */
    double norm;                         /* sqrt(R_abcd R^abcd): zero only where the space is flat */
    double sectional_max, sectional_min; /* over the planes of the g-orthonormal frame L^-T, g = L L^T */
    geodec_curvature_check check;
} geodec_curvature_invariants;

/* Everything at one point x [n]: riem [n]^4, ricci [n][n] and inv may be NULL; the tensor alone may take a shorter way.
 */
GEODEC_API geodec_status geodec_curvature_at(const geodec_space *s, const double *x, double *riem, double *ricci,
                                             geodec_curvature_invariants *inv, geodec_err *err) GEODEC_MUST_USE;

/* n_points points x [n_points][n] over the pool; riem [n_points][n]^4, ricci [n_points][n][n] and inv [n_points] may be
 * NULL. */
GEODEC_API geodec_status geodec_curvature_batch(const geodec_space *s, geodec_pool *pool, const geodec_hooks *hooks,
                                                int64_t n_points, const double *x, double *riem, double *ricci,
                                                geodec_curvature_invariants *inv, geodec_err *err) GEODEC_MUST_USE;

#endif
