/* Callbacks of a tool for a long-running library call: a log function and a progress function that can request a
 * stop. */
#ifndef GEODEC_BASE_HOOKS_H
#define GEODEC_BASE_HOOKS_H

#include "base/err.h"

#include <stdint.h>

typedef enum geodec_log_level { GEODEC_LOG_ERROR, GEODEC_LOG_WARN, GEODEC_LOG_INFO, GEODEC_LOG_DEBUG } geodec_log_level;

typedef struct geodec_hooks {
    void *ctx;
    /* One complete line without newline. NULL: no log. */
    void (*log)(void *ctx, geodec_log_level level, const char *line);
    /* Called from time to time, only from the calling thread; total 0: unknown. A non-zero return stops the call, which
     * ends with GEODEC_INTERRUPTED and leaves no partial output. NULL: no progress. */
    int (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
} geodec_hooks;

/* All functions accept hooks == NULL. */
GEODEC_API void geodec_hooks_log(const geodec_hooks *h, geodec_log_level level, const char *fmt, ...)
    GEODEC_PRINTF(3, 4);
GEODEC_API geodec_status geodec_hooks_progress(const geodec_hooks *h, const char *what, int64_t done, int64_t total,
                                               geodec_err *err) GEODEC_MUST_USE;

#endif
