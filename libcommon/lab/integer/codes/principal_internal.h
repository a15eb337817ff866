/* Principal components of calibration vectors. */
#ifndef GEODEC_INTEGER_CODES_PRINCIPAL_INTERNAL_H
#define GEODEC_INTEGER_CODES_PRINCIPAL_INTERNAL_H

#include "lab/integer/codes/codes.h"

/* mean [dim]; analysis [dim][dim], a row per value of x, and synthesis [dim][dim], a row per component: y = analysis^T
 * (x - mean) are uncorrelated, variances descending, x = mean + synthesis^T y. With a metric M the error of x counts as
 * that of y: analysis = M^(1/2) V^T. */
geodec_status geodec__principal_fit(int64_t dim, const geodec_codes_sample *s, float *mean, float *analysis,
                                    float *synthesis, geodec_err *err) GEODEC_MUST_USE;
void geodec__principal_analyse(int64_t dim, int64_t n, const float *mean, const float *analysis, const float *x,
                               double *y);
/* x [dim] from the first n numbers of y. */
void geodec__principal_synthesise(int64_t dim, int64_t n, const float *mean, const float *synthesis, const double *y,
                                  float *x);

#endif
