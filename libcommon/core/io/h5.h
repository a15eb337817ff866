/* HDF5 start-up and the guard around reads. HDF5 is called from one thread only. */
#ifndef GEODEC_IO_H5_H
#define GEODEC_IO_H5_H

#include "base/err.h"

#include <stdbool.h>

/* Switches HDF5's automatic error printing off. Idempotent; tools and tests call it once at start-up. */
void geodec_io_init(void);

/* HDF5 trusts the structure of a file: a damaged file can make it allocate any amount of memory, or crash. If a program
 * has set enter and leave, the library calls them around every read of a file. A program sets them before it starts
 * threads, as the tools do. name: the file. few: the read needs little memory (structure, no numbers), so the program
 * may limit memory. Calls are not nested and come from the thread that calls HDF5. */
typedef struct geodec_io_guard {
    void (*enter)(const char *path, bool few);
    void (*leave)(void);
} geodec_io_guard;
void geodec_io_set_guard(const geodec_io_guard *guard); /* NULL: none */

/* When a call of HDF5 fails for lack of memory, HDF5 may free its memory twice: the process is no longer sound. If a
 * program has set `unsafe`, the library calls it then, within a limit of the address space only, with the error's text.
 * A program ends itself there without further use of its memory, as the tools do; if it returns, the error is returned
 * as any other. NULL: none. */
void geodec_io_set_unsafe(void (*unsafe)(const char *what));

#endif
