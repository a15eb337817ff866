/* Output files that are written atomically: a temporary name in the same folder, fsync, rename. */
#ifndef GEODEC_IO_ATOMIC_H
#define GEODEC_IO_ATOMIC_H

#include "base/err.h"

#include <stddef.h>
#include <stdio.h>

typedef struct geodec_atomic geodec_atomic;

/* Opens `.name.tmp` in the folder of path, and replaces one left by a killed run. GEODEC_EXISTS while another process
 * writes it. */
geodec_status geodec_atomic_open(const char *path, geodec_atomic **out, geodec_err *err) GEODEC_MUST_USE;
/* The temporary file's name (for libraries that open by name), its descriptor, and its buffered stream, which has no
 * descriptor of its own (fileno fails). */
const char *geodec_atomic_tmp(const geodec_atomic *f);
int geodec_atomic_fd(const geodec_atomic *f);
FILE *geodec_atomic_stream(geodec_atomic *f);
geodec_status geodec_atomic_write(geodec_atomic *f, const void *data, size_t n, geodec_err *err) GEODEC_MUST_USE;
/* Flush, fsync, rename, fsync the folder. Frees f in every case. */
geodec_status geodec_atomic_commit(geodec_atomic *f, geodec_err *err) GEODEC_MUST_USE;
/* Removes the temporary file. NULL ok. */
void geodec_atomic_abandon(geodec_atomic *f);

#endif
