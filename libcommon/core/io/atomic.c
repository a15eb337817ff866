#include "io/atomic.h"

#include "base/mapped.h"
#include "base/mem.h"
#include "io/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STREAM_BUFFER = 1 << 16 };

struct geodec_atomic {
    char *target, *tmp, *folder;
    int noted;       /* index in base/mapped.h's table of partial outputs, or -1 */
    int fd;          /* holds the lock until the file is renamed or removed */
    FILE *stream;    /* created on first use; reads and writes fd */
    int write_error; /* first errno of a failed write, reported by commit */
};

static geodec_status status_of(int e) { return e == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO; }

/* Follows a link to its target. Devices and folders are errors, because a rename would replace them. */
static geodec_status resolve(const char *path, char **target, geodec_err *err)
{
    struct stat sb;
    if (!path[0]) GEODEC_FAIL(GEODEC_INVAL, "the output has an empty name");
    if (lstat(path, &sb) == 0 && S_ISLNK(sb.st_mode)) {
        char *real = realpath(path, NULL);
        if (!real) GEODEC_FAIL(status_of(errno), "%s: %s", path, strerror(errno));
        *target = geodec_mem_strdup(real);
        free(real);
    } else {
        *target = geodec_mem_strdup(path);
    }
    if (!*target) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a file name");
    if (stat(*target, &sb) == 0 && !S_ISREG(sb.st_mode)) GEODEC_FAIL(GEODEC_IO, "%s: not a regular file", path);
    return GEODEC_OK;
}

static geodec_status name_parts(geodec_atomic *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *slash = strrchr(f->target, '/');
    const char *name = slash ? slash + 1 : f->target;
    const size_t folder = (size_t)(name - f->target), n = strlen(f->target);
    if (!name[0]) GEODEC_THROW(GEODEC_INVAL, "%s: an output needs a file name", f->target);
    GEODEC_NEW(f->folder, (int64_t)folder + 2);
    GEODEC_NEW(f->tmp, (int64_t)n + 6);
    if (folder)
        memcpy(f->folder, f->target, folder);
    else
        f->folder[0] = '.';
    memcpy(f->tmp, f->target, folder);
    (void)snprintf(f->tmp + folder, n + 6 - folder, ".%s.tmp", name);
done:
    return st;
}

/* Opens and locks the temporary file. Between open and lock another writer may have renamed or removed it, so the name
 * is compared with the locked file. */
static geodec_status open_locked(geodec_atomic *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int attempt = 0; attempt < 16; attempt++) {
        struct stat mine, named;
        f->fd = open(f->tmp, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (f->fd < 0) GEODEC_THROW(status_of(errno), "%s: cannot write %s: %s", f->target, f->tmp, strerror(errno));
        if (flock(f->fd, LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) GEODEC_THROW(GEODEC_EXISTS, "%s: another process is writing it", f->target);
            GEODEC_THROW(GEODEC_IO, "%s: cannot lock %s: %s", f->target, f->tmp, strerror(errno));
        }
        if (fstat(f->fd, &mine) == 0 && lstat(f->tmp, &named) == 0 && mine.st_ino == named.st_ino &&
            mine.st_dev == named.st_dev && S_ISREG(mine.st_mode)) {
            int failed;
            do failed = ftruncate(f->fd, 0);
            while (failed && errno == EINTR);
            if (!failed) goto done;
            const int e = errno;
            (void)unlink(f->tmp); /* it is this process's own: the lock is held */
            GEODEC_THROW(GEODEC_IO, "%s: cannot write: %s", f->target, strerror(e));
        }
        (void)close(f->fd);
        f->fd = -1;
    }
    GEODEC_THROW(GEODEC_EXISTS, "%s: other processes keep replacing %s", f->target, f->tmp);
done:
    if (st != GEODEC_OK && f->fd >= 0) {
        (void)close(f->fd);
        f->fd = -1;
    }
    return st;
}

/* fd is closed last: closing releases the lock. */
static void release(geodec_atomic *f)
{
    if (!f) return;
    geodec_mapped_partial_remove(f->noted);
    if (f->stream) (void)fclose(f->stream);
    if (f->fd >= 0) (void)close(f->fd);
    GEODEC_FREE(f->target, f->tmp, f->folder, f);
}

geodec_status geodec_atomic_open(const char *path, geodec_atomic **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_atomic *f = NULL;
    GEODEC_NEW(f, 1);
    f->fd = f->noted = -1;
    GEODEC_TRY(resolve(path, &f->target, err));
    GEODEC_TRY(name_parts(f, err));
    GEODEC_TRY(open_locked(f, err));
    f->noted = geodec_mapped_partial_add(f->tmp);
    *out = f;
    f = NULL;
done:
    release(f);
    return st;
}

const char *geodec_atomic_tmp(const geodec_atomic *f) { return f->tmp; }
int geodec_atomic_fd(const geodec_atomic *f) { return f->fd; }

/* The calls of the stream. Those of fdopen give up when a signal interrupts them, which happens on network file
 * systems. */
static ssize_t stream_read(void *ctx, char *to, size_t n)
{
    const geodec_atomic *f = ctx;
    ssize_t got;
    do got = read(f->fd, to, n);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Returns the bytes written, fewer than n on an error; errno has its reason. */
static ssize_t stream_write(void *ctx, const char *from, size_t n)
{
    const geodec_atomic *f = ctx;
    size_t done = 0;
    while (done < n) {
        const ssize_t part = write(f->fd, from + done, n - done);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) break;
        done += (size_t)part;
    }
    return (ssize_t)done;
}

static int stream_seek(void *ctx, off64_t *at, int whence)
{
    const geodec_atomic *f = ctx;
    *at = lseek(f->fd, *at, whence);
    return *at < 0 ? -1 : 0;
}

FILE *geodec_atomic_stream(geodec_atomic *f)
{
    static const cookie_io_functions_t calls = {.read = stream_read, .write = stream_write, .seek = stream_seek};
    if (f->stream) return f->stream;
    f->stream = fopencookie(f, "w+", calls);
    if (f->stream) (void)setvbuf(f->stream, NULL, _IOFBF, STREAM_BUFFER);
    return f->stream;
}

geodec_status geodec_atomic_write(geodec_atomic *f, const void *data, size_t n, geodec_err *err)
{
    FILE *stream = geodec_atomic_stream(f);
    if (!stream || (n && fwrite(data, 1, n, stream) != n)) {
        if (!f->write_error) f->write_error = errno ? errno : EIO;
        GEODEC_FAIL(GEODEC_IO, "%s: cannot write: %s", f->target, strerror(f->write_error));
    }
    return GEODEC_OK;
}

geodec_status geodec_atomic_commit(geodec_atomic *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_inputs_check(err));
    if (f->stream && (fflush(f->stream) != 0 || ferror(f->stream)) && !f->write_error)
        f->write_error = errno ? errno : EIO;
    if (!f->write_error && fsync(f->fd) != 0) f->write_error = errno;
    if (!f->write_error) geodec_inputs_forget(f->target);
    if (!f->write_error && rename(f->tmp, f->target) != 0) f->write_error = errno;
    if (f->write_error) GEODEC_THROW(GEODEC_IO, "%s: cannot write: %s", f->target, strerror(f->write_error));
    /* The rename must also survive a power failure. Some file systems cannot sync a folder; this is no error. */
    const int folder = open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
done:
    if (st != GEODEC_OK) (void)unlink(f->tmp);
    release(f);
    return st;
}

void geodec_atomic_abandon(geodec_atomic *f)
{
    if (!f) return;
    (void)unlink(f->tmp);
    release(f);
}
