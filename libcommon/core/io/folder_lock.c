#include "io/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

geodec_status geodec_folder_lock(const char *folder, int *lock, geodec_err *err)
{
    int failed;
    *lock = -1;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        GEODEC_FAIL(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: cannot open: %s", folder, strerror(errno));
    do failed = flock(fd, LOCK_EX | LOCK_NB);
    while (failed && errno == EINTR);
    if (!failed) {
        *lock = fd;
        return GEODEC_OK;
    }
    const int e = errno;
    (void)close(fd);
    if (e == EWOULDBLOCK) GEODEC_FAIL(GEODEC_EXISTS, "%s: another process is writing it", folder);
    return GEODEC_OK; /* NFS has no locks of what is open for reading only */
}

void geodec_folder_unlock(int lock)
{
    if (lock >= 0) (void)close(lock);
}
