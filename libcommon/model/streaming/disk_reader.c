/* The reader thread: which part of which read is next, what came, what is checked, and when it is delivered. */
#include "base/clock.h"
#include "base/crc32c.h"
#include "streaming/disk_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGE = GEODEC_BLOB_PAGE,
    PREFETCH_BYTES = 4 << 20, /* with fewer bytes of prefetches to come, another one begins */
    TRIES = 16                /* of a part that the kernel asks to repeat */
};
static const double SPIN = 20e-6; /* seconds; the end of a wait for an exact time */

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static void leave(geodec__disk_item *i)
{
    geodec__disk_list *l = i->list;
    if (!l) return;
    *(i->prev ? &i->prev->next : &l->first) = i->next;
    *(i->next ? &i->next->prev : &l->last) = i->prev;
    i->list = NULL;
}

/* before: of that list; NULL: at its front. */
static void enter_after(geodec__disk_list *l, geodec__disk_item *before, geodec__disk_item *i)
{
    i->list = l;
    i->prev = before;
    i->next = before ? before->next : l->first;
    *(before ? &before->next : &l->first) = i;
    *(i->next ? &i->next->prev : &l->last) = i;
}

static void enter(geodec__disk_list *l, geodec__disk_item *i)
{
    leave(i);
    enter_after(l, l->last, i);
}

/* Into the list of its kind: prefetches of more worth go first, of equals the older one. */
static void line_up(geodec__disk_list *lists, geodec__disk_item *i)
{
    leave(i);
    geodec__disk_item *before = lists[i->demand].last;
    while (!i->demand && before && before->read.worth < i->read.worth) before = before->prev;
    enter_after(&lists[i->demand], before, i);
}

/* ---- the serial disk of a throttle ------------------------------------------------------------------------------ */

/* What that disk has read until then gets the time of its end. */
static void serve(geodec_disk *d, double until)
{
    double at;
    for (int32_t slot; d->serial && (slot = geodec_serial_next(d->serial, until, &at)) >= 0;) d->item[slot].due = at;
}

/* From the time of the request: that the reader looks some microseconds afterwards is no time of the disk. */
static void put_on_serial(geodec_disk *d, geodec__disk_item *i, double from)
{
    if (!d->serial) return;
    i->due = INFINITY;
    geodec_serial_put(d->serial, i->read.slot, i->demand, i->read.worth, from, (double)i->room / (double)d->throttle);
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

static void fail(geodec__disk_item *i, geodec_status status, int64_t errnum)
{
    if (i->status != GEODEC_OK) return;
    i->status = status;
    i->errnum = (int32_t)errnum;
}

/* The file of an offset; -1: none. */
static int32_t file_of(const geodec_disk *d, int64_t offset)
{
    int32_t low = 0, high = d->n_files;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (offset >= d->file[middle].start && offset - d->file[middle].start >= d->file[middle].bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->n_files && offset >= d->file[low].start ? low : -1;
}

/* Sums the bytes of the pieces; each lies in one file. */
static void measure(const geodec_disk *d, geodec__disk_item *i)
{
    for (int k = 0; k < GEODEC_BLOB_PIECES; k++) {
        const geodec_blob_piece *p = &i->read.piece[k];
        if (p->bytes < 0 || p->offset < 0 || p->bytes > INT64_MAX / 8 || p->offset > INT64_MAX / 8)
            fail(i, GEODEC_IO, EINVAL);
        else if (p->bytes > 0 &&
                 (file_of(d, p->offset) < 0 || file_of(d, p->offset) != file_of(d, p->offset + p->bytes - 1)))
            fail(i, GEODEC_IO, EINVAL);
        else
            i->room += geodec_blobs_room(p);
    }
}

/* A request that was taken back may still be queued when the next one of its slot comes: it gives way. */
static void take_requests(geodec_disk *d)
{
    geodec__disk_request q;
    while (geodec_ring_pop(d->requests, &q)) {
        geodec__disk_item *i = &d->item[q.read.slot];
        leave(i);
        *i = (geodec__disk_item){.read = q.read, .ticket = q.ticket, .queued = q.queued, .demand = q.read.demand};
        measure(d, i);
        serve(d, q.queued);
        if (d->serial) (void)geodec_serial_drop(d->serial, q.read.slot, q.queued);
        if (i->demand) put_on_serial(d, i, q.queued);
        line_up(d->queued, i);
    }
}

/* The first request of a queue that was not taken back. */
static geodec__disk_item *first_queued(geodec_disk *d, bool demand)
{
    geodec__disk_item *i;
    while ((i = d->queued[demand].first)) {
        const uint32_t s = atomic_load(&d->state[i->read.slot].word);
        if (s == i->ticket * GEODEC__DISK_STATES + GEODEC__DISK_QUEUED) return i;
        if (d->serial) (void)geodec_serial_drop(d->serial, i->read.slot, geodec_clock_seconds());
        leave(i);
    }
    return NULL;
}

/* ---- beginning -------------------------------------------------------------------------------------------------- */

static bool all_begun(const geodec__disk_item *i) { return i->piece == GEODEC_BLOB_PIECES || i->status != GEODEC_OK; }

static void next_piece(geodec__disk_item *i)
{
    while (!all_begun(i) && i->at == geodec_blobs_room(&i->read.piece[i->piece])) {
        i->base += i->at;
        i->at = 0;
        i->piece++;
    }
}

static void account(geodec_disk *d, int change)
{
    const double now = geodec_clock_seconds();
    if (d->in_flight > 0) d->busy += now - d->busy_since;
    d->busy_since = now;
    d->in_flight += change;
}

static void start(geodec_disk *d, geodec__disk_item *i)
{
    i->piece = 0;
    i->at = i->base = i->came = 0;
    next_piece(i);
    account(d, 1);
    line_up(d->flying, i);
}

/* A demand that is queued, read, or with a throttle waits for its time. */
static bool has_demand(geodec_disk *d) { return d->flying[1].first || d->held[1].first || first_queued(d, true); }

/* A prefetch that has not begun is taken back at no cost, so few begin, but one of more worth does not wait. */
static bool prefetch_allowed(const geodec_disk *d, const geodec__disk_item *next)
{
    int64_t to_come = 0;
    if (d->flying[0].first && d->flying[0].first->read.worth < next->read.worth) return true;
    for (const geodec__disk_item *i = d->flying[0].first; i; i = i->next) to_come += i->room - i->came;
    for (const geodec__disk_item *i = d->held[0].first; i; i = i->next) to_come += i->room;
    return to_come < PREFETCH_BYTES;
}

static bool begin_read(geodec_disk *d)
{
    for (;;) {
        geodec__disk_item *i = first_queued(d, true);
        if (!i && !has_demand(d)) i = first_queued(d, false);
        if (!i || (!i->demand && !prefetch_allowed(d, i))) return false;
        uint32_t s = i->ticket * GEODEC__DISK_STATES + GEODEC__DISK_QUEUED;
        const uint32_t reading = i->ticket * GEODEC__DISK_STATES + GEODEC__DISK_READING;
        if (atomic_compare_exchange_strong(&d->state[i->read.slot].word, &s, reading)) {
            if (!i->demand) put_on_serial(d, i, geodec_clock_seconds());
            start(d, i);
            return true;
        }
    }
}

/* Passes a part to the engine, or a fault of a test to the list of those that need no engine. */
static void begin_part(geodec_disk *d, geodec__disk_part *p)
{
    int64_t bytes = p->bytes;
    p->most = bytes;
    const int e = d->faults ? d->faults->at(d->faults->ctx, p->offset, &bytes, p->to, false) : 0;
    if (bytes < p->most) p->most = bytes > 0 ? bytes : 0;
    if (e != 0 || p->most == 0) {
        p->result = -(int64_t)e;
        p->next = d->faulted;
        d->faulted = p;
    } else {
        d->ops->begin(d, p);
    }
}

/* The next part of a read begins; false: all have begun, or no part is free. */
static bool next_part(geodec_disk *d, geodec__disk_item *i)
{
    if (all_begun(i) || !d->idle) return false;
    const geodec_blob_piece *piece = &i->read.piece[i->piece];
    const int64_t room = geodec_blobs_room(piece), left = room - i->at;
    geodec__disk_part *p = d->idle;
    d->idle = p->next;
    p->item = i;
    p->tries = 0;
    p->bytes = left < GEODEC__DISK_PART ? left : GEODEC__DISK_PART;
    const geodec__disk_file *f = &d->file[file_of(d, piece->offset)];
    p->fd = f->fd;
    p->start = f->start;
    p->offset = piece->offset / PAGE * PAGE + i->at;
    const int64_t end = piece->offset + piece->bytes - p->offset;
    p->needed = end < p->bytes ? end : p->bytes;
    p->to = i->read.to + i->base + i->at;
    i->at += p->bytes;
    next_piece(i);
    i->flying++;
    d->parts_in_flight++;
    begin_part(d, p);
    return true;
}

static void end_flight(geodec_disk *d, geodec__disk_item *i)
{
    account(d, -1);
    enter(&d->ended, i);
}

static void hurry(geodec_disk *d, geodec__disk_item *i, double now)
{
    i->demand = true;
    if (d->serial) geodec_serial_hurry(d->serial, i->read.slot, now);
    if (i->list == &d->flying[0]) enter(&d->flying[1], i);
    if (i->list == &d->held[0]) enter(&d->held[1], i);
}

/* Nothing more of it is read. With a throttle what the serial disk had read counts, else the parts that were begun. */
static void drop(geodec_disk *d, geodec__disk_item *i, double now)
{
    if (!d->serial && i->list != &d->flying[0]) return; /* it is there */
    if (d->serial && i->due < INFINITY) return;
    fail(i, GEODEC_INTERRUPTED, 0);
    if (d->serial) {
        i->room = (int64_t)(geodec_serial_drop(d->serial, i->read.slot, now) * (double)d->throttle);
        i->due = now;
    }
    if (i->list == &d->flying[0] && i->flying == 0) end_flight(d, i);
}

/* Parts of the reads that have begun: of demands, and only while there is none a few of prefetches. */
static void begin_parts(geodec_disk *d)
{
    int32_t prefetching = 0;
    for (geodec__disk_item *i = d->flying[1].first, *next; i; i = next) {
        next = i->next;
        while (next_part(d, i)) {
        }
        if (i->flying == 0 && all_begun(i)) end_flight(d, i); /* nothing to read, or refused */
    }
    for (const geodec__disk_item *i = d->flying[0].first; i; i = i->next) prefetching += i->flying;
    for (geodec__disk_item *i = d->flying[0].first, *next; i && !has_demand(d); i = next) {
        next = i->next;
        while (prefetching < GEODEC__DISK_PREFETCH_PARTS && next_part(d, i)) prefetching++;
        if (i->flying == 0 && all_begun(i)) end_flight(d, i);
    }
}

/* What the caller wishes of prefetches that have begun. */
static void take_wishes(geodec_disk *d)
{
    geodec__disk_list *const lists[] = {&d->flying[0], &d->ended, &d->held[0]};
    if (!atomic_load(&d->wished) || !atomic_exchange(&d->wished, false)) return;
    const double now = geodec_clock_seconds();
    serve(d, now);
    for (int k = 0; k < 3; k++)
        for (geodec__disk_item *i = lists[k]->first, *next; i; i = next) {
            next = i->next;
            const uint32_t wish = atomic_load(&d->state[i->read.slot].wish);
            if (i->demand || wish / GEODEC__DISK_STATES != i->ticket) continue;
            if (wish % GEODEC__DISK_STATES == GEODEC__DISK_HURRY)
                hurry(d, i, now);
            else if (wish % GEODEC__DISK_STATES == GEODEC__DISK_DROP)
                drop(d, i, now);
        }
}

static void begin_all(geodec_disk *d)
{
    if (atomic_load(&d->quit)) return;
    do begin_parts(d);
    while (d->idle && begin_read(d));
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

/* Whether the part goes on: the kernel asks to repeat it, or only a beginning came. A beginning of less than a page is
 * the end of the file. */
static bool goes_on(geodec_disk *d, geodec__disk_part *p, int64_t n)
{
    if (p->item->status != GEODEC_OK) return false;
    if (n == -EINTR || n == -EAGAIN) {
        if (p->tries++ >= TRIES) return false;
    } else {
        const int64_t whole = n / PAGE * PAGE;
        if (n < 0 || n >= p->needed || whole == 0) return false;
        p->offset += whole;
        p->bytes -= whole;
        p->needed -= whole;
        p->to += whole;
        p->item->came += whole;
    }
    begin_part(d, p);
    return true;
}

static void part_ended(geodec_disk *d, geodec__disk_part *p)
{
    geodec__disk_item *i = p->item;
    int64_t n = p->result < p->most ? p->result : p->most;
    if (n > 0 && d->faults) {
        const int e = d->faults->at(d->faults->ctx, p->offset, &n, p->to, true);
        if (e) n = -(int64_t)e;
    }
    if (goes_on(d, p, n)) return;
    if (n < 0)
        fail(i, GEODEC_IO, -n);
    else if (n < p->needed)
        fail(i, GEODEC_IO, 0);
    i->came += p->bytes;
    i->flying--;
    d->parts_in_flight--;
    p->next = d->idle;
    d->idle = p;
    if (i->flying == 0 && all_begun(i)) end_flight(d, i);
}

static uint32_t crc_of(const geodec_disk_read *r)
{
    uint32_t crc = 0;
    int64_t base = 0;
    for (int k = 0; k < GEODEC_BLOB_PIECES; k++) {
        const geodec_blob_piece *p = &r->piece[k];
        if (p->bytes > 0) crc = geodec_crc32c(crc, r->to + base + p->offset % PAGE, p->bytes);
        base += geodec_blobs_room(p);
    }
    return crc;
}

/* A wrong CRC: the read begins again, from the file and not from the page cache. */
static void read_again(geodec_disk *d, geodec__disk_item *i)
{
    i->again = true;
    for (int k = 0; k < GEODEC_BLOB_PIECES && d->io == GEODEC_DISK_BUFFERED; k++) {
        const geodec_blob_piece *p = &i->read.piece[k];
        if (p->bytes == 0) continue;
        const geodec__disk_file *f = &d->file[file_of(d, p->offset)];
        (void)posix_fadvise(f->fd, p->offset / PAGE * PAGE - f->start, geodec_blobs_room(p), POSIX_FADV_DONTNEED);
    }
    leave(i);
    if (d->serial) {
        const double now = geodec_clock_seconds();
        (void)geodec_serial_drop(d->serial, i->read.slot, now);
        put_on_serial(d, i, now);
    }
    start(d, i);
}

/* Checks one read; the disk gets new parts before the next one is checked. */
static void check_one(geodec_disk *d)
{
    geodec__disk_item *i = d->ended.first;
    if (!i) return;
    if (i->status == GEODEC_OK && i->read.check && crc_of(&i->read) != i->read.crc) {
        if (!i->again) {
            read_again(d, i);
            return;
        }
        fail(i, GEODEC_FORMAT, 0);
    }
    enter(&d->held[i->demand], i);
}

static void wake_caller(geodec_disk *d)
{
    if (atomic_load(&d->waiting) && atomic_exchange(&d->waiting, 0))
        (void)syscall(SYS_futex, &d->waiting, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The ring of results has room for one of each slot. */
static void deliver(geodec_disk *d, geodec__disk_item *i, double now)
{
    leave(i);
    const double since = d->in_flight > 0 ? now - d->busy_since : 0;
    const int64_t bytes = i->status == GEODEC_INTERRUPTED && !d->serial ? i->came : i->room;
    const geodec__disk_result r = {.done = {i->read.slot, i->status, i->errnum, file_of(d, i->read.piece[0].offset)},
                                   .demand = i->read.demand,
                                   .bytes = bytes * (i->again ? 2 : 1),
                                   .latency = now - i->queued,
                                   .busy = d->serial ? geodec_serial_busy(d->serial) : d->busy + since};
    if (geodec_ring_push(d->results, &r)) wake_caller(d);
}

/* In the order of the times; without a throttle all times are 0. */
static void deliver_due(geodec_disk *d)
{
    const double now = geodec_clock_seconds();
    serve(d, now);
    for (;;) {
        geodec__disk_item *first = NULL;
        for (int demand = 1; demand >= 0; demand--)
            for (geodec__disk_item *i = d->held[demand].first; i; i = i->next)
                if (i->due <= now && (!first || i->due < first->due)) first = i;
        if (!first) return;
        deliver(d, first, now);
    }
}

/* ---- the thread ------------------------------------------------------------------------------------------------- */

bool geodec__disk_may_sleep(geodec_disk *d)
{
    atomic_store(&d->asleep, 1);
    return geodec_ring_empty(d->requests) && !atomic_load(&d->wished) &&
           (d->parts_in_flight > 0 || !atomic_load(&d->quit));
}

void geodec__disk_wake(geodec_disk *d)
{
    const uint64_t one = 1;
    if (atomic_load(&d->asleep) && atomic_exchange(&d->asleep, 0) && write(d->event, &one, sizeof one) < 0) return;
}

/* Seconds until something happens by itself; below 0: nothing will. */
static double next_time(const geodec_disk *d)
{
    double t = d->serial ? geodec_serial_when(d->serial) : INFINITY;
    for (int demand = 0; demand < 2; demand++)
        for (const geodec__disk_item *i = d->held[demand].first; i; i = i->next) t = fmin(t, i->due);
    return isinf(t) ? -1 : fmax(0, t - geodec_clock_seconds());
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Waits for a part, a request or the next time. Sleeps up to a little before that time, and spins from there. */
static int32_t wait_for_more(geodec_disk *d, geodec__disk_part **ended)
{
    if (d->ended.first || d->faulted) return d->ops->reap(d, 0, ended);
    double t = next_time(d);
    if (t < 0) return d->ops->reap(d, -1, ended);
    if (t > SPIN) return d->ops->reap(d, t - SPIN, ended);
    int32_t n = 0;
    while (t > 0 && n == 0 && geodec_ring_empty(d->requests) && !atomic_load(&d->wished)) {
        n = d->ops->reap(d, 0, ended);
        pause_cpu();
        t = next_time(d);
    }
    return n;
}

void *geodec__disk_main(void *disk)
{
    geodec_disk *d = disk;
    geodec__disk_part *ended[GEODEC__DISK_DEPTH];
    (void)prctl(PR_SET_NAME, "geodec-disk");
    (void)prctl(PR_SET_TIMERSLACK, 1000ul); /* nanoseconds, of this thread */
    while (!atomic_load(&d->quit) || d->parts_in_flight > 0) {
        take_requests(d);
        take_wishes(d);
        begin_all(d);
        const int32_t n = wait_for_more(d, ended);
        for (int32_t k = 0; k < n; k++) part_ended(d, ended[k]);
        for (geodec__disk_part *p; (p = d->faulted);) {
            d->faulted = p->next;
            part_ended(d, p);
        }
        take_requests(d);
        take_wishes(d);
        begin_all(d);
        check_one(d);
        deliver_due(d);
    }
    return NULL;
}
