#include "base/hooks.h"

#include <stdarg.h>
#include <stdio.h>

void geodec_hooks_log(const geodec_hooks *h, geodec_log_level level, const char *fmt, ...)
{
    if (!h || !h->log) return;
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    h->log(h->ctx, level, line);
}

geodec_status geodec_hooks_progress(const geodec_hooks *h, const char *what, int64_t done, int64_t total,
                                    geodec_err *err)
{
    if (!h || !h->progress || h->progress(h->ctx, what, done, total) == 0) return GEODEC_OK;
    if (total > 0)
        GEODEC_FAIL(GEODEC_INTERRUPTED, "interrupted (%s %lld of %lld)", what, (long long)done, (long long)total);
    GEODEC_FAIL(GEODEC_INTERRUPTED, "interrupted (%s)", what);
}
