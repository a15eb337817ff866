/* Geodesics and distances in closed form, for comparison with the numerical ones. */
#ifndef GEODEC_TESTS_CLOSED_FORMS_H
#define GEODEC_TESTS_CLOSED_FORMS_H

#include "geometry/space_closed.h"

/* Exact geodesic from x0 [n] with coordinate velocity v0 [n] at time t -> x [n], by Moebius addition
 * (Ungar 2008, ch. 3; Skopek, Ganea, Becigneul 2020, eq. 5): x(t) = x0 (+) tan_K(lambda_0 |v0| t / 2) v0/|v0|.
 * GEODEC_NUMERIC when x0 lies outside the chart or the geodesic passes its point at infinity. */
geodec_status closed_geodesic(const geodec_space_conformal *s, const double *x0, const double *v0, double t, double *x,
                              geodec_err *err) GEODEC_MUST_USE;
/* Exact distance of x [n] and y [n]: (2/sqrt|K|) atan_K(sqrt|K| |(-x) (+) y|). */
double closed_distance(const geodec_space_conformal *s, const double *x, const double *y);
/* Fisher-Rao distance of the normal distributions x = (mu, sigma) and y (Atkinson, Mitchell 1981):
 * sqrt 2 arcosh(1 + ((mu1 - mu2)^2 / 2 + (sigma1 - sigma2)^2) / (2 sigma1 sigma2)). */
double closed_fisher_distance(const double x[2], const double y[2]);

#endif
