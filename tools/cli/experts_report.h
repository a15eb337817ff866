/* geodec-experts forecast and timeline: reports of streamed runs (--experts report=FILE). */
#ifndef GEODEC_TOOLS_CLI_EXPERTS_REPORT_H
#define GEODEC_TOOLS_CLI_EXPERTS_REPORT_H

#include "cli/cli.h"

/* Numbers of a machine in place of those that a report has; below 0: as measured. */
typedef struct experts_machine {
    double bandwidth;              /* bytes a second */
    double layer_seconds, latency; /* of computing a layer; of a read beside its bytes */
    double rest_seconds;
} experts_machine;

/* Prints a row for each report: what was counted, the measured speed, and the closed form (streaming/closed_form.h)
 * with the counted shares. */
geodec_status experts_forecast(char **path, int32_t n, const experts_machine *machine, geodec_err *err) GEODEC_MUST_USE;
/* Prints a row for each point of the course of a run. */
geodec_status experts_timeline(const char *path, geodec_err *err) GEODEC_MUST_USE;

#endif
