/* Checks of a Riemannian geometry: a metric, its derivatives, Christoffel symbols and curvature, point by point,
 * against each other, against finite differences where the metric is a function, and against the closed form where the
 * curvature is known. For a field that fails, the convention that it fits is searched.
 *
 * Conventions of space.h: g[i][j]; dg[a][i][j] = d_a g_ij; gamma[i][j][k] = Gamma^k_ij; dgamma[c][i][j][k] = d_c
 * Gamma^k_ij; riem[a][b][c][d] = R^a_bcd with R^a_bcd = K (delta^a_c g_bd - delta^a_d g_bc) on constant curvature K.
 *
 * The table geodec_verification_abouts has the identity and the limit of every check. Deviations are relative to the
 * largest magnitude of the terms of the identity, so that a point where the terms vanish passes. The scale of the
 * symmetries of the lowered tensor is max |R_abcd|, but at least 1e-4 of the terms that cancel in it (|g| |dgamma| and
 * n |g| |gamma|^2) where these are known, because below that only rounding remains. A scale is also at least 1e-6 of
 * the largest value at any point of given arrays, and, for differences of a space, at least 1e-3 |g| / L and 1e-3 /
 * L^2, where L = 1e3 fd_step is the natural length of the chart. */
#ifndef GEODEC_LAB_VERIFICATION_VERIFICATION_H
#define GEODEC_LAB_VERIFICATION_VERIFICATION_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "geometry/space.h"

#include <stdbool.h>

typedef enum geodec_verification_check {
    GEODEC_VERIFY_G_SYMMETRY,         /* g_ij - g_ji */
    GEODEC_VERIFY_G_POSITIVE,         /* eigenvalues of g that are not positive: a count */
    GEODEC_VERIFY_CONDITION,          /* largest over smallest |eigenvalue| of g */
    GEODEC_VERIFY_DG_SYMMETRY,        /* d_a g_ij - d_a g_ji */
    GEODEC_VERIFY_DG_DIFFERENCES,     /* d_a g_ij against central differences of g: steps h and h/2, extrapolated */
    GEODEC_VERIFY_GAMMA_SYMMETRY,     /* Gamma^k_ij - Gamma^k_ji */
    GEODEC_VERIFY_COMPATIBILITY,      /* d_l g_ij - Gamma^m_li g_mj - Gamma^m_lj g_im */
    GEODEC_VERIFY_DGAMMA_SYMMETRY,    /* d_c Gamma^k_ij - d_c Gamma^k_ji */
    GEODEC_VERIFY_DGAMMA_DIFFERENCES, /* d_c Gamma^k_ij against differences of Gamma, likewise */
    GEODEC_VERIFY_RIEMANN_FORMULA,    /* the tensor against dGamma - dGamma + Gamma Gamma - Gamma Gamma */
    GEODEC_VERIFY_FIRST_PAIR,         /* R_abcd + R_bacd */
    GEODEC_VERIFY_LAST_PAIR,          /* R_abcd + R_abdc */
    GEODEC_VERIFY_EXCHANGE,           /* R_abcd - R_cdab */
    GEODEC_VERIFY_BIANCHI_1,          /* R_abcd + R_acdb + R_adbc */
    GEODEC_VERIFY_BIANCHI_2,          /* D_e R_abcd + D_c R_abde + D_d R_abec, D by differences of the tensor */
    GEODEC_VERIFY_RICCI_SYMMETRY,     /* R_bd - R_db, R_bd = R^a_bad; a given Ricci tensor against this one too */
    GEODEC_VERIFY_SCALAR,             /* g^bd R_bd against twice the sum of sectional curvatures of a frame, and against
                                         a given one */
    GEODEC_VERIFY_CLOSED_FORM,        /* the tensor against constant curvature */
    GEODEC_VERIFY_CHECKS
} geodec_verification_check;

typedef struct geodec_verification_about {
    const char *name;  /* "metric compatibility" */
    const char *what;  /* the identity */
    double limit;      /* largest deviation that passes */
    double limit_diff; /* the same where derivatives of a given metric had to be taken by differences */
} geodec_verification_about;
extern const geodec_verification_about geodec_verification_abouts[GEODEC_VERIFY_CHECKS];

/* Borrowed arrays; all but x and g may be NULL. Row-major with a leading [points]. */
typedef struct geodec_verification_field {
    int64_t points, n;
    const double *x;      /* [points][n] */
    const double *g;      /* [points][n][n] */
    const double *dg;     /* [points][n][n][n] */
    const double *gamma;  /* [points][n][n][n] */
    const double *dgamma; /* [points][n][n][n][n] */
    const double *riem;   /* [points][n][n][n][n] */
    const double *ricci;  /* [points][n][n] */
    const double *scalar; /* [points] */
} geodec_verification_field;

enum { GEODEC_VERIFY_NOTES = 6, GEODEC_VERIFY_NOTE = 320 };

typedef struct geodec_verification_result {
    bool run, pass;
    double worst;  /* largest deviation */
    double limit;  /* that counted */
    int64_t where; /* first point that has it */
} geodec_verification_result;
typedef struct geodec_verification {
    int64_t points, n;
    geodec_verification_result check[GEODEC_VERIFY_CHECKS];
    double *value; /* [points][GEODEC_VERIFY_CHECKS]; -1 where a check was not run */
    bool pass;
    int32_t notes; /* probable causes of a failure */
    char note[GEODEC_VERIFY_NOTES][GEODEC_VERIFY_NOTE];
} geodec_verification;
void geodec_verification_clear(geodec_verification *v);

typedef struct geodec_verification_options {
    const double *curvature; /* the constant curvature the space must have; NULL = not known */
    double tolerance;        /* deviations up to it pass whatever the limit (but for the signature); default 0 */
    double step;             /* h of the differences; 0 = the space's fd_step */
    int64_t bianchi;         /* points at which the second Bianchi identity is tested (2 n tensors each), evenly spread
                                among all; default 16 */
} geodec_verification_options;
geodec_verification_options geodec_verification_defaults(void);

/* A space at points x [points][n]. Where the space has no dg (UNSUPPORTED), the differences take its place. A point
 * outside the chart is an error. GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_NOMEM, GEODEC_INTERRUPTED. */
geodec_status geodec_verification_space(const geodec_space *s, int64_t points, const double *x,
                                        const geodec_verification_options *o, geodec_pool *pool,
                                        const geodec_hooks *hooks, geodec_verification *out,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Arrays; all values finite. When a check fails, the conventions of other packages are tried and notes name those
 * that would fit. */
geodec_status geodec_verification_arrays(const geodec_verification_field *f, const geodec_verification_options *o,
                                         geodec_pool *pool, const geodec_hooks *hooks, geodec_verification *out,
                                         geodec_err *err) GEODEC_MUST_USE;

/* The checker on spaces known in closed form (sphere, hyperbolic space and both Euclidean charts in several dimensions,
 * flat torus, polar plane, normal distributions), as spaces and as arrays; then on the same arrays with one fault each
 * (upper index first, derivative index last, a factor, a sign, the last pair exchanged, one entry changed). */
enum { GEODEC_VERIFY_EXACT = 12, GEODEC_VERIFY_FAULTS = 8 };
typedef struct geodec_verification_exact {
    char name[32];
    bool pass;
    double worst; /* largest deviation over its limit, of all checks */
} geodec_verification_exact;
typedef struct geodec_verification_fault {
    char name[64];
    bool found; /* failed, and with a note that names the fault */
    char note[GEODEC_VERIFY_NOTE];
} geodec_verification_fault;
typedef struct geodec_verification_control {
    geodec_verification_exact exact[GEODEC_VERIFY_EXACT];
    geodec_verification_fault fault[GEODEC_VERIFY_FAULTS];
    bool pass;
} geodec_verification_control;
geodec_status geodec_verification_controls(uint64_t seed, geodec_verification_control *out,
                                           geodec_err *err) GEODEC_MUST_USE;

/* The verification artifact. */
extern const geodec_kind geodec_verification_kind;
/* Fills a new artifact; the caller commits. x [points][n]; subject: the name of the checked geometry. */
geodec_status geodec_verification_write(const geodec_verification *v, const double *x, const char *subject,
                                        const geodec_verification_control *c, geodec_artifact *a,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif
