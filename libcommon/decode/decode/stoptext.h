/* Finds the first of several stop texts in a stream of bytes. Bytes that cannot be part of a match are passed on, bytes
 * that can are held back, and the output ends before the match. Of matches that end at the same byte the longest
 * counts. */
#ifndef GEODEC_DECODE_STOPTEXT_H
#define GEODEC_DECODE_STOPTEXT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct geodec_stoptext geodec_stoptext;

/* needle [n]: zero-terminated, none empty (GEODEC_INVAL); copied. */
geodec_status geodec_stoptext_create(const char *const *needle, int n, geodec_stoptext **out,
                                     geodec_err *err) GEODEC_MUST_USE;
/* Length of the longest needle. */
size_t geodec_stoptext_room(const geodec_stoptext *s);
void geodec_stoptext_destroy(geodec_stoptext *s);
/* Feeds n bytes; out must hold n + geodec_stoptext_room bytes; *n_out of them are written. Returns true when the needle
 * is complete: the bytes before it are in out, the needle and the rest are dropped, and later calls write nothing. */
bool geodec_stoptext_feed(geodec_stoptext *s, const char *bytes, size_t n, char *out, size_t *n_out);
/* Writes the bytes held back, at the end of the stream, and returns their number. out must hold geodec_stoptext_room
 * bytes. */
size_t geodec_stoptext_flush(geodec_stoptext *s, char *out);

#endif
