/* A line about a run that changes while it goes on, on a terminal only. */
#ifndef GEODEC_TOOLS_CLI_LIVE_H
#define GEODEC_TOOLS_CLI_LIVE_H

#include <signal.h>
#include <stdbool.h>

/* Before a text is written to standard output. If that is the terminal of standard error, the last line of the terminal
 * is kept for the live line until live_end: the text scrolls above it. */
void live_begin(void);
/* Shows the line: there, or in the place of a progress line if standard output is no terminal. Control characters are
 * shown as '?'. */
void live_line(const char *text);
/* Gives the last line back; any number of calls. */
void live_end(void);

/* Not 0: the last line is kept. Written before the program ends by a fault: LIVE_RELEASE. */
extern volatile sig_atomic_t live_kept;
#define LIVE_RELEASE "\0337\033[r\0338"

#endif
