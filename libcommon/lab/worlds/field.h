/* A metric that varies with known strength over R^n: the logarithm is a fixed smooth random function times the
 * strength.
 *
 *     log g(x) = strength amplitude sqrt(2 / M) sum_k cos(wave_k . x + phase_k) S_k,   k < M = 8,
 *
 * wave_k normal with the standard deviation 1 / scale in each component, phase_k uniform. Conformal: S_k = I, so g =
 * e^(2 phi) I, and the curvature is a closed form (Besse, Einstein Manifolds, 1987, 1.159):
 *
 *     K(i, j) = -e^(-2 phi) (phi_ii + phi_jj - phi_i^2 - phi_j^2 + |d phi|^2)
 *     scalar  = -e^(-2 phi) (n - 1) (2 Laplace phi + (n - 2) |d phi|^2)
 *
 * Otherwise S_k is symmetric and normal, E S_ij^2 = 1/n (2/n on the diagonal), and there is the table of matrices
 * alone. `amplitude` is the standard deviation of log g (conformal: of each direction) over phases at strength 1. */
#ifndef GEODEC_LAB_WORLDS_FIELD_H
#define GEODEC_LAB_WORLDS_FIELD_H

#include "base/err.h"
#include "geodec/space.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_WORLD_FIELD_MODES = 8 };

typedef struct geodec_world_field {
    geodec_space space; /* first; the conformal one, with exact derivatives. Without `at` otherwise */
    int32_t n;
    bool conformal;
    double factor; /* strength amplitude sqrt(2 / M) */
    double wave[GEODEC_WORLD_FIELD_MODES][GEODEC_SPACE_DIM_MAX], phase[GEODEC_WORLD_FIELD_MODES];
    double *matrix; /* [M][n(n+1)/2] packed rows of the upper triangle of S_k; NULL where conformal; owned */
} geodec_world_field;

/* n in 2..64, scale > 0, amplitude >= 0, strength in 0..1. Must not be moved while its space is in use. GEODEC_RANGE,
 * GEODEC_NOMEM. */
geodec_status geodec_world_field_init(geodec_world_field *f, int32_t n, bool conformal, double amplitude, double scale,
                                      double strength, uint64_t seed, geodec_err *err) GEODEC_MUST_USE;
void geodec_world_field_clear(geodec_world_field *f);
/* The table of matrices at given places: x [points][n], g [points][n][n] = exp(log g), as geodec_metric_from_matrices
 * takes it. GEODEC_NUMERIC (not finite), GEODEC_NOMEM. */
geodec_status geodec_world_field_matrices(const geodec_world_field *f, int64_t points, const double *x, double *g,
                                          geodec_err *err) GEODEC_MUST_USE;
/* Conformal: phi, its gradient [n] and the diagonal of its second derivatives [n]. */
double geodec_world_field_phi(const geodec_world_field *f, const double *x, double *gradient, double *second);
/* Conformal: scalar, least and largest sectional curvature over the coordinate planes. */
void geodec_world_field_curvature(const geodec_world_field *f, const double *x, double k[3]);

#endif
