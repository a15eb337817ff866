/* A local quadratic fit: tangent space and second fundamental form, at one place, of the set of dimension n that points
 * of R^d lie near.
 *
 *     y_i = c + T^T u_i + 1/2 sum_ab A_ab u_ia u_ib + e_i
 *
 * by least squares with the weights 1 - (|y_i - centre| / radius)^2. The rows of T are the tangent space and the A_ab
 * are normal to it: the linear term that a fit leaves is taken into T and c, and the fit repeated. The coordinates are
 * tangential ones, t = T (y - c), lengthened to the chord: u = t sqrt(1 + |A(t,t)/2|^2 / |t|^2). Along a circle the
 * normal part is exactly quadratic in the chord, so the error of A, which is of the order radius^2 in t, has no part of
 * the order of A^3 in u. (Aamari and Levrard, Ann. Statist. 47 (2019) 177, have the rates of such fits: n + 1
 * derivatives of the set give the second fundamental form of N points with an error of the order (log N / N)^(1/n) in
 * t.)
 *
 * Gauss: R_abcd = <A_ac, A_bd> - <A_ad, A_bc>. Errors e of the points give every inner product a bias, the covariance
 * of the coefficients summed over the normal directions. It is estimated from the residuals, of each point its own (a
 * ball of neighbours has less room for errors at its rim), and subtracted, so that the curvature of flat noise has the
 * mean zero. */
#ifndef GEODEC_GEOMETRY_QUADRATIC_H
#define GEODEC_GEOMETRY_QUADRATIC_H

#include "geometry/space.h"

enum { GEODEC_QUADRATIC_MAX_N = 12 };

typedef struct geodec_quadratic {
    int32_t n;     /* dimension of the set */
    int64_t d;     /* of the space around it */
    int64_t pairs; /* n (n + 1) / 2: a <= b, rows of the upper triangle */
    double radius;
    double *origin;  /* [d] c */
    double *tangent; /* [n][d] T, orthonormal rows */
    double *second;  /* [pairs][d] A_ab */
    double *product; /* [pairs][pairs] <A_p, A_q> less their bias */
    double noise;    /* variance of e, summed over the normal directions */
    double offset;   /* |weighted mean of t| / radius: about 0 inside the set, up to .5 at an edge */
    double left_out; /* root of the weighted mean square of the errors of prediction of points left out one by one */
} geodec_quadratic;

/* Coefficients of a fit: the least number of points is one more. */
#define GEODEC_QUADRATIC_COEFFICIENTS(n) (1 + (n) + (n) * ((n) + 1) / 2)

/* 1 <= n <= GEODEC_QUADRATIC_MAX_N, n <= d. GEODEC_RANGE, GEODEC_NOMEM. */
geodec_status geodec_quadratic_init(geodec_quadratic *q, int32_t n, int64_t d, geodec_err *err) GEODEC_MUST_USE;
void geodec_quadratic_clear(geodec_quadratic *q); /* all zero is allowed */

/* Fits points y [count][d] about centre [d]. share [count]: factors of their weights (0: left out), or NULL. start
 * [n][d]: orthonormal rows, a tangent space near the right one to start from, in fewer rounds, or NULL: principal
 * directions. On failure *q is undefined. GEODEC_SCARCE: fewer points than coefficients, or points that do not
 * determine them. GEODEC_NUMERIC: not finite. */
geodec_status geodec_quadratic_fit(geodec_quadratic *q, int64_t count, const double *y, const double *centre,
                                   double radius, const double *share, const double *start,
                                   geodec_err *err) GEODEC_MUST_USE;

/* An exact change of coordinates for several fits of the same points: with count < d, y lies in `rank` <= count
 * directions about the centre. z [count][rank], basis [rank][d] orthonormal rows, *rank <= min(count, d); room for
 * min(count, d) directions. A fit of z about 0 has the products, noise and offset of a fit of y. */
geodec_status geodec_quadratic_reduce(int64_t count, int64_t d, const double *y, const double *centre, double *z,
                                      double *basis, int64_t *rank, geodec_err *err) GEODEC_MUST_USE;

/* R_abcd [n]^4 in the frame of the rows of T (index order of space.h), or NULL; the scalar curvature
 * |tr A|^2 - |A|^2; the least and largest sectional curvature of the coordinate planes; |tr A|^2 / n^2, the square of
 * the mean curvature. */
typedef struct geodec_quadratic_curvature {
    double scalar, sectional_min, sectional_max, mean_squared;
} geodec_quadratic_curvature;
geodec_quadratic_curvature geodec_quadratic_curvature_of(const geodec_quadratic *q, double *riem);

/* The fitted set as a space with the coordinates t of the tangent space: the metric that the surrounding space induces
 * on the graph t -> c + T^T t + A(t,t)/2,  g_ab = delta_ab + <A_am, A_bn> t_m t_n. The products are those of the
 * vectors A, with their noise: the metric of the graph as it is. q must outlive it. */
typedef struct geodec_quadratic_space {
    geodec_space base;
    const geodec_quadratic *q;
    double product[GEODEC_QUADRATIC_MAX_N * GEODEC_QUADRATIC_MAX_N * GEODEC_QUADRATIC_MAX_N * GEODEC_QUADRATIC_MAX_N];
} geodec_quadratic_space;
void geodec_quadratic_space_init(geodec_quadratic_space *s, const geodec_quadratic *q);
/* y [d] of the graph at t [n]; and, where v is not NULL, the direction w [d] of the velocity v [n] there. */
void geodec_quadratic_point(const geodec_quadratic *q, const double *t, const double *v, double *y, double *w);
/* t [n] = T (y - c). */
void geodec_quadratic_coordinates(const geodec_quadratic *q, const double *y, double *t);

#endif
