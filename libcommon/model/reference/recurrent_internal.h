/* Internal: the recurrent part of a block in float64 (recurrent.c), from the normalised stream z [n][d_model] to the
 * input of its output matrix, out [n][d or width]. Derivatives concern rows first .. n-1; tangents are
 * [k][n - first][..]. */
#ifndef GEODEC_REFERENCE_RECURRENT_INTERNAL_H
#define GEODEC_REFERENCE_RECURRENT_INTERNAL_H

#include "reference/reference_internal.h"

typedef struct geodec__ref_recurrent geodec__ref_recurrent;

/* Room for what a layer of this shape computes of so many rows. */
geodec_status geodec__reference_recurrent_create(const geodec__recurrent *l, int64_t rows, geodec__ref_recurrent **out,
                                                 geodec_err *err) GEODEC_MUST_USE;
void geodec__reference_recurrent_destroy(geodec__ref_recurrent *a); /* NULL ok */
/* a keeps what the derivatives need. */
geodec_status geodec__reference_recurrent_run(const geodec_reference *r, const geodec__recurrent *l, int64_t n,
                                              const double *z, geodec__ref_recurrent *a, double *out,
                                              geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_recurrent_jvp(const geodec_reference *r, const geodec__recurrent *l, int64_t n,
                                              int64_t first, geodec__ref_recurrent *a, int64_t k, const double *dz,
                                              double *dout, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_recurrent_vjp(const geodec_reference *r, const geodec__recurrent *l, int64_t n,
                                              int64_t first, geodec__ref_recurrent *a, int64_t k, const double *gout,
                                              double *gz, geodec_err *err) GEODEC_MUST_USE;

/* The first half of a block, with attention, a recurrent part, both or neither: as mix (reference_internal.h). */
geodec_status geodec__reference_first(geodec__ref_tape *t, const geodec__layer *l, double *x,
                                      geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_first_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                          geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_first_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gx,
                                          geodec_err *err) GEODEC_MUST_USE;
/* The tape's room for recurrent layers. */
geodec_status geodec__reference_recurrent_tape(geodec__ref_tape *t, geodec_err *err) GEODEC_MUST_USE;

#endif
