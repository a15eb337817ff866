/* Ridge regression with an intercept: y = map (1, z), the intercept not penalised.
 *
 *     minimise sum_rows |y - c - A z|^2 + rows lambda |A|_F^2,  lambda = ridge tr(Cov z) / width */
#ifndef GEODEC_LINALG_REGRESSION_H
#define GEODEC_LINALG_REGRESSION_H

#include "base/err.h"

#include <stdint.h>

/* z [rows][width], y [rows][n]; map [width + 1][n], row 0 the intercept. When all z are equal, A = 0. GEODEC_RANGE
 * (rows < 1, ridge < 0), GEODEC_SINGULAR (columns of z depend on each other and the ridge is zero), GEODEC_NOMEM. */
geodec_status geodec_regression_fit(int64_t rows, int64_t width, int64_t n, const double *z, const double *y,
                                    double ridge, double *map, geodec_err *err) GEODEC_MUST_USE;
/* y [n] at z [width]. */
void geodec_regression_at(int64_t width, int64_t n, const double *map, const double *z, double *y);

#endif
