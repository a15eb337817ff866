/* Input of geodec-verify-geometry: the fields of any HDF5 file, or points of a metric. */
#ifndef GEODEC_LAB_VERIFICATION_INPUT_H
#define GEODEC_LAB_VERIFICATION_INPUT_H

#include "chain/metric.h"
#include "lab/verification/verification.h"

/* Owner of the arrays of a geodec_verification_field. */
typedef struct geodec_verification_input {
    double *x, *g, *dg, *gamma, *dgamma, *riem, *ricci, *scalar;
} geodec_verification_input;

/* Whether the file begins as an artifact does. */
bool geodec_verification_input_is_artifact(const char *path);
/* The datasets points and g of a group, and dg, gamma, dgamma, riemann, ricci and scalar_curvature where they are
 * there; *f borrows from *a, which the caller clears on failure too. GEODEC_FORMAT: a dimension outside 1..64; the
 * errors of geodec_foreign_read. */
geodec_status geodec_verification_input_read(const char *path, const char *group, geodec_verification_input *a,
                                             geodec_verification_field *f, geodec_err *err) GEODEC_MUST_USE;
void geodec_verification_input_clear(geodec_verification_input *a); /* all zero is allowed */
/* Up to `samples` points of the metric, evenly spread, then those half-way to the nearest neighbour of each, where the
 * space is defined there: *out [*count][n] in new memory. */
geodec_status geodec_verification_input_points(const geodec_metric *m, const geodec_space *space, int64_t samples,
                                               double **out, int64_t *count, geodec_err *err) GEODEC_MUST_USE;
/* Whether the metric's kind has constant curvature, and which. */
bool geodec_verification_input_curvature(const geodec_metric *m, double *k);

#endif
