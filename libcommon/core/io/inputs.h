/* The files that a command reads must not change while it runs: a result would mix two versions, and its record would
 * have the digest of one. The readers of the library note each file when they open it. Outputs are put in place only if
 * the noted files are as they were (io/atomic.h), and a program checks once more at its end.
 *
 * A version is device, inode, size and time of modification. A file that is replaced by rename while it is open stays
 * readable, so this alone is no change; reading the new file too is one. Times have the resolution of the system's
 * clock (a few milliseconds before Linux 6.13): a change of a file that is younger than this goes unnoticed. */
#ifndef GEODEC_IO_INPUTS_H
#define GEODEC_IO_INPUTS_H

#include "base/err.h"

enum { GEODEC_INPUTS_WATCHED = 64 }; /* further files are not watched */

/* Switches noting on, for the whole process. Off at the start, because a program that reads, changes and reads a file
 * again is no mistake in general. */
void geodec_inputs_watch(void);
/* Notes the regular file that is open as fd; keeps a descriptor of its own. GEODEC_IO when another version of `path`
 * was noted before. */
geodec_status geodec_inputs_note(const char *path, int fd, geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_IO with the name of the first noted file that has changed. */
geodec_status geodec_inputs_check(geodec_err *err) GEODEC_MUST_USE;
/* The file at `path` is about to be replaced by this process: it is no longer watched. */
void geodec_inputs_forget(const char *path);

#endif
