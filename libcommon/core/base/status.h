/* Status codes: one X-macro list defines the enum, the names and the texts (docs/manual/errors.md is generated from
 * it).
 *
 * X(NAME, "short text", tool exit code)
 * Exit codes: 0 ok, 1 operational failure, 2 usage, 3 input refused (kind, version, checksum, limits),
 * 4 a requested check failed, 5 not measured (the input is sound, but too small for this measurement), 130
 * interrupted. */
#ifndef GEODEC_BASE_STATUS_H
#define GEODEC_BASE_STATUS_H

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

#endif
