/* Digests that one process of a job computes for all of them. Several processes that read the same files then do not
 * each read them whole: the first one notes the digests that it computes, passes the list on, and the others take a
 * digest from it instead of computing it.
 *
 * A digest is taken for the same path only while the file has the size and the time of modification that it had in the
 * first process. Devices and inodes differ between machines and are not compared. */
#ifndef GEODEC_IO_DIGESTS_H
#define GEODEC_IO_DIGESTS_H

#include "base/err.h"
#include "base/sha256.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_DIGESTS_MAX = 64 }; /* further ones are not noted, and every process computes them */

/* What a digest is of. */
typedef enum geodec_digest_part {
    GEODEC_DIGEST_FILE,   /* all bytes */
    GEODEC_DIGEST_BODY,   /* those after the header of an artifact */
    GEODEC_DIGEST_TENSORS /* the tensors of a GGUF file */
} geodec_digest_part;

/* Plain data: may be sent to a process on another machine of the same kind. */
typedef struct geodec_digest {
    char path[GEODEC_SHA256_HEX]; /* digest of the path */
    char sha256[GEODEC_SHA256_HEX];
    int64_t part, size, seconds, nanoseconds;
} geodec_digest;

/* Digests are noted from now on. Off at the start. */
void geodec_digests_note(void);
/* Ends noting; the noted digests, and their number. */
int geodec_digests_noted(geodec_digest out[GEODEC_DIGESTS_MAX]);
/* Takes over the n digests that another process noted, in place of earlier ones; n = 0 forgets them. */
void geodec_digests_trust(int n, const geodec_digest *list);

/* For the readers of the library. find: whether the digest of the file open as fd is known. add: notes one. */
bool geodec_digests_find(const char *path, geodec_digest_part part, int fd, char hex[GEODEC_SHA256_HEX]);
void geodec_digests_add(const char *path, geodec_digest_part part, int fd, const char hex[GEODEC_SHA256_HEX]);

#endif
