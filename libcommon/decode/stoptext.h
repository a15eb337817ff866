/* A stop text in a stream of bytes: passes on bytes that cannot be part of a match, holds back those that can, ends
 * before the match. */
#ifndef GEODEC_DECODE_STOPTEXT_H
#define GEODEC_DECODE_STOPTEXT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct geodec_stoptext geodec_stoptext;

/* needle: zero-terminated, not empty (GEODEC_INVAL); copied. */
GEODEC_API geodec_status geodec_stoptext_create(const char *needle, geodec_stoptext **out,
                                                geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_stoptext_destroy(geodec_stoptext *s);
/* Feeds n bytes; out must hold n + strlen(needle) bytes and gets *n_out of them. True when the needle is complete: the
 * bytes before it are out, it and the rest are dropped, and later calls give nothing. */
GEODEC_API bool geodec_stoptext_feed(geodec_stoptext *s, const char *bytes, size_t n, char *out, size_t *n_out);
/* At the end of the stream: the bytes held back. out must hold strlen(needle) bytes. */
GEODEC_API size_t geodec_stoptext_flush(geodec_stoptext *s, char *out);

#endif
