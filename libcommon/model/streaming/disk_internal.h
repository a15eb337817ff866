/* The parts of the reader; private to disk*.c and their tests.
 *
 * disk.c        the caller's side: open, submit, cancel, take
 * disk_reader.c the thread that decides which part of which read is next, checks and delivers
 * disk_uring.c, disk_threads.c  engines: they read parts */
#ifndef GEODEC_STREAMING_DISK_INTERNAL_H
#define GEODEC_STREAMING_DISK_INTERNAL_H

#include "streaming/disk.h"
#include "streaming/ring_queue.h"
#include "streaming/serial.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    GEODEC__DISK_PART = 1 << 19, /* a read is split into parts of this size */
    GEODEC__DISK_DEPTH = 8,      /* parts in flight; more of them end out of order, so that the first read comes late */
    GEODEC__DISK_PREFETCH_PARTS = 4, /* of prefetches: a demand waits for these */
    GEODEC__DISK_SLOTS = 1 << 20     /* limit of n_slots */
};

typedef struct geodec__disk_item geodec__disk_item;
typedef struct geodec__disk_list geodec__disk_list;

typedef struct geodec__disk_file {
    char *path;
    int fd;
    int64_t start, bytes; /* bytes: of one file alone INT64_MAX */
} geodec__disk_file;

typedef struct geodec__disk_part {
    geodec__disk_item *item;
    int fd;
    int64_t start;         /* of its file */
    int64_t offset, bytes; /* multiples of the page */
    int64_t needed;        /* bytes that must come: up to the exact end of the piece */
    int64_t most;          /* a fault of a test lets no more come */
    uint8_t *to;
    int64_t result; /* bytes, or -errno */
    int tries;
    struct geodec__disk_part *next; /* in the list of whoever has it */
} geodec__disk_part;

/* The read of a slot as the reader sees it. */
struct geodec__disk_item {
    geodec_disk_read read;
    uint32_t ticket;
    double queued, due; /* due: with a throttle, not delivered before; INFINITY: not known yet */
    bool demand;        /* or it became one */
    int64_t room;       /* bytes, rounded out */
    int piece;          /* the next part to begin: of this piece, `at` bytes of it begun, the piece begins at `base` */
    int64_t at, base;
    int32_t flying; /* parts in flight */
    int64_t came;   /* bytes of parts that ended */
    bool again;     /* it is the second attempt */
    geodec_status status;
    int32_t errnum;
    geodec__disk_list *list;
    geodec__disk_item *prev, *next;
};
struct geodec__disk_list {
    geodec__disk_item *first, *last;
};

typedef struct geodec__disk_request {
    geodec_disk_read read;
    uint32_t ticket;
    double queued;
} geodec__disk_request;

typedef struct geodec__disk_result {
    geodec_disk_done done;
    bool demand;
    int64_t bytes;
    double latency, busy; /* busy: of the disk, up to now */
} geodec__disk_result;

/* An engine belongs to the reader thread from open to close. */
typedef struct geodec__disk_ops {
    const char *name;
    geodec_status (*open)(geodec_disk *d, geodec_err *err); /* GEODEC_UNSUPPORTED: not on this machine */
    void (*close)(geodec_disk *d);                          /* no part is in flight */
    void (*begin)(geodec_disk *d, geodec__disk_part *p);
    /* Waits for at most so many seconds (0: not at all; below 0: without limit) for a part to end, a request or the
     * end; sets ended [GEODEC__DISK_DEPTH] and returns their number. */
    int32_t (*reap)(geodec_disk *d, double seconds, geodec__disk_part **ended);
} geodec__disk_ops;
extern const geodec__disk_ops geodec__disk_uring, geodec__disk_threads;

enum { GEODEC__DISK_FREE, GEODEC__DISK_QUEUED, GEODEC__DISK_READING, GEODEC__DISK_STATES = 4 };
enum { GEODEC__DISK_HURRY = 1, GEODEC__DISK_DROP };
typedef struct geodec__disk_state {
    _Atomic uint32_t word; /* ticket * STATES + state */
    _Atomic uint32_t wish; /* ticket * STATES + what the caller wishes of that read */
} geodec__disk_state;

struct geodec_disk {
    char *path;
    int32_t n_files;
    geodec__disk_file *file; /* [n_files] */
    int event;               /* event: an eventfd that wakes the reader */
    geodec_disk_io io;
    const geodec__disk_ops *ops;
    void *engine;
    int64_t throttle; /* bytes a second; 0: none */
    const geodec_disk_faults *faults;
    int32_t n_slots;
    geodec_ring *requests, *results;
    /* [n_slots] A ticket is the number of a submit of the slot, so that a request that was taken back is never mistaken
     * for a later one. */
    geodec__disk_state *state;
    pthread_t thread;
    bool started;
    /* of the caller */
    int32_t outstanding;
    geodec_disk_counters counters;
    /* of the reader */
    geodec__disk_item *item; /* [n_slots] */
    geodec__disk_part part[GEODEC__DISK_DEPTH], *idle, *faulted;
    int32_t parts_in_flight;
    geodec__disk_list queued[2], flying[2], held[2]; /* [demand] */
    geodec__disk_list ended;                         /* read; to be checked */
    int32_t in_flight;                               /* reads begun whose parts have not all ended */
    double busy, busy_since;
    geodec_serial *serial;                 /* of the throttle; NULL: none */
    atomic_bool wished;                    /* some state has a new wish */
    _Alignas(64) _Atomic uint32_t asleep;  /* the reader waits for the event */
    _Alignas(64) _Atomic uint32_t waiting; /* the caller waits for a result; a futex */
    _Alignas(64) atomic_bool quit;
};

void *geodec__disk_main(void *disk); /* of the reader thread */
/* Before an engine waits: announces that; false: there is something to do. */
bool geodec__disk_may_sleep(geodec_disk *d);
/* Wakes the disk: there is something to do. Another thread may call it. */
void geodec__disk_wake(geodec_disk *d);

#endif
