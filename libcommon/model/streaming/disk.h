/* Asynchronous reads of blobs into slots, by one thread of its own that keeps the disk busy: io_uring with O_DIRECT,
 * else reads by several threads, else buffered reads. Reads of a demand begin before all prefetches that have not
 * begun; while a demand waits, at most one prefetch is in flight.
 *
 * The caller (one thread at a time) and the reader exchange requests and results through two bounded rings of one
 * producer and one consumer (ring_queue.h). A request goes through the states queued, reading, done; the caller can
 * take it back while it is queued. */
#ifndef GEODEC_STREAMING_DISK_H
#define GEODEC_STREAMING_DISK_H

#include "base/err.h"
#include "geodec/streaming.h"
#include "streaming/blobs.h"

#include <stdbool.h>
#include <stdint.h>

/* Faults of tests: called before a part of a read is passed on; returns an errno to report in its place (0: none), may
 * shorten *bytes (a short read), and may change the bytes after the read (`after` true). */
typedef struct geodec_disk_faults {
    int (*at)(void *ctx, int64_t offset, int64_t *bytes, uint8_t *to, bool after);
    void *ctx;
} geodec_disk_faults;

typedef struct geodec_disk geodec_disk;
/* The thread that reads inherits the caller's affinity mask: open before a pool pins its workers. */
geodec_status geodec_disk_open(const char *path, const geodec_disk_options *o, geodec_disk **out,
                               geodec_err *err) GEODEC_MUST_USE;
/* Several files (blobs.h), whose paths are copied; name: in messages that are of none of them. */
geodec_status geodec_disk_open_files(const char *name, const geodec_blob_file *file, int32_t n,
                                     const geodec_disk_options *o, geodec_disk **out, geodec_err *err) GEODEC_MUST_USE;
/* Waits for reads in flight. NULL ok. */
void geodec_disk_close(geodec_disk *d);
/* Bytes of a file now, and its path; -1: not known. */
int64_t geodec_disk_bytes(const geodec_disk *d, int32_t file, const char **path);
/* What is in use after fallbacks. */
geodec_disk_io geodec_disk_io_of(const geodec_disk *d);
const char *geodec_disk_engine_name(const geodec_disk *d); /* "io_uring", "threads" */

typedef struct geodec_disk_read {
    int32_t slot; /* at most one read of a slot at a time */
    bool demand;
    float worth; /* of a prefetch: those of more go first */
    bool check;  /* compare the CRC-32C of the pieces with crc; a mismatch is read once more, then an error */
    uint32_t crc;
    geodec_blob_piece piece[GEODEC_BLOB_PIECES];
    uint8_t *to; /* the slot, aligned to a page */
} geodec_disk_read;

/* Queues a read. False: the ring is full (take results first), the slot has a read, or there is no such slot. */
bool geodec_disk_submit(geodec_disk *d, const geodec_disk_read *r) GEODEC_MUST_USE;
/* Takes back a read that has not begun; false: it has, and its result will come. */
bool geodec_disk_cancel(geodec_disk *d, int32_t slot) GEODEC_MUST_USE;
/* A prefetch becomes a demand. */
void geodec_disk_hurry(geodec_disk *d, int32_t slot);
/* Breaks off a prefetch that has begun: its result is GEODEC_INTERRUPTED, unless it comes before that. */
void geodec_disk_drop(geodec_disk *d, int32_t slot);

typedef struct geodec_disk_done {
    int32_t slot;
    geodec_status status; /* GEODEC_IO: cause and file in error; GEODEC_FORMAT: the CRC; GEODEC_INTERRUPTED: dropped */
    int32_t errnum;       /* errno; 0 for a short read or a wrong CRC */
    int32_t file;         /* of several */
} geodec_disk_done;
/* Finished reads, in the order in which they finished; waits for one if `wait` and any is queued or in flight. */
int32_t geodec_disk_take(geodec_disk *d, geodec_disk_done *done, int32_t most, bool wait);
/* Message for a failed read of this layer and expert (layer < 0: of no blob): sets err and returns the status. */
geodec_status geodec_disk_failed(const geodec_disk *d, const geodec_disk_done *done, int32_t layer, int32_t expert,
                                 geodec_err *err);

geodec_disk_counters geodec_disk_counted(const geodec_disk *d);

#endif
