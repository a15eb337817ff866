/* Tables for programs that handle SIGBUS, which reading past the end of a mapped file raises after the file was
 * truncated. The library records the mapped files and the outputs that are not yet in place; it installs no handler. A
 * program may install one that finds the file's name, removes the outputs and exits (the tools do: tools/cli/report.h).
 *
 * Both tables have a fixed size and no locks. Entries that do not fit (too many files, long names) are left out; a
 * SIGBUS on such a file ends the program as without a handler. */
#ifndef GEODEC_BASE_MAPPED_H
#define GEODEC_BASE_MAPPED_H

#include "geodec/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { GEODEC_MAPPED_MAX = 64, GEODEC_PARTIAL_MAX = 64, GEODEC_MAPPED_NAME = 1024 };

/* Registers the n bytes at data as a map of the named file. */
void geodec_mapped_add(const void *data, size_t n, const char *name);
/* Call before the bytes are unmapped. */
void geodec_mapped_remove(const void *data);
/* Name of the file that is mapped at address, or NULL. *n: bytes of its map. Async-signal-safe. */
const char *geodec_mapped_find(const void *address, size_t *n);

/* Registers an output under its temporary name. Returns an index for geodec_mapped_partial_remove, -1 when the table is
 * full. */
int geodec_mapped_partial_add(const char *path);
void geodec_mapped_partial_remove(int number);
/* Removes all outputs that are not in place. Async-signal-safe. */
void geodec_mapped_partial_unlink(void);

#endif
