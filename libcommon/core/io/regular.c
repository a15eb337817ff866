#include "io/regular.h"

#include "io/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

geodec_status geodec_regular_open(const char *path, geodec_regular *f, geodec_err *err)
{
    struct stat sb;
    f->path = path;
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0) GEODEC_FAIL(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", path, strerror(errno));
    if (fstat(f->fd, &sb) != 0) GEODEC_FAIL(GEODEC_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(sb.st_mode)) GEODEC_FAIL(GEODEC_IO, "%s: not a regular file", path);
    GEODEC_PASS(geodec_inputs_note(path, f->fd, err));
    f->size = (int64_t)sb.st_size;
    return GEODEC_OK;
}

void geodec_regular_close(geodec_regular *f)
{
    if (f->fd >= 0) (void)close(f->fd);
    f->fd = -1;
}

geodec_status geodec_regular_read(const geodec_regular *f, int64_t offset, void *to, int64_t n, geodec_err *err)
{
    uint8_t *p = to;
    while (n > 0) {
        const ssize_t got = pread(f->fd, p, (size_t)n, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            GEODEC_FAIL(GEODEC_IO, "%s: cannot read at byte %lld: %s", f->path, (long long)offset, strerror(errno));
        if (got == 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: the file ends at byte %lld", f->path, (long long)offset);
        p += got;
        offset += got;
        n -= got;
    }
    return GEODEC_OK;
}
