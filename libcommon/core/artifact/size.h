/* Sizes of an artifact that is not written yet, from the table of its kind. */
#ifndef GEODEC_ARTIFACT_SIZE_H
#define GEODEC_ARTIFACT_SIZE_H

#include "artifact/artifact.h"

typedef struct geodec_size_dim {
    const char *name; /* of a dimension: "N" */
    int64_t extent;
} geodec_size_dim;

typedef struct geodec_size {
    int64_t fields;  /* bytes of the numbers */
    int64_t buffers; /* bytes in memory while they are written: at most 4 MiB a field, a chunk of one that
                      * grows */
} geodec_size;

/* n: dimensions that are given. Optional fields count only if `optional` (paths separated by blanks, NULL: none) has
 * them. What compression saves is not known and not counted. GEODEC_INVAL for a dimension that is needed and not given,
 * GEODEC_LIMIT for a field that is too large. */
geodec_status geodec_size_of(const geodec_kind *kind, int n, const geodec_size_dim *dims, const char *optional,
                             geodec_size *out, geodec_err *err) GEODEC_MUST_USE;

#endif
