/* Internal: shared by the files of the validity experiment. */
#ifndef GEODEC_CHAIN_VALIDITY_INTERNAL_H
#define GEODEC_CHAIN_VALIDITY_INTERNAL_H

#include "chain/validity.h"

/* Mean error at g-length eps; infinity when a path breaks down. */
typedef geodec_status (*geodec__mean_error_fn)(void *ctx, double eps, double *mean, geodec_err *err);

/* Radius between low (mean_low <= tau) and high (mean_high > tau), to 1 %: by false position in (log eps, log mean),
 * where a second-order error is a straight line, with bisection as a safeguard. */
geodec_status geodec__validity_refine(geodec__mean_error_fn fn, void *ctx, double tau, double low, double mean_low,
                                      double high, double mean_high, double *radius, geodec_err *err) GEODEC_MUST_USE;

/* The reference path of a start: its end x_T [n] (or NULL) and the propagator phi [n][n]. phi is not written if the
 * path or the propagator breaks down (*status GEODEC_PATH_NONFINITE). */
geodec_status geodec__validity_reference(const geodec_space *s, const geodec_validity_options *o, const double *x0,
                                         const double *v0, double *x_T, double *phi, uint8_t *status,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
