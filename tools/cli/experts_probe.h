/* geodec-experts probe: how fast a disk delivers blobs. */
#ifndef GEODEC_TOOLS_CLI_EXPERTS_PROBE_H
#define GEODEC_TOOLS_CLI_EXPERTS_PROBE_H

#include "cli/cli.h"

#include <stdint.h>

/* Reads blobs at random places of a file; prints the speed and the latency, a name, a tab and a value a line. */
geodec_status experts_probe(const cli *c, const char *file, int64_t blob, int64_t in_flight, double seconds,
                            geodec_err *err) GEODEC_MUST_USE;

#endif
