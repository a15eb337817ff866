/* Experts on demand: slots of memory, filled from a disk. Combines slots.h, disk.h and the memory of the slots; counts
 * and times. Used by the forward pass (session/streamed.c), which knows what a blob contains.
 *
 * One pass at a time: the caller holds the stream from begin to end of a pass. */
#ifndef GEODEC_STREAMING_STREAM_H
#define GEODEC_STREAMING_STREAM_H

#include "base/hooks.h"
#include "geodec/streaming.h"
#include "streaming/disk.h"
#include "streaming/slots.h"
#include "streaming/timeline.h"

typedef struct geodec_stream_options {
    geodec_slots_options slots; /* n_layer, n_expert, routed come from the blobs */
    geodec_disk_options disk;
    const char *trace;         /* records the run for the simulator, written by finish; NULL: not */
    const char *usage;         /* table of uses (usage.h): warm start, and updated by finish; NULL: none */
    const char *fingerprint;   /* of the model, for the table of uses */
    const geodec_hooks *hooks; /* notes, and progress of the warm start; kept; NULL ok */
    bool check_differences;    /* compare the CRC of every result of a difference, not of one in 16 */
    int64_t beside;            /* bytes of the budget beside the slots: see geodec_stream_claim */
    int32_t least;             /* slots that are never given back */
    const char *limits; /* root of memory_limit.h: when a limit there falls below what this process has, slots are
                         * given back; kept; NULL: not watched */
    double look;        /* seconds between looks at it */
    bool spare;         /* memory of one more slot, for what the caller makes of a blob */
} geodec_stream_options;

typedef struct geodec_stream geodec_stream;
/* Takes over *blobs (which becomes all zero). Reserves and touches the memory of all slots. Reads all experts if there
 * are slots for all, or the most used ones of a table of uses that fits the model. A table that does not fit is ignored
 * with a note. */
geodec_status geodec_stream_open(geodec_blobs *blobs, const geodec_stream_options *o, geodec_stream **out,
                                 geodec_err *err) GEODEC_MUST_USE;
void geodec_stream_close(geodec_stream *s); /* NULL ok */
/* Bytes of the budget for something else (below 0: they are free again). Slots are given back for what `beside` does
 * not cover, for good. Returns the bytes that are missing when the least number of slots is left: then nothing was
 * claimed; 0: claimed. Not within a pass. */
int64_t geodec_stream_claim(geodec_stream *s, int64_t bytes);
/* What a pass may take for itself: bytes that `beside` has left, those of all slots but the least number; and the
 * number of slots. */
typedef struct geodec_stream_room {
    int64_t free, lendable;
    int32_t left;
} geodec_stream_room;
geodec_stream_room geodec_stream_room_of(geodec_stream *s);
/* Lends so many bytes to the next pass; slots are given up until they are back. False: they are missing, and nothing
 * was lent. Not within a pass; restore after it. */
bool geodec_stream_lend(geodec_stream *s, int64_t bytes);
void geodec_stream_restore(geodec_stream *s);
/* After the last pass: writes the trace and the table of uses. GEODEC_IO, before that: the file got shorter. */
geodec_status geodec_stream_finish(geodec_stream *s, geodec_err *err) GEODEC_MUST_USE;

/* A pass: lock, then for each layer foretell (optional), need, and take until it returns 0; then unlock. On an error
 * the visit is abandoned; end is called as ever. */
void geodec_stream_begin(geodec_stream *s, int32_t rows);
void geodec_stream_end(geodec_stream *s);
void geodec_stream_pace(geodec_stream *s, float least, float far); /* slots.h */
void geodec_stream_expect(geodec_stream *s, int32_t layer, int32_t n, const int32_t *expert, const float *share);
void geodec_stream_foretell(geodec_stream *s, int32_t layer, int32_t n, const int32_t *expert,
                            const float *probability);
void geodec_stream_need(geodec_stream *s, int32_t layer, int32_t n, const int32_t *expert);
/* A needed expert in memory, pinned until it is released. */
typedef struct geodec_stream_blob {
    int32_t slot, expert;
    uint8_t *data; /* the slot: see blobs.h */
    bool fresh;    /* read since it was last taken: the caller may rearrange it, once, in place or by an exchange */
} geodec_stream_blob;
/* Waits for at least one; *n = 0: all needed experts were taken. */
geodec_status geodec_stream_take(geodec_stream *s, geodec_stream_blob *blob, int32_t most, int32_t *n,
                                 geodec_err *err) GEODEC_MUST_USE;
/* The spare memory, slot_bytes, aligned to a page; with the option. Exchange makes it the memory of the blob's slot,
 * and that of the slot the spare. */
uint8_t *geodec_stream_spare(const geodec_stream *s);
void geodec_stream_exchange(geodec_stream *s, geodec_stream_blob *blob);
int32_t geodec_stream_left(const geodec_stream *s); /* slots of the pass */
void geodec_stream_release(geodec_stream *s, int32_t slot);

geodec_stream_counters geodec_stream_counted(const geodec_stream *s);
geodec_slots_counters geodec_stream_counted_layer(const geodec_stream *s, int32_t layer);
/* Passes in order; valid until the next pass. */
const geodec_timeline *geodec_stream_timeline(const geodec_stream *s);

/* Between passes: resident [n_layer][n_expert] = 1 for experts that are in memory, 0 for others. */
void geodec_stream_residents(geodec_stream *s, uint8_t *resident);
/* Bytes that are read for an expert of a layer; 0: the layer has none. */
int64_t geodec_stream_blob_bytes(const geodec_stream *s, int32_t layer);

#endif
