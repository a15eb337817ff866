/* geodec-experts probe, and plan of a report: the disk, and what the closed form expects of it. */
#ifndef GEODEC_TOOLS_CLI_EXPERTS_DISK_H
#define GEODEC_TOOLS_CLI_EXPERTS_DISK_H

#include "cli/cli.h"

#include <stdint.h>

/* Reads blobs at random places of a file; prints the speed and the latency, a name, a tab and a value a line. */
geodec_status experts_probe(const cli *c, const char *file, int64_t blob, int64_t in_flight, double seconds,
                            geodec_err *err) GEODEC_MUST_USE;

typedef struct experts_disk_of_run {
    double bandwidth, latency;  /* bytes a second, 0: as the run measured; seconds */
    double layer_seconds, rest; /* below 0: as the run measured; seconds */
} experts_disk_of_run;
/* Prints the closed form for the shares that a run reported (--experts report=FILE), beside the run itself. */
geodec_status experts_plan_of_report(const char *report, const experts_disk_of_run *d, geodec_err *err) GEODEC_MUST_USE;

#endif
