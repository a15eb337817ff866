#include "geometry/space_closed.h"

#include "base/vec_internal.h"
#include "linalg/chol.h"

#include <math.h>
#include <string.h>

static void zero(double *a, int64_t n) { memset(a, 0, (size_t)n * sizeof *a); }

static geodec_status dimension_ok(int32_t n, geodec_err *err)
{
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "dimension %d is outside 1..%d", (int)n, GEODEC_SPACE_DIM_MAX);
    return GEODEC_OK;
}

/* ---- constant curvature ----------------------------------------------------------------------------------------- */

/* 1 + K |x|^2, or GEODEC_NUMERIC outside the chart. */
static geodec_status conformal_factor(const geodec_space_conformal *c, const double *x, double *d, geodec_err *err)
{
    const double value = 1 + c->curvature * geodec__dot(c->base.n, x, x);
    if (!(value > 0) || !isfinite(value))
        GEODEC_FAIL(GEODEC_NUMERIC, "%s: the point is outside the chart", c->base.name);
    *d = value;
    return GEODEC_OK;
}

/* With g = exp(2 phi) I: Gamma^k_ij = delta_ki phi_j + delta_kj phi_i - delta_ij phi_k, and phi_i = -2 K x_i / d. */
static geodec_status conformal_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                                  geodec_err *err)
{
    const geodec_space_conformal *c = (const geodec_space_conformal *)s;
    const int64_t n = s->n;
    double d;
    GEODEC_PASS(conformal_factor(c, x, &d, err));
    const double g0 = 4 / (d * d), slope = -2 * c->curvature / d;
    if (g) {
        zero(g, n * n);
        for (int64_t i = 0; i < n; i++) g[i * n + i] = g0;
    }
    if (dg) {
        zero(dg, n * n * n);
        for (int64_t a = 0; a < n; a++)
            for (int64_t i = 0; i < n; i++) dg[(a * n + i) * n + i] = 2 * g0 * slope * x[a];
    }
    if (gamma) {
        zero(gamma, n * n * n);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                double *row = gamma + (i * n + j) * n;
                row[i] += slope * x[j];
                row[j] += slope * x[i];
                if (i == j)
                    for (int64_t k = 0; k < n; k++) row[k] -= slope * x[k];
            }
        }
    }
    return GEODEC_OK;
}

static geodec_status conformal_dgamma(const geodec_space *s, const double *x, double *dgamma, geodec_err *err)
{
    const geodec_space_conformal *c = (const geodec_space_conformal *)s;
    const int64_t n = s->n;
    const double k2 = 2 * c->curvature;
    double d;
    GEODEC_PASS(conformal_factor(c, x, &d, err));
    zero(dgamma, n * n * n * n);
    for (int64_t a = 0; a < n; a++) {
        /* phi_{a m} = -2 K delta_am / d + 4 K^2 x_a x_m / d^2 */
        double hess[GEODEC_SPACE_DIM_MAX];
        for (int64_t m = 0; m < n; m++) hess[m] = (k2 / d) * (k2 / d) * x[a] * x[m] - (a == m ? k2 / d : 0);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                double *row = dgamma + ((a * n + i) * n + j) * n;
                row[i] += hess[j];
                row[j] += hess[i];
                if (i == j)
                    for (int64_t k = 0; k < n; k++) row[k] -= hess[k];
            }
        }
    }
    return GEODEC_OK;
}

geodec_status geodec_space_conformal_init(geodec_space_conformal *s, int32_t n, double curvature, geodec_err *err)
{
    GEODEC_PASS(dimension_ok(n, err));
    if (!isfinite(curvature)) GEODEC_FAIL(GEODEC_RANGE, "curvature is not finite");
    *s = (geodec_space_conformal){
        .base = {.n = n,
                 .name = curvature > 0   ? "sphere"
                         : curvature < 0 ? "hyperbolic space"
                                         : "Euclidean space",
                 .at = conformal_at,
                 .dgamma = conformal_dgamma,
                 .fd_step = curvature == 0 ? 1e-3 : 1e-3 / sqrt(fabs(curvature))},
        .curvature = curvature,
    };
    return GEODEC_OK;
}

/* ---- polar plane, flat torus, normal distributions -------------------------------------------------------------- */

/* GEODEC_NUMERIC unless the coordinate called `name` is positive and both are finite. */
static geodec_status half_plane(const geodec_space *s, const char *name, double positive, double other, geodec_err *err)
{
    if (!(positive > 0) || !isfinite(positive) || !isfinite(other))
        GEODEC_FAIL(GEODEC_NUMERIC, "%s: %s = %g is not positive and finite", s->name, name, positive);
    return GEODEC_OK;
}

static geodec_status polar_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                              geodec_err *err)
{
    const double r = x[0];
    GEODEC_PASS(half_plane(s, "r", r, x[1], err));
    if (g) {
        zero(g, 4);
        g[0] = 1;
        g[3] = r * r;
    }
    if (dg) {
        zero(dg, 8);
        dg[3] = 2 * r; /* d_r g_theta,theta */
    }
    if (gamma) {
        zero(gamma, 8);
        gamma[6] = -r;               /* Gamma^r_theta,theta */
        gamma[3] = gamma[5] = 1 / r; /* Gamma^theta_r,theta */
    }
    return GEODEC_OK;
}

static geodec_status polar_dgamma(const geodec_space *s, const double *x, double *dgamma, geodec_err *err)
{
    const double r = x[0];
    GEODEC_PASS(half_plane(s, "r", r, 0, err));
    zero(dgamma, 16);
    dgamma[6] = -1;
    dgamma[3] = dgamma[5] = -1 / (r * r);
    return GEODEC_OK;
}

void geodec_space_polar_init(geodec_space *s)
{
    *s = (geodec_space){.n = 2, .name = "polar plane", .at = polar_at, .dgamma = polar_dgamma, .fd_step = 1e-3};
}

static geodec_status flat_dgamma(const geodec_space *s, const double *x, double *dgamma, geodec_err *err)
{
    (void)x;
    (void)err;
    zero(dgamma, (int64_t)s->n * s->n * s->n * s->n);
    return GEODEC_OK;
}

static geodec_status constant_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                                 geodec_err *err)
{
    const int64_t n = s->n;
    if (!geodec__finite(n, x)) GEODEC_FAIL(GEODEC_NUMERIC, "%s: the point is not finite", s->name);
    if (g) memcpy(g, ((const geodec_space_constant *)s)->g, (size_t)(n * n) * sizeof *g);
    if (dg) zero(dg, n * n * n);
    if (gamma) zero(gamma, n * n * n);
    return GEODEC_OK;
}

geodec_status geodec_space_constant_init(geodec_space_constant *s, int32_t n, const double *g, geodec_err *err)
{
    GEODEC_PASS(dimension_ok(n, err));
    s->base =
        (geodec_space){.n = n, .name = "constant metric", .at = constant_at, .dgamma = flat_dgamma, .fd_step = 1e-3};
    memcpy(s->g, g, (size_t)n * (size_t)n * sizeof *g);
    if (!geodec__finite((int64_t)n * n, g) || geodec_chol_factor(n, s->g, NULL) != GEODEC_OK)
        GEODEC_FAIL(GEODEC_NUMERIC, "the constant metric is not positive definite");
    memcpy(s->g, g, (size_t)n * (size_t)n * sizeof *g);
    return GEODEC_OK;
}

geodec_status geodec_space_torus_init(geodec_space_torus *s, int32_t n, const double *length, geodec_err *err)
{
    GEODEC_PASS(dimension_ok(n, err));
    for (int32_t i = 0; i < n; i++)
        if (!(length[i] > 0) || !isfinite(length[i]))
            GEODEC_FAIL(GEODEC_RANGE, "side length %g is not positive and finite", length[i]);
    *s = (geodec_space_torus){
        .base = {.n = n, .name = "flat torus", .at = constant_at, .dgamma = flat_dgamma, .fd_step = 1e-3}};
    for (int32_t i = 0; i < n; i++) s->g[i * n + i] = length[i] * length[i];
    return GEODEC_OK;
}

static geodec_status fisher_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                               geodec_err *err)
{
    const double sigma = x[1];
    GEODEC_PASS(half_plane(s, "sigma", sigma, x[0], err));
    const double w = 1 / (sigma * sigma);
    if (g) {
        zero(g, 4);
        g[0] = w;
        g[3] = 2 * w;
    }
    if (dg) {
        zero(dg, 8);
        dg[4] = -2 * w / sigma;
        dg[7] = -4 * w / sigma;
    }
    if (gamma) {
        zero(gamma, 8);
        gamma[1] = 0.5 / sigma;           /* Gamma^sigma_mu,mu */
        gamma[2] = gamma[4] = -1 / sigma; /* Gamma^mu_mu,sigma */
        gamma[7] = -1 / sigma;            /* Gamma^sigma_sigma,sigma */
    }
    return GEODEC_OK;
}

static geodec_status fisher_dgamma(const geodec_space *s, const double *x, double *dgamma, geodec_err *err)
{
    const double sigma = x[1];
    GEODEC_PASS(half_plane(s, "sigma", sigma, 0, err));
    const double w = 1 / (sigma * sigma);
    zero(dgamma, 16);
    dgamma[8 + 1] = -0.5 * w;
    dgamma[8 + 2] = dgamma[8 + 4] = w;
    dgamma[8 + 7] = w;
    return GEODEC_OK;
}

void geodec_space_fisher_init(geodec_space *s)
{
    *s = (geodec_space){
        .n = 2, .name = "normal distributions", .at = fisher_at, .dgamma = fisher_dgamma, .fd_step = 1e-3};
}
