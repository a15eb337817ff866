/* What every other header needs: the version, the status codes, and error values that carry their chain of context.
 *
 * A function that may fail returns a geodec_status and takes a geodec_err, which may be NULL. It writes its results
 * only on success. The caller prints the error or adds its own context; the library prints nothing.
 *
 * Status codes: one list defines the enum, the names and the texts (docs/manual/errors.md is generated from it).
 * X(NAME, "short text", tool exit code)
 * Exit codes: 0 ok, 1 operational failure, 2 usage, 3 input refused (kind, version, checksum, limits),
 * 4 a requested check failed, 5 not measured (the input is sound, but too small for this measurement), 130
 * interrupted. */
#ifndef GEODEC_ERR_H
#define GEODEC_ERR_H

#include <stddef.h>

#define GEODEC_STATUS_LIST(X)                                                                                          \
    X(OK, "ok", 0)                                                                                                     \
    X(INVAL, "invalid argument", 2)                                                                                    \
    X(RANGE, "value out of range", 2)                                                                                  \
    X(NOMEM, "out of memory", 1)                                                                                       \
    X(IO, "input/output error", 1)                                                                                     \
    X(FORMAT, "malformed input", 3)                                                                                    \
    X(VERSION, "unsupported version", 3)                                                                               \
    X(CHECKSUM, "checksum or fingerprint mismatch", 3)                                                                 \
    X(NOTFOUND, "not found", 1)                                                                                        \
    X(EXISTS, "already exists", 1)                                                                                     \
    X(UNSUPPORTED, "not supported", 3)                                                                                 \
    X(SINGULAR, "singular matrix", 1)                                                                                  \
    X(NOCONV, "no convergence", 1)                                                                                     \
    X(NUMERIC, "numerical failure", 1)                                                                                 \
    X(LIMIT, "limit exceeded", 3)                                                                                      \
    X(CHECK, "check failed", 4)                                                                                        \
    X(SCARCE, "not measured", 5)                                                                                       \
    X(INTERRUPTED, "interrupted", 130)                                                                                 \
    X(INTERNAL, "internal error", 1)

typedef enum geodec_status {
#define X(name, text, code) GEODEC_##name,
    GEODEC_STATUS_LIST(X)
#undef X
        GEODEC_STATUS_COUNT
} geodec_status;

#if defined(__GNUC__)
#define GEODEC_MUST_USE __attribute__((warn_unused_result))
#define GEODEC_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define GEODEC_API __attribute__((visibility("default")))
#else
#define GEODEC_MUST_USE
#define GEODEC_PRINTF(f, a)
#define GEODEC_API
#endif

/* "OK", "INVAL", ...; "?" for a value outside the list. Static storage. */
GEODEC_API const char *geodec_status_name(geodec_status s);
/* "ok", "invalid argument", ... */
GEODEC_API const char *geodec_status_text(geodec_status s);
/* The exit code of a tool that fails with this status. */
GEODEC_API int geodec_status_exit(geodec_status s);

/* Frees memory that a function of the library returned. NULL is allowed. */
GEODEC_API void geodec_mem_free(void *p);

/* "major.minor.patch", from the file VERSION. */
GEODEC_API const char *geodec_version(void);

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

#endif
