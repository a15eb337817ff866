/* Internal: shared by the projection and kvprojection artifacts. */
#ifndef GEODEC_LOWRANK_PROJECTION_INTERNAL_H
#define GEODEC_LOWRANK_PROJECTION_INTERNAL_H

#include "lowrank/projection.h"

extern const char *const geodec__projection_factor_types[]; /* names of the attribute storage, by `half` */

/* GEODEC_CHECKSUM: the artifact is made for another model. */
geodec_status geodec__projection_owner(const geodec_artifact *a, const geodec_model *m,
                                       geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_FORMAT: the n numbers of a field are not all finite. */
geodec_status geodec__projection_finite(const geodec_artifact *a, const char *field, const float *x, int64_t n,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif
