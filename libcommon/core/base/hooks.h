/* Calls of the callbacks that a tool passes down (geodec/run.h). */
#ifndef GEODEC_BASE_HOOKS_H
#define GEODEC_BASE_HOOKS_H

#include "base/err.h"
#include "geodec/run.h"

/* All functions accept hooks == NULL. */
void geodec_hooks_log(const geodec_hooks *h, geodec_log_level level, const char *fmt, ...) GEODEC_PRINTF(3, 4);
geodec_status geodec_hooks_progress(const geodec_hooks *h, const char *what, int64_t done, int64_t total,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
