/* Opens METRIC.h5 of any kind: what every tool that takes a metric begins with. */
#ifndef GEODEC_TOOLS_CLI_SPACE_H
#define GEODEC_TOOLS_CLI_SPACE_H

#include "chain/metric_space.h"
#include "cli/stage.h"
#include "lab/harness/manifold.h"

/* Zero before space_open; stays where it is, for `space` may point into it. */
typedef struct space_handle {
    const geodec_space *space; /* the metric, whatever its kind */
    geodec_artifact *file;     /* open, for provenance and the fields of the source */
    geodec_metric metric; /* kind, points, neighbours, matrices (NULL: those of a large field, which stay in a file) */
    const geodec_rbf *field;                  /* of the kinds that are fields; NULL otherwise */
    const geodec_harness_manifold *published; /* of the kind `published`; NULL otherwise */
    geodec_metric_space smooth;               /* owner of space and field but for the kind `published` */
    geodec_harness_manifold manifold;         /* owner for the kind `published` */
} space_handle;

/* The errors of geodec_artifact_open, geodec_metric_read, geodec_metric_space_init and geodec_harness_manifold_read.
 * Nothing is left open on failure. */
geodec_status space_open(const char *path, space_handle *out, geodec_err *err) GEODEC_MUST_USE;
/* Opens the metric of a stage and adds it to the provenance. */
geodec_status stage_space(cli_stage *stage, const char *path, space_handle *in, geodec_err *err) GEODEC_MUST_USE;
/* --mode correct|ref of a tool against the metric it was given: *ref. GEODEC_INVAL when they do not go together: ref
 * needs the published manifold (geodec-metric --mode ref), which nothing else should be computed on. */
#define SPACE_MODE_OPTION(var)                                                                                         \
    OPT_CHOICE("mode", 0, &(var), "correct|ref", "MODE",                                                               \
               "ref: as the published harness, on a metric of geodec-metric --mode ref")
geodec_status space_mode(const space_handle *s, const char *mode, bool *ref, geodec_err *err) GEODEC_MUST_USE;
void space_close(space_handle *s); /* all zero is allowed */

#endif
