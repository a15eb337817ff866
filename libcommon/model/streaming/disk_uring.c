/* Reads by io_uring: one ring, of the reader thread. A read of the eventfd is always in flight, so that one wait is for
 * parts and requests alike. */
#include "base/mem.h"
#include "streaming/disk_internal.h"

#include <errno.h>
#include <liburing.h>
#include <math.h>
#include <string.h>
#include <time.h>

typedef struct uring {
    struct io_uring ring;
    uint64_t events; /* the eventfd is read into it */
    bool armed;
} uring;

static void uring_close(geodec_disk *d)
{
    uring *u = d->engine;
    if (!u) return;
    io_uring_queue_exit(&u->ring);
    geodec_mem_free(u);
    d->engine = NULL;
}

/* Whether the kernel performs operations: a filter may allow the set-up alone. */
static int try_nop(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    struct io_uring_cqe *cqe = NULL;
    if (!sqe) return -ENOMEM;
    io_uring_prep_nop(sqe);
    const int n = io_uring_submit_and_wait(ring, 1);
    if (n < 1) return n < 0 ? n : -EIO;
    const int e = io_uring_peek_cqe(ring, &cqe);
    if (e) return e;
    io_uring_cqe_seen(ring, cqe);
    return 0;
}

static geodec_status uring_open(geodec_disk *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uring *u;
    GEODEC_NEW(u, 1);
    int e = io_uring_queue_init(2 * GEODEC__DISK_DEPTH, &u->ring, 0);
    if (e < 0) {
        geodec_mem_free(u);
        GEODEC_THROW(GEODEC_UNSUPPORTED, "io_uring is not available: %s", strerror(-e));
    }
    d->engine = u;
    if (!(u->ring.features & IORING_FEAT_EXT_ARG)) e = -ENOSYS; /* a wait with a time limit */
    if (e == 0) e = try_nop(&u->ring);
    if (e < 0) {
        uring_close(d);
        GEODEC_THROW(GEODEC_UNSUPPORTED, "io_uring does not work: %s", strerror(-e));
    }
done:
    return st;
}

static void uring_begin(geodec_disk *d, geodec__disk_part *p)
{
    uring *u = d->engine;
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring); /* never NULL: there is room for all parts */
    io_uring_prep_read(sqe, p->fd, p->to, (unsigned)p->bytes, (uint64_t)(p->offset - p->start));
    io_uring_sqe_set_data(sqe, p);
}

static void arm(geodec_disk *d, uring *u)
{
    struct io_uring_sqe *sqe = u->armed ? NULL : io_uring_get_sqe(&u->ring);
    if (!sqe) return;
    io_uring_prep_read(sqe, d->event, &u->events, sizeof u->events, 0);
    io_uring_sqe_set_data(sqe, NULL);
    u->armed = true;
}

static int32_t collect(uring *u, geodec__disk_part **ended)
{
    int32_t n = 0;
    unsigned head, seen = 0;
    struct io_uring_cqe *cqe;
    io_uring_for_each_cqe(&u->ring, head, cqe)
    {
        if (n == GEODEC__DISK_DEPTH) break;
        seen++;
        geodec__disk_part *p = io_uring_cqe_get_data(cqe);
        if (!p) {
            u->armed = false;
            continue;
        }
        p->result = cqe->res;
        ended[n++] = p;
    }
    io_uring_cq_advance(&u->ring, seen);
    return n;
}

static int32_t uring_reap(geodec_disk *d, double seconds, geodec__disk_part **ended)
{
    uring *u = d->engine;
    int e = 0;
    if (seconds != 0) {
        arm(d, u);
        if (io_uring_cq_ready(&u->ring) || !geodec__disk_may_sleep(d)) seconds = 0;
    }
    if (seconds != 0) {
        struct __kernel_timespec t = {0};
        struct io_uring_cqe *cqe;
        t.tv_sec = (long long)seconds;
        t.tv_nsec = (long long)(1e9 * (seconds - floor(seconds)));
        e = io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, seconds < 0 ? NULL : &t, NULL);
    } else if (io_uring_sq_ready(&u->ring)) {
        e = io_uring_submit(&u->ring);
    }
    atomic_store(&d->asleep, 0);
    const int32_t n = collect(u, ended);
    /* The kernel is short of memory or of room for completions: what was not accepted is submitted at the next call. */
    if (n == 0 && e < 0 && e != -ETIME && e != -EINTR) {
        const struct timespec pause = {.tv_nsec = 200000};
        (void)nanosleep(&pause, NULL);
    }
    return n;
}

const geodec__disk_ops geodec__disk_uring = {"io_uring", uring_open, uring_close, uring_begin, uring_reap};
