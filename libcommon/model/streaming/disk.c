#include "streaming/disk.h"

#include "base/clock.h"
#include "base/mem.h"
#include "streaming/disk_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* Whether a direct read works: some file systems refuse to open, others to read. */
static bool direct_works(int fd)
{
    void *page = NULL;
    if (posix_memalign(&page, GEODEC_BLOB_PAGE, GEODEC_BLOB_PAGE) != 0) return false;
    const bool works = pread(fd, page, GEODEC_BLOB_PAGE, 0) >= 0 || (errno != EINVAL && errno != EOPNOTSUPP);
    free(page);
    return works;
}

static geodec_status open_file(geodec_disk *d, geodec__disk_file *f, geodec_disk_io io, geodec_err *err)
{
    const char *path = f->path;
    struct stat s;
    if (stat(path, &s) != 0)
        GEODEC_FAIL(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode) && !S_ISBLK(s.st_mode)) GEODEC_FAIL(GEODEC_IO, "%s: not a regular file", path);
    if (io == GEODEC_DISK_DIRECT) {
        f->fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
        if (f->fd >= 0 && direct_works(f->fd)) return GEODEC_OK;
        if (f->fd >= 0) (void)close(f->fd);
        d->io = GEODEC_DISK_BUFFERED;
    }
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0) GEODEC_FAIL(GEODEC_IO, "%s: %s", path, strerror(errno));
    return GEODEC_OK;
}

/* One file of any size, or several in a row. */
static geodec_status open_files(geodec_disk *d, const geodec_blob_file *file, int32_t n, geodec_disk_io io,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t start = 0;
    GEODEC_NEW(d->file, n);
    for (; d->n_files < n; d->n_files++) d->file[d->n_files].fd = -1;
    d->io = io;
    for (int32_t i = 0; i < n; i++) {
        geodec__disk_file *f = &d->file[i];
        GEODEC_STRDUP(f->path, file[i].path);
        f->start = file[i].start;
        f->bytes = file[i].bytes;
        if (f->start != start || f->bytes < 1 || f->bytes > INT64_MAX - start)
            GEODEC_THROW(GEODEC_INVAL, "%s: files do not follow one another", f->path);
        start += f->bytes;
        GEODEC_TRY(open_file(d, f, io, err));
    }
done:
    return st;
}

static geodec_status open_engine(geodec_disk *d, geodec_disk_engine engine, geodec_err *err)
{
    d->ops = &geodec__disk_uring;
    if (engine != GEODEC_DISK_THREADS && d->ops->open(d, NULL) == GEODEC_OK) return GEODEC_OK;
    d->ops = &geodec__disk_threads;
    GEODEC_PASS(d->ops->open(d, err));
    return GEODEC_OK;
}

/* Signals are for the threads of the tool. */
static geodec_status start_threads(geodec_disk *d, geodec_disk_engine engine, geodec_err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    geodec_status st = open_engine(d, engine, err);
    if (st == GEODEC_OK) d->started = pthread_create(&d->thread, NULL, geodec__disk_main, d) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (st != GEODEC_OK) return st;
    if (!d->started) GEODEC_FAIL(GEODEC_NOMEM, "cannot start the thread that reads");
    return GEODEC_OK;
}

geodec_status geodec_disk_open(const char *path, const geodec_disk_options *o, geodec_disk **out, geodec_err *err)
{
    char *one = geodec_mem_strdup(path);
    if (!one) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a name");
    const geodec_blob_file file = {.path = one, .bytes = INT64_MAX};
    const geodec_status st = geodec_disk_open_files(path, &file, 1, o, out, err);
    geodec_mem_free(one);
    return st;
}

geodec_status geodec_disk_open_files(const char *name, const geodec_blob_file *file, int32_t n,
                                     const geodec_disk_options *o, geodec_disk **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_disk *d = NULL;
    if (o->n_slots < 1 || o->n_slots > GEODEC__DISK_SLOTS)
        GEODEC_THROW(GEODEC_RANGE, "%d slots are outside 1 to %d", (int)o->n_slots, (int)GEODEC__DISK_SLOTS);
    if (o->throttle < 0) GEODEC_THROW(GEODEC_RANGE, "a disk of %lld bytes a second", (long long)o->throttle);
    GEODEC_NEW(d, 1);
    d->event = -1;
    d->throttle = o->throttle;
    d->faults = o->faults;
    d->n_slots = o->n_slots;
    GEODEC_STRDUP(d->path, name);
    GEODEC_NEW_EACH(o->n_slots, d->state, d->item);
    if (o->throttle > 0) GEODEC_TRY(geodec_serial_create(o->n_slots, &d->serial, err));
    for (int k = 0; k < GEODEC__DISK_DEPTH; k++) {
        d->part[k].next = d->idle;
        d->idle = &d->part[k];
    }
    /* room for requests that were taken back, in front of live ones */
    GEODEC_TRY(geodec_ring_create(2 * o->n_slots + 62, sizeof(geodec__disk_request), &d->requests, err));
    GEODEC_TRY(geodec_ring_create(o->n_slots, sizeof(geodec__disk_result), &d->results, err));
    GEODEC_TRY(open_files(d, file, n, o->io, err));
    d->event = eventfd(0, EFD_CLOEXEC);
    if (d->event < 0) GEODEC_THROW(GEODEC_IO, "cannot make an eventfd: %s", strerror(errno));
    GEODEC_TRY(start_threads(d, o->engine, err));
    GEODEC_MOVE(*out, d);
done:
    geodec_disk_close(d);
    return st;
}

void geodec_disk_close(geodec_disk *d)
{
    if (!d) return;
    if (d->started) {
        const uint64_t one = 1;
        atomic_store(&d->quit, true);
        while (write(d->event, &one, sizeof one) < 0 && errno == EINTR) {
        }
        (void)pthread_join(d->thread, NULL);
    }
    if (d->engine) d->ops->close(d);
    if (d->event >= 0) (void)close(d->event);
    for (int32_t i = 0; i < d->n_files; i++) {
        if (d->file[i].fd >= 0) (void)close(d->file[i].fd);
        geodec_mem_free(d->file[i].path);
    }
    geodec_ring_destroy(d->requests);
    geodec_ring_destroy(d->results);
    geodec_serial_destroy(d->serial);
    GEODEC_FREE(d->path, d->file, d->state, d->item);
    geodec_mem_free(d);
}

int64_t geodec_disk_bytes(const geodec_disk *d, int32_t file, const char **path)
{
    struct stat now;
    if (file < 0 || file >= d->n_files || fstat(d->file[file].fd, &now) != 0) return -1;
    *path = d->file[file].path;
    return (int64_t)now.st_size;
}

geodec_disk_io geodec_disk_io_of(const geodec_disk *d) { return d->io; }
const char *geodec_disk_engine_name(const geodec_disk *d) { return d->ops->name; }

/* ---- requests and results --------------------------------------------------------------------------------------- */

bool geodec_disk_submit(geodec_disk *d, const geodec_disk_read *r)
{
    if (r->slot < 0 || r->slot >= d->n_slots) return false;
    const uint32_t s = atomic_load(&d->state[r->slot].word);
    if (s % GEODEC__DISK_STATES != GEODEC__DISK_FREE) return false;
    const geodec__disk_request q = {
        .read = *r, .ticket = s / GEODEC__DISK_STATES + 1, .queued = geodec_clock_seconds()};
    atomic_store(&d->state[r->slot].word, q.ticket * GEODEC__DISK_STATES + GEODEC__DISK_QUEUED);
    if (!geodec_ring_push(d->requests, &q)) {
        atomic_store(&d->state[r->slot].word, s);
        return false;
    }
    d->outstanding++;
    geodec__disk_wake(d);
    return true;
}

bool geodec_disk_cancel(geodec_disk *d, int32_t slot)
{
    if (slot < 0 || slot >= d->n_slots) return false;
    uint32_t s = atomic_load(&d->state[slot].word);
    const uint32_t ticket = s / GEODEC__DISK_STATES;
    if (s % GEODEC__DISK_STATES != GEODEC__DISK_QUEUED ||
        !atomic_compare_exchange_strong(&d->state[slot].word, &s, ticket * GEODEC__DISK_STATES + GEODEC__DISK_FREE))
        return false;
    d->outstanding--;
    return true;
}

/* The newest wish counts; that of an older read of the slot is ignored. */
static void wish(geodec_disk *d, int32_t slot, uint32_t what)
{
    if (slot < 0 || slot >= d->n_slots) return;
    const uint32_t s = atomic_load(&d->state[slot].word);
    if (s % GEODEC__DISK_STATES != GEODEC__DISK_READING) return;
    atomic_store(&d->state[slot].wish, s / GEODEC__DISK_STATES * GEODEC__DISK_STATES + what);
    atomic_store(&d->wished, true);
    geodec__disk_wake(d);
}

void geodec_disk_hurry(geodec_disk *d, int32_t slot) { wish(d, slot, GEODEC__DISK_HURRY); }
void geodec_disk_drop(geodec_disk *d, int32_t slot) { wish(d, slot, GEODEC__DISK_DROP); }

static void count(geodec_disk *d, const geodec__disk_result *r)
{
    geodec_disk_counters *c = &d->counters;
    c->reads++;
    c->bytes += r->bytes;
    c->demands += r->demand;
    c->prefetches += !r->demand;
    c->busy = r->busy;
    c->latency_sum += r->latency;
    if (r->latency > c->latency_max) c->latency_max = r->latency;
}

int32_t geodec_disk_take(geodec_disk *d, geodec_disk_done *done, int32_t most, bool wait)
{
    geodec__disk_result r;
    int32_t n = 0;
    for (;;) {
        while (n < most && geodec_ring_pop(d->results, &r)) {
            const uint32_t s = atomic_load(&d->state[r.done.slot].word);
            atomic_store(&d->state[r.done.slot].word,
                         s / GEODEC__DISK_STATES * GEODEC__DISK_STATES + GEODEC__DISK_FREE);
            d->outstanding--;
            count(d, &r);
            done[n++] = r.done;
        }
        if (n > 0 || !wait || most < 1 || d->outstanding == 0) return n;
        atomic_store(&d->waiting, 1);
        if (geodec_ring_empty(d->results)) (void)syscall(SYS_futex, &d->waiting, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
        atomic_store(&d->waiting, 0);
    }
}

geodec_status geodec_disk_failed(const geodec_disk *d, const geodec_disk_done *done, int32_t layer, int32_t expert,
                                 geodec_err *err)
{
    const char *cause = done->errnum                    ? strerror(done->errnum)
                        : done->status == GEODEC_FORMAT ? "wrong CRC-32C, read twice"
                                                        : "the file ends too early";
    const char *path = done->file >= 0 && done->file < d->n_files ? d->file[done->file].path : d->path;
    if (layer < 0) GEODEC_FAIL(done->status, "%s: %s", path, cause);
    GEODEC_FAIL(done->status, "%s: layer %d, expert %d: %s", path, (int)layer, (int)expert, cause);
}

geodec_disk_counters geodec_disk_counted(const geodec_disk *d) { return d->counters; }
