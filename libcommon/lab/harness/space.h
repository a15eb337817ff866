/* Opens METRIC.h5 of any kind: the first step of every stage that takes a metric. */
#ifndef GEODEC_LAB_HARNESS_SPACE_H
#define GEODEC_LAB_HARNESS_SPACE_H

#include "chain/metric_space.h"
#include "lab/harness/manifold.h"

/* Zero before geodec_harness_space_open; stays where it is, for `space` may point into it. */
typedef struct geodec_harness_space {
    const geodec_space *space; /* the metric, whatever its kind */
    geodec_artifact *file;     /* open, for provenance and the fields of the source */
    geodec_metric metric; /* kind, points, neighbours, matrices (NULL: those of a large field, which stay in a file) */
    const geodec_rbf *field;                  /* of the kinds that are fields; NULL otherwise */
    const geodec_harness_manifold *published; /* of the kind `published`; NULL otherwise */
    geodec_metric_space smooth;               /* owner of space and field but for the kind `published` */
    geodec_harness_manifold manifold;         /* owner for the kind `published` */
} geodec_harness_space;

/* The errors of geodec_artifact_open, geodec_metric_read, geodec_metric_space_init and geodec_harness_manifold_read.
 * Nothing is left open on failure. */
GEODEC_API geodec_status geodec_harness_space_open(const char *path, geodec_harness_space *out,
                                                   geodec_err *err) GEODEC_MUST_USE;
/* The same for a file that is open; *out closes it, also on failure. */
GEODEC_API geodec_status geodec_harness_space_take(geodec_artifact *file, geodec_harness_space *out,
                                                   geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_INVAL when the metric is the published manifold and must not be, or is not and must. */
GEODEC_API geodec_status geodec_harness_space_check(const geodec_harness_space *s, bool published,
                                                    geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_harness_space_close(geodec_harness_space *s); /* all zero is allowed */

#endif
