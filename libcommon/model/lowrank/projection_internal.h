/* Shared by the projections of weights and of the cache. */
#ifndef GEODEC_LOWRANK_PROJECTION_INTERNAL_H
#define GEODEC_LOWRANK_PROJECTION_INTERNAL_H

#include "lowrank/projection.h"

extern const char *const geodec__projection_factor_types[]; /* values of the attribute `storage`, indexed by `half` */

/* GEODEC_CHECKSUM: the artifact is made for another model. */
geodec_status geodec__projection_owner(const geodec_artifact *a, const geodec_model *m,
                                       geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_FORMAT: not all n numbers of a field are finite. */
geodec_status geodec__projection_finite(const geodec_artifact *a, const char *field, const float *x, int64_t n,
                                        geodec_err *err) GEODEC_MUST_USE;

/* With C' = C + ridge tr(C)/d I of a layer's side: root = C'^(1/2), unroot = C'^(-1/2), both [d][d]. GEODEC_NUMERIC
 * (all activations zero), GEODEC_NOCONV, GEODEC_NOMEM. */
geodec_status geodec__input_moments_roots(const geodec_input_moments *m, geodec_side side, int32_t layer, double ridge,
                                          double *root, double *unroot, geodec_err *err) GEODEC_MUST_USE;
/* c [m][n] = a [m][k] b [k][n]. */
void geodec__projection_product(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c);
/* |x|^2 */
double geodec__projection_squares(int64_t n, const double *x);
/* -1 where the entry of largest magnitude of v [n] is negative, else 1. */
double geodec__projection_sign(int64_t n, const double *v);
/* Rounds x to its stored precision: to float32, and to binary16 with `half`. */
void geodec__projection_store(int64_t n, double *x, bool half, float *to);

#endif
