/* Error values: a caller-owned, fixed-size chain of context, from the innermost call outwards. No heap, no globals.
 *
 * Pattern of every fallible function:
 *
 *     geodec_status geodec_thing_compute(..., geodec_err *err)   // err may be NULL
 *     {
 *         geodec_status st = GEODEC_OK;
 *         double *tmp = NULL;
 *         GEODEC_NEW(tmp, n);                                    // from mem.h
 *         if (n < 1) GEODEC_THROW(GEODEC_INVAL, "n = %lld is below 1", (long long)n);
 *         GEODEC_TRY(geodec_other(..., err));
 *         GEODEC_TRY_MSG(geodec_third(..., err), "reading layer %d", layer);
 *     done:
 *         geodec_mem_free(tmp);
 *         return st;
 *     }
 *
 * A function without clean-up returns at once: GEODEC_FAIL for GEODEC_THROW, GEODEC_PASS for GEODEC_TRY,
 * GEODEC_PASS_MSG for GEODEC_TRY_MSG. It needs neither st nor done.
 *
 * Out-parameters are written only on success. */
#ifndef GEODEC_BASE_ERR_H
#define GEODEC_BASE_ERR_H

#include "base/status.h"

#include <stddef.h>

enum { GEODEC_ERR_FRAMES = 8, GEODEC_ERR_TEXT = 240 };

typedef struct geodec_err {
    geodec_status status; /* first (innermost) status; GEODEC_OK if nothing has failed */
    int depth;            /* frames in use; frame[0] is the innermost */
    struct {
        const char *func; /* static string */
        int line;
        char text[GEODEC_ERR_TEXT]; /* "" for a frame that only records its place */
    } frame[GEODEC_ERR_FRAMES];
} geodec_err;

GEODEC_API void geodec_err_clear(geodec_err *err);

/* Starts a new chain with status s and a formatted message; returns s. err may be NULL. */
GEODEC_API geodec_status geodec_err_set(geodec_err *err, geodec_status s, const char *func, int line, const char *fmt,
                                        ...) GEODEC_PRINTF(5, 6);
/* Adds a frame of context to an existing chain (dropped silently when the chain is full); returns s. */
GEODEC_API geodec_status geodec_err_add(geodec_err *err, geodec_status s, const char *func, int line, const char *fmt,
                                        ...) GEODEC_PRINTF(5, 6);

/* Writes the messages outermost first, joined by ": ", on one line without a final newline; control characters
 * become '?'. Always terminates buf (n >= 1). Returns buf. */
GEODEC_API const char *geodec_err_line(const geodec_err *err, char *buf, size_t n);
/* The whole chain with functions and line numbers, one frame per line (for -vv). */
GEODEC_API const char *geodec_err_trace(const geodec_err *err, char *buf, size_t n);

/* These need `geodec_status st`, `geodec_err *err` and a label `done` in scope. */
#define GEODEC_THROW(status_, ...)                                                                                     \
    do {                                                                                                               \
        st = geodec_err_set(err, (status_), __func__, __LINE__, __VA_ARGS__);                                          \
        goto done;                                                                                                     \
    } while (0)

#define GEODEC_TRY(call) GEODEC_TRY_MSG(call, "%s", "")

#define GEODEC_TRY_MSG(call, ...)                                                                                      \
    do {                                                                                                               \
        st = (call);                                                                                                   \
        if (st != GEODEC_OK) {                                                                                         \
            (void)geodec_err_add(err, st, __func__, __LINE__, __VA_ARGS__);                                            \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* These need `geodec_err *err` in scope. */
#define GEODEC_FAIL(status_, ...) return geodec_err_set(err, (status_), __func__, __LINE__, __VA_ARGS__)

#define GEODEC_PASS(call) GEODEC_PASS_MSG(call, "%s", "")

#define GEODEC_PASS_MSG(call, ...)                                                                                     \
    do {                                                                                                               \
        const geodec_status st_ = (call);                                                                              \
        if (st_ != GEODEC_OK) return geodec_err_add(err, st_, __func__, __LINE__, __VA_ARGS__);                        \
    } while (0)

#endif
