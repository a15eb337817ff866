/* Opens METRIC.h5: the first step of every stage that takes a metric. */
#ifndef GEODEC_CHAIN_METRIC_OPEN_H
#define GEODEC_CHAIN_METRIC_OPEN_H

#include "chain/metric_space.h"

/* Zero before it is opened; stays where it is, for `space` may point into it. */
typedef struct geodec_metric_file {
    const geodec_space *space; /* the metric, whatever its kind */
    geodec_artifact *file;     /* open, for provenance and the fields of the source */
    geodec_metric metric; /* kind, points, neighbours, matrices (NULL: those of a large field, which stay in a file) */
    const geodec_rbf *field;    /* of the kinds that are fields; NULL otherwise */
    geodec_metric_space smooth; /* owner of space and field */
} geodec_metric_file;

/* The errors of geodec_artifact_open, geodec_metric_read and geodec_metric_space_init; GEODEC_INVAL for the published
 * manifold, which geodec-published reads. Nothing is left open on failure. */
geodec_status geodec_metric_file_open(const char *path, geodec_metric_file *out, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_metric_file_open, for a file that is open; *out closes it, also on failure. */
geodec_status geodec_metric_file_take(geodec_artifact *file, geodec_metric_file *out, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_metric_file_take, for the published manifold too: its matrices are read, and it has no space here. */
geodec_status geodec_metric_file_take_any(geodec_artifact *file, geodec_metric_file *out,
                                          geodec_err *err) GEODEC_MUST_USE;
void geodec_metric_file_close(geodec_metric_file *s); /* all zero is allowed */

#endif
