/* How the library returns errors (geodec/err.h): a caller-owned, fixed-size chain of context, from the innermost call
 * outwards. No heap, no globals.
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

#include "geodec/err.h"

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
