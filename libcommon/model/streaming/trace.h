/* Records of streamed runs: the calls of the slots in order (slots.h), so that a simulator repeats every decision.
 *
 * File, little-endian: magic "GEXTRACE", u32 version, u32 bytes of the head; the head (options of the slots, for each
 * layer the bytes of a blob, the usage table if one was given), its CRC-32C; the calls, each a byte and its numbers in
 * base 128 (least digit first), probabilities as f32; the totals; CRC-32C of all before it. Version 2; a run with
 * differences (slots.h) is written as version 3, which has them in the head. */
#ifndef GEODEC_STREAMING_TRACE_H
#define GEODEC_STREAMING_TRACE_H

#include "base/err.h"
#include "streaming/slots.h"

/* The run as the runtime counted it. Times are 0 where they were not measured. */
typedef struct geodec_trace_totals {
    geodec_slots_counters slots;
    int64_t rows;   /* tokens of all passes */
    int64_t bytes;  /* read */
    double seconds; /* of all passes */
    double stall;   /* in which the run waited for a read */
    double busy;    /* in which a read was in flight */
} geodec_trace_totals;

/* ---- writing ---------------------------------------------------------------------------------------------------- */

typedef struct geodec_trace_writer geodec_trace_writer;
/* Writes under a temporary name until commit. blob [n_layer]: bytes of a blob of each layer, 0 for a layer without
 * experts. Nothing of o is kept. */
geodec_status geodec_trace_create(const char *path, const geodec_slots_options *o, const int64_t *blob,
                                  geodec_trace_writer **out, geodec_err *err) GEODEC_MUST_USE;
/* For observe of geodec_slots_options, with the writer as observe_ctx. The first error is kept for commit. */
void geodec_trace_observe(void *writer, const geodec_slots_event *e);
/* Tokens of the pass that begins next (1 when this is not called). */
void geodec_trace_rows(geodec_trace_writer *w, int32_t rows);
/* Seconds since the last call of this function, or since the beginning; optional. Kept in microseconds. */
void geodec_trace_time(geodec_trace_writer *w, double seconds);
/* Writes the totals and puts the file in place. Frees w in every case. */
geodec_status geodec_trace_commit(geodec_trace_writer *w, const geodec_trace_totals *totals,
                                  geodec_err *err) GEODEC_MUST_USE;
void geodec_trace_abandon(geodec_trace_writer *w); /* NULL ok */

/* ---- reading ---------------------------------------------------------------------------------------------------- */

typedef struct geodec_trace {
    geodec_slots_options slots; /* as recorded; usage and routed point into the trace, the rest is NULL */
    const int64_t *blob;        /* [n_layer] */
    geodec_trace_totals totals;
    int64_t passes, visits, needs; /* needs: experts of all visits */
    struct geodec_trace_data *data;
} geodec_trace;

/* Checks the sums and every call: layers, experts and slots in range, experts of a visit distinct. GEODEC_NOTFOUND,
 * GEODEC_IO, GEODEC_FORMAT, GEODEC_VERSION, GEODEC_CHECKSUM, GEODEC_LIMIT; the message names the file. */
geodec_status geodec_trace_read(const char *path, geodec_trace *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_trace_clear(geodec_trace *t); /* t may be all zero */

/* An event of a trace: one call or, where timed, a time. */
typedef struct geodec_trace_event {
    geodec_slots_event call; /* its lists are valid until the next event */
    int32_t rows;            /* of a pass */
    bool timed;
    double seconds;
} geodec_trace_event;
typedef struct geodec_trace_cursor geodec_trace_cursor;
geodec_status geodec_trace_begin(const geodec_trace *t, geodec_trace_cursor **out, geodec_err *err) GEODEC_MUST_USE;
/* False: at the end. */
bool geodec_trace_next(geodec_trace_cursor *c, geodec_trace_event *e);
void geodec_trace_end(geodec_trace_cursor *c); /* NULL ok */

#endif
