/* The rate at which all threads together read memory: the control of every bandwidth. */
#ifndef GEODEC_EVALUATE_READ_LIMIT_H
#define GEODEC_EVALUATE_READ_LIMIT_H

#include "base/err.h"
#include "base/pool.h"

typedef struct geodec_read_limit geodec_read_limit;

/* A buffer of eight last-level caches, at least 256 MiB, with every page touched. */
geodec_status geodec_read_limit_create(geodec_pool *pool, geodec_read_limit **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_read_limit_destroy(geodec_read_limit *r); /* NULL ok */
/* Bytes a second of one pass over the buffer: the best of the patterns (one stream a thread or four, with and without
 * software prefetch). */
double geodec_read_limit_measure(geodec_read_limit *r);

#endif
