/* How a long call runs: its threads, its log and progress, and the part of a sweep that it computes. */
#ifndef GEODEC_RUN_H
#define GEODEC_RUN_H

#include "geodec/err.h"

#include <stdint.h>

/* A pool of threads, which a program creates and passes down; NULL always means "run on the caller's thread". Any
 * number of threads gives the same bytes. One caller at a time. */
typedef struct geodec_pool geodec_pool;

/* threads >= 1 workers, the caller included; 0 = number of processors in the scheduler's mask. */
GEODEC_API geodec_status geodec_pool_create(int threads, geodec_pool **out, geodec_err *err) GEODEC_MUST_USE;
/* Joins the workers. NULL ok. */
GEODEC_API void geodec_pool_destroy(geodec_pool *pool);
/* 1 for NULL. */
GEODEC_API int geodec_pool_threads(const geodec_pool *pool);

/* Callbacks of a long call: a log function, and a progress function that can request a stop. NULL for neither. */
typedef enum geodec_log_level { GEODEC_LOG_ERROR, GEODEC_LOG_WARN, GEODEC_LOG_INFO, GEODEC_LOG_DEBUG } geodec_log_level;

typedef struct geodec_hooks {
    void *ctx;
    /* One complete line without newline. NULL: no log. */
    void (*log)(void *ctx, geodec_log_level level, const char *line);
    /* Called from time to time, only from the calling thread; total 0: unknown. A non-zero return stops the call, which
     * ends with GEODEC_INTERRUPTED and leaves no partial output. NULL: no progress. */
    int (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
} geodec_hooks;

/* Slice `index` (from 1) of `count` of the items of a sweep; {0, 0} = everything. The parts joined in the order of
 * index equal one run over all items. */
typedef struct geodec_shard {
    int64_t index, count;
} geodec_shard;

#endif
