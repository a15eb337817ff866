/* Input METRIC.h5 of a stage. */
#ifndef GEODEC_TOOLS_CLI_SPACE_H
#define GEODEC_TOOLS_CLI_SPACE_H

#include "cli/stage.h"
#include "lab/harness/space.h"

/* Opens the metric and adds it to the provenance. */
geodec_status stage_space(cli_stage *stage, const char *path, geodec_harness_space *in,
                          geodec_err *err) GEODEC_MUST_USE;

#endif
