/* What a run needs, as a list of named sizes, parts of its memory and parts of its time. Each stage fills a list before
 * it runs; `--plan` of its tool prints it.
 *
 * The parts of the memory are those that exist at the same time when the run needs most. The parts of the time follow
 * each other; each is processor time of one thread, or of work that all threads share. */
#ifndef GEODEC_BASE_NEEDS_H
#define GEODEC_BASE_NEEDS_H

#include "geodec/err.h"

#include <stdint.h>

enum { GEODEC_NEEDS_ROWS = 64, GEODEC_NEEDS_NAME = 48 };

typedef struct geodec_needs_row {
    char name[GEODEC_NEEDS_NAME]; /* "points", "memory.inputs", "seconds.field" */
    double value;                 /* of a time: elapsed seconds */
} geodec_needs_row;

/* All zero: nothing, with one thread. */
typedef struct geodec_needs {
    int64_t threads;  /* that work at the same time; below 1 counts as 1 */
    double memory;    /* bytes, the sum of the parts */
    double seconds;   /* elapsed, if the threads have processors of their own: the sum of the parts */
    double processor; /* seconds of all threads */
    int n;            /* rows, in the order in which they were added; further ones only count in the sums */
    geodec_needs_row row[GEODEC_NEEDS_ROWS];
} geodec_needs;

/* A size that the needs follow from: row `name`. */
void geodec_needs_size(geodec_needs *n, const char *name, double value);
/* Row "memory.NAME". */
void geodec_needs_memory(geodec_needs *n, const char *name, double bytes);
/* Row "seconds.NAME": processor seconds of work that only one thread does, and of work that the threads divide. */
void geodec_needs_time(geodec_needs *n, const char *name, double serial, double parallel);

#endif
