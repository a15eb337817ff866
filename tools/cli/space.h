/* Input METRIC.h5 of a stage. */
#ifndef GEODEC_TOOLS_CLI_SPACE_H
#define GEODEC_TOOLS_CLI_SPACE_H

#include "chain/metric_open.h"
#include "cli/stage.h"

/* Opens the metric and adds it to the provenance. */
geodec_status stage_space(cli_stage *stage, const char *path, geodec_metric_file *in, geodec_err *err) GEODEC_MUST_USE;
/* Opens the file of the metric alone, for geodec_metric_file_take or geodec_harness_space_take, and adds it to the
 * provenance. */
geodec_status stage_space_file(cli_stage *stage, const char *path, geodec_artifact **file,
                               geodec_err *err) GEODEC_MUST_USE;

#endif
