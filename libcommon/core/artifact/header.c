/* The user block: a text header with the digest of the rest of the file. */
#include "artifact/artifact_internal.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 18 };

void geodec__header_format(const geodec__header *h, char block[GEODEC__USER_BLOCK])
{
    memset(block, 0, GEODEC__USER_BLOCK);
    (void)snprintf(block, GEODEC__USER_BLOCK, "geodec artifact %s %d.%d\nsha256 %s\n", h->kind, h->major, h->minor,
                   h->sha256);
}

geodec_status geodec__header_parse(const char block[GEODEC__USER_BLOCK], geodec__header *h, geodec_err *err)
{
    static const char mark[] = "geodec artifact ";
    char text[GEODEC__USER_BLOCK + 1], again[GEODEC__USER_BLOCK];
    geodec__header got = {.major = 0};
    memcpy(text, block, GEODEC__USER_BLOCK);
    text[GEODEC__USER_BLOCK] = '\0';
    if (strncmp(text, mark, sizeof mark - 1) != 0) GEODEC_FAIL(GEODEC_FORMAT, "not a Geodec artifact");
    if (sscanf(text + sizeof mark - 1, "%31[A-Za-z0-9_-] %6d.%6d\nsha256 %64[0-9a-f]", got.kind, &got.major, &got.minor,
               got.sha256) != 4)
        GEODEC_FAIL(GEODEC_FORMAT, "the artifact's header is damaged");
    /* Only one form is accepted, so every bit of the block is checked. */
    geodec__header_format(&got, again);
    if (memcmp(again, block, GEODEC__USER_BLOCK) != 0) GEODEC_FAIL(GEODEC_FORMAT, "the artifact's header is damaged");
    *h = got;
    return GEODEC_OK;
}

geodec_status geodec__header_digest(int fd, int64_t start, char hex[GEODEC_SHA256_HEX], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *buf = NULL;
    geodec_sha256 h;
    off_t at = (off_t)start;
    geodec_sha256_init(&h);
    GEODEC_NEW(buf, BLOCK);
    for (;;) {
        const ssize_t got = pread(fd, buf, BLOCK, at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) GEODEC_THROW(GEODEC_IO, "cannot read: %s", strerror(errno));
        if (got == 0) break;
        geodec_sha256_update(&h, buf, (size_t)got);
        at += got;
    }
    geodec_sha256_hex(&h, hex);
done:
    geodec_mem_free(buf);
    return st;
}
