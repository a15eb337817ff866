/* Opens METRIC.h5 of any kind, the published manifold too. */
#ifndef GEODEC_LAB_HARNESS_SPACE_H
#define GEODEC_LAB_HARNESS_SPACE_H

#include "chain/metric_open.h"
#include "lab/harness/manifold.h"

/* Zero before geodec_harness_space_take; stays where it is, for `space` may point into it. */
typedef struct geodec_harness_space {
    const geodec_space *space; /* the metric, whatever its kind */
    geodec_metric_file of;
    const geodec_harness_manifold *published; /* of the kind `published`; NULL otherwise */
    geodec_harness_manifold manifold;         /* its owner */
} geodec_harness_space;

/* The file is open; *out closes it, also on failure. The errors of geodec_metric_file_take and
 * geodec_harness_manifold_read. */
geodec_status geodec_harness_space_take(geodec_artifact *file, geodec_harness_space *out,
                                        geodec_err *err) GEODEC_MUST_USE;
void geodec_harness_space_close(geodec_harness_space *s); /* all zero is allowed */

#endif
