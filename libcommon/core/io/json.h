/* JSON (RFC 8259): a checked reader based on jansson, and a writer whose output depends only on the calls.
 *
 * The reader limits size and depth, reports duplicate keys and invalid UTF-8 as errors, and names file and line. The
 * writer keeps the order of the calls, indents by two spaces, prints each number in its shortest exact form, and prints
 * null for NaN and infinities. */
#ifndef GEODEC_IO_JSON_H
#define GEODEC_IO_JSON_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* A value; members and elements live as long as the root. */
typedef struct json_t geodec_json;
enum { GEODEC_JSON_DEPTH_MAX = 64 };

/* A file of at most `limit` bytes. GEODEC_FORMAT with file and line, GEODEC_LIMIT. Free the root with geodec_json_free.
 */
geodec_status geodec_json_read(const char *path, size_t limit, geodec_json **root, geodec_err *err) GEODEC_MUST_USE;
/* Parses text in memory; messages use `name` in place of the file name. */
geodec_status geodec_json_parse(const char *text, size_t n, const char *name, geodec_json **root,
                                geodec_err *err) GEODEC_MUST_USE;
/* As geodec_json_parse, for a part of a file that begins at line `first_line`; messages use the line numbers of the
 * file. */
geodec_status geodec_json_parse_line(const char *text, size_t n, const char *name, int64_t first_line,
                                     geodec_json **root, geodec_err *err) GEODEC_MUST_USE;
void geodec_json_free(geodec_json *root); /* NULL ok */

/* The member, or NULL when v is not an object or has no such member. */
const geodec_json *geodec_json_member(const geodec_json *v, const char *key);
/* Elements of an array; -1 when v is not an array. */
int64_t geodec_json_length(const geodec_json *v);
/* NULL outside 0..length-1. */
const geodec_json *geodec_json_at(const geodec_json *v, int64_t i);
/* The value itself (key NULL) or a member. GEODEC_NOTFOUND, GEODEC_FORMAT (another type); the message names the key. */
geodec_status geodec_json_get_i64(const geodec_json *v, const char *key, int64_t *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_json_get_f64(const geodec_json *v, const char *key, double *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_json_get_str(const geodec_json *v, const char *key, const char **out,
                                  geodec_err *err) GEODEC_MUST_USE;

/* ---- writing ---------------------------------------------------------------------------------------------------- */

typedef struct geodec_json_writer geodec_json_writer;

/* Writes a file that is put in place at commit; the root value is an open object. */
geodec_status geodec_json_create(const char *path, geodec_json_writer **out, geodec_err *err) GEODEC_MUST_USE;
/* Writes to a stream that the caller owns. */
geodec_status geodec_json_on(FILE *stream, geodec_json_writer **out, geodec_err *err) GEODEC_MUST_USE;
/* key: the member's name inside an object, NULL inside an array. Misuse (a missing key, an extra end) is reported by
 * commit as GEODEC_INVAL. Bytes that are not UTF-8 are written as '?'. */
void geodec_json_begin_object(geodec_json_writer *w, const char *key);
void geodec_json_begin_array(geodec_json_writer *w, const char *key);
void geodec_json_end(geodec_json_writer *w);
void geodec_json_put_i64(geodec_json_writer *w, const char *key, int64_t v);
void geodec_json_put_u64(geodec_json_writer *w, const char *key, uint64_t v);
void geodec_json_put_f64(geodec_json_writer *w, const char *key, double v);
void geodec_json_put_bool(geodec_json_writer *w, const char *key, bool v);
void geodec_json_put_str(geodec_json_writer *w, const char *key, const char *v);
void geodec_json_put_null(geodec_json_writer *w, const char *key);
/* Ends the root object and puts the file in place. Frees w in every case. */
geodec_status geodec_json_commit(geodec_json_writer *w, geodec_err *err) GEODEC_MUST_USE;
void geodec_json_abandon(geodec_json_writer *w); /* NULL ok */

#endif
