/* stderr messages, terminal progress, signals and faults of the tools. */
#ifndef GEODEC_TOOLS_CLI_REPORT_H
#define GEODEC_TOOLS_CLI_REPORT_H

#include "base/hooks.h"

#include <stdbool.h>

/* From now on a file that is truncated while it is mapped, and one on which the HDF5 library crashes, ends the program
 * with one line that names it, its partial outputs removed: code 1 for a truncated one (base/mapped.h), 3 for one that
 * HDF5 crashes on (io/h5.h). While HDF5 reads the structure of a file the process may take 1 GiB more memory, no more.
 * Every other fault ends the program as before. */
void report_guard(const char *tool);
/* SIGINT, SIGTERM and SIGHUP set a flag the progress hook reports; SIGPIPE ends the process quietly. */
void report_signals(void);
/* From now on SIGINT ends a turn, not the program: it sets a flag that report_turn_stopped reads and clears. */
void report_turns(void);
bool report_turn_stopped(void);
/* Was the program asked to stop? */
bool report_stop_asked(void);
/* Log lines with the tool's name; progress only when stderr is a terminal. */
geodec_hooks report_hooks(const char *tool, bool quiet, int64_t verbose);
/* Ends a progress line, if one is open. */
void report_progress_end(void);
/* "tool: message" on one line; with verbose >= 2 the chain follows. */
void report_error(const char *tool, const geodec_err *err, int64_t verbose);
/* Flushes and closes stdout; a failure there (full disk) turns code 0 into 1. Returns the exit code. */
int report_close(const char *tool, int code);

#endif
