/* The Fisher metric of a family of distributions at every point of a chart, with its connection and curvature.
 *
 * A smooth map z -> l(z), the logits of V outcomes, makes the chart a Riemannian space. With p = softmax(l), E the mean
 * under p, s_i = d_i log p, s_ij = d_i d_j log p and w_ij = s_ij + s_i s_j / 2,
 *
 *     g_ij = E s_i s_j,   Gamma_ij,k = E w_ij s_k       (Amari and Nagaoka, Methods of Information Geometry, 2000, 2.3)
 *
 * z -> 2 sqrt(p) is an isometry into the sphere of radius 2 of R^V, where w_ij stands for its second derivatives. The
 * second fundamental form is n_ij = w_ij - Gamma^k_ij s_k, and the Gauss equation (do Carmo 1992, ch. 6) gives
 *
 *     R_abcd = E n_ac n_bd - E n_ad n_bc
 *
 * so second derivatives of l are enough; the third ones, which a differentiated Gamma contains, cancel. A family whose
 * logits are linear and free (all of the simplex) has sectional curvature 1/4.
 *
 * The map gives l and exact first derivatives. Second ones are central differences of these of fourth order, f' =
 * (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h: the only differences there are. */
#ifndef GEODEC_FISHER_FIELD_H
#define GEODEC_FISHER_FIELD_H

#include "geometry/space.h"

/* A map from a chart to logits. at: z [points][n], dir [k][n]; logits [points][outcomes] (NULL = not wanted), tangent
 * [k][points][outcomes] = the derivatives of the logits along each dir at each point (NULL with k = 0). A point's bits
 * may depend on the number of points, not on threads. Thread-safe. GEODEC_NUMERIC outside the map's domain. */
typedef struct geodec_fisher_map {
    int32_t n;
    int64_t outcomes;
    const void *ctx;
    geodec_status (*at)(const void *ctx, int64_t points, const double *z, int64_t k, const double *dir, double *logits,
                        double *tangent, geodec_err *err);
} geodec_fisher_map;

enum { GEODEC_FISHER_FIELD_MAX = 16 /* dimensions */ };

/* As a space: `at` takes n tangents for g alone, else n + 4 n^2, at 4 n + 1 points; `path` takes n + 4 at 5 points, or
 * for the speed alone one. dgamma is that of central differences with fd_step, of second order: a check. Where g is not
 * positive definite to working precision: GEODEC_NUMERIC. */
typedef struct geodec_fisher_field {
    geodec_space base;
    geodec_fisher_map map;
    double step; /* h, in the unit of z */
} geodec_fisher_field;

/* fd_step = step. GEODEC_RANGE: n outside 1..GEODEC_FISHER_FIELD_MAX, fewer than 2 outcomes, step not positive. */
geodec_status geodec_fisher_field_init(geodec_fisher_field *f, const geodec_fisher_map *map, double step,
                                       geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_fisher_curvature {
    double scalar;    /* sum of the sectional curvatures of all ordered pairs */
    double sectional; /* their mean; the extremes over the planes of the frame L^-T, g = L L^T */
    double sectional_min, sectional_max;
    /* Root mean square of n_ij over pairs of the frame, without its part along the radius of the sphere: 0 where the
     * family is flat within the simplex, and the curvature then 1/4. */
    double second;
    /* Largest |d_i d_j l - d_j d_i l| of the differences, as a share of the largest |w_ij|, in L2(p): zero but for
     * their error. */
    double asymmetry;
    double condition;      /* of g */
    double entropy, trace; /* of p in nats; of g */
} geodec_fisher_curvature;

/* At z [n], n >= 2, with the field's step. 4 n^2 + n tangents. Errors as `at`. */
geodec_status geodec_fisher_field_curvature(const geodec_fisher_field *f, const double *z, geodec_fisher_curvature *out,
                                            geodec_err *err) GEODEC_MUST_USE;
/* Sets the step: of `rungs` steps, from `widest` down by halves, the one whose mean sectional curvature differs least
 * from that of the step before. *error is that difference; as differences are of fourth order, it is the error of the
 * wider step, unless rounding is larger. out as above. */
geodec_status geodec_fisher_field_tune(geodec_fisher_field *f, const double *z, double widest, int rungs,
                                       geodec_fisher_curvature *out, double *error, geodec_err *err) GEODEC_MUST_USE;

/* Length of the straight line of the chart from z0 to z1 [n]: composite Gauss quadrature of sqrt(g(v, v)), 64 tangents.
 * *error: the difference to half as many nodes. */
geodec_status geodec_fisher_field_chord(const geodec_fisher_field *f, const double *z0, const double *z1,
                                        double *length, double *error, geodec_err *err) GEODEC_MUST_USE;
/* The distance 2 arccos sum sqrt(p q) of the distributions at z0 and z1 among all distributions: a lower bound of the
 * length of every curve between them. */
geodec_status geodec_fisher_field_bound(const geodec_fisher_field *f, const double *z0, const double *z1,
                                        double *distance, geodec_err *err) GEODEC_MUST_USE;

#endif
