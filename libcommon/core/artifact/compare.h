/* Checks all data of an artifact, and compares two artifacts field by field. Rows are read in slabs of bounded size. */
#ifndef GEODEC_ARTIFACT_COMPARE_H
#define GEODEC_ARTIFACT_COMPARE_H

#include "artifact/artifact.h"
#include "base/hooks.h"

/* Reads every field of an opened artifact, which verifies the chunk checksums. GEODEC_CHECK for NaN or infinity in a
 * field or attribute that does not allow them; GEODEC_CHECKSUM, GEODEC_INTERRUPTED. */
geodec_status geodec_artifact_verify(const geodec_artifact *a, const geodec_hooks *hooks,
                                     geodec_err *err) GEODEC_MUST_USE;

typedef enum geodec_diff_state {
    GEODEC_DIFF_SAME,
    GEODEC_DIFF_VALUES,
    GEODEC_DIFF_SHAPE,
    GEODEC_DIFF_ONLY_A,
    GEODEC_DIFF_ONLY_B,
    GEODEC_DIFF_ABSENT, /* an optional member that neither file has */
} geodec_diff_state;

typedef struct geodec_diff {
    geodec_diff_state state;
    int64_t n;        /* elements compared */
    int64_t n_beyond; /* elements among them beyond the tolerance */
    int64_t first;    /* index in C order of the first element beyond the tolerance, -1 = none */
    double max_abs;   /* largest |a - b|; infinity if only one of the two is NaN or infinite */
    double max_rel;   /* largest |a - b| / max(|a|, |b|) */
    double a, b;      /* values at `first` */
} geodec_diff;

/* Values are equal when |a - b| <= atol + rtol |b|, both are NaN, or both the same infinity; 64-bit integers are
 * compared as integers when both tolerances are 0. The artifacts must be of the same kind (GEODEC_INVAL). */
geodec_status geodec_artifact_diff_field(const geodec_artifact *a, const geodec_artifact *b, const char *path,
                                         double rtol, double atol, const geodec_hooks *hooks, geodec_diff *out,
                                         geodec_err *err) GEODEC_MUST_USE;
/* A number is compared like a field of one element; texts are compared for equality. */
geodec_status geodec_artifact_diff_attr(const geodec_artifact *a, const geodec_artifact *b, const char *attr,
                                        double rtol, double atol, geodec_diff *out, geodec_err *err) GEODEC_MUST_USE;

#endif
