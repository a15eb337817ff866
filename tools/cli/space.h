/* Input METRIC.h5 of a stage. */
#ifndef GEODEC_TOOLS_CLI_SPACE_H
#define GEODEC_TOOLS_CLI_SPACE_H

#include "cli/stage.h"
#include "lab/harness/space.h"

/* Opens the metric and adds it to the provenance. */
geodec_status stage_space(cli_stage *stage, const char *path, geodec_harness_space *in,
                          geodec_err *err) GEODEC_MUST_USE;
/* For geodec_harness_space_mode. */
#define SPACE_MODE_OPTION(var)                                                                                         \
    OPT_CHOICE("mode", 0, &(var), "correct|ref", "MODE",                                                               \
               "ref: compute as the published harness does, from a metric of geodec-metric --mode ref")

#endif
