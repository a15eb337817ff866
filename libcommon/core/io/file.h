/* Whole files: read-only maps, bounded reads, digests. */
#ifndef GEODEC_IO_FILE_H
#define GEODEC_IO_FILE_H

#include "base/err.h"
#include "base/sha256.h"

#include <stddef.h>
#include <stdint.h>

typedef struct geodec_file_map {
    const uint8_t *data; /* NULL when size is 0 */
    size_t size;
} geodec_file_map;

/* Maps a regular file read-only and registers it (base/mapped.h), because reading a truncated file raises SIGBUS.
 * GEODEC_NOTFOUND, GEODEC_IO (permissions, a folder, ...). */
geodec_status geodec_file_map_open(const char *path, geodec_file_map *out, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_file_map_open, for `size` bytes from `offset`, a multiple of 4,096. GEODEC_FORMAT when the file ends before
 * them. */
geodec_status geodec_file_map_part(const char *path, int64_t offset, int64_t size, geodec_file_map *out,
                                   geodec_err *err) GEODEC_MUST_USE;
void geodec_file_map_close(geodec_file_map *m);
/* Releases the pages under and around data[0 .. n-1]; they are read again on access. */
void geodec_file_map_release(const geodec_file_map *m, const uint8_t *data, size_t n);
/* Announces random access to these bytes: a page fault then does not read neighbouring pages. */
void geodec_file_map_sparse(const geodec_file_map *m, const uint8_t *data, size_t n);
/* A whole text file, zero-terminated, at most limit bytes (GEODEC_LIMIT). "-" reads standard input. Caller frees. */
geodec_status geodec_file_read(const char *path, size_t limit, char **text, size_t *n, geodec_err *err) GEODEC_MUST_USE;
/* Digest of a regular file, or the one that another process of the job computed (io/digests.h). */
geodec_status geodec_file_sha256(const char *path, char hex[GEODEC_SHA256_HEX], geodec_err *err) GEODEC_MUST_USE;
/* Reads the first n bytes, or as many as there are; returns their number, 0 if the file cannot be read. */
size_t geodec_file_head(const char *path, void *to, size_t n);
/* Offset of the first byte that is not valid UTF-8 (overlong and surrogate forms count), or -1. */
int64_t geodec_file_utf8_check(const char *text, size_t n);

#endif
