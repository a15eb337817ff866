/* stderr messages, terminal progress, signals and faults of the tools. */
#ifndef GEODEC_TOOLS_CLI_REPORT_H
#define GEODEC_TOOLS_CLI_REPORT_H

#include "base/hooks.h"

#include <stdbool.h>
#include <stddef.h>

/* Installs handlers for faults caused by files. The program ends with one line that names the file, and its partial
 * outputs are removed. The code is 1 for a file that was truncated while mapped (base/mapped.h), and 3 for a file on
 * which the HDF5 library crashes (io/h5.h). While HDF5 reads the structure of a file, the process may allocate at most
 * 1 GiB more memory. Within a limit of the address space the code of every such fault is 1, and of an
 * exit that a library calls. Other faults keep their
 * default action. */
void report_guard(const char *tool);
/* Opens /dev/null in place of standard streams that are closed. Call first. */
void report_streams(void);
/* SIGINT, SIGTERM and SIGHUP set a flag that the progress hook returns; SIGPIPE ends the process without a message and
 * without partial outputs. */
void report_signals(void);
/* After this call, SIGINT ends a turn of a dialogue, not the program. It sets a flag that report_turn_stopped reads and
 * clears. */
void report_turns(void);
bool report_turn_stopped(void);
/* True if a signal asked the program to stop. */
bool report_stop_asked(void);
/* Log lines with the tool's name; progress only when stderr is a terminal. */
geodec_hooks report_hooks(const char *tool, bool quiet, int64_t verbose);
/* Adds to every progress line what `note` writes ("": nothing). NULL: no note. */
void report_note(void (*note)(char *text, size_t n));
/* Shows text in the place of a progress line, if stderr is a terminal. */
void report_live(const char *text);
/* Written to standard error before the program ends by a fault; a constant text, NULL: nothing. */
void report_restore(const char *text);
/* Ends a progress line, if one is open. */
void report_progress_end(void);
/* Prints "tool: message" on one line; with verbose >= 2, the error chain follows. */
void report_error(const char *tool, const geodec_err *err, int64_t verbose);
/* exit, for another place than the end of main: exit itself, within a limit of the address space, is taken for the end
 * of a library that lacks memory. */
void report_exit(int code);
/* Flushes and closes stdout; a failure there (full disk) turns code 0 into 1. Returns the exit code. */
int report_close(const char *tool, int code);

#endif
