/* Simulation of streamed runs from their traces (trace.h): the same run again, call by call, or the same experts in
 * the same order with other slots, policies and disks, on a virtual clock with a serial disk (serial.h). */
#ifndef GEODEC_STREAMING_SIMULATE_H
#define GEODEC_STREAMING_SIMULATE_H

#include "streaming/trace.h"

/* Repeats every call with the recorded options. GEODEC_CHECK: the machine decides otherwise than the record says. */
geodec_status geodec_simulate_replay(const geodec_trace *t, geodec_slots_counters *out,
                                     geodec_err *err) GEODEC_MUST_USE;
/* Replays, and compares every counter with the recorded one, and the bytes read (of reads that were broken off only up
 * to their size): GEODEC_CHECK names the first that differs. */
geodec_status geodec_simulate_check(const geodec_trace *t, geodec_err *err) GEODEC_MUST_USE;

/* Applying a difference takes no time on the virtual clock. */
typedef enum geodec_simulate_differences {
    GEODEC_SIMULATE_RECORDED, /* as recorded; by the speed of the disk where one is given */
    GEODEC_SIMULATE_WHOLE,
    GEODEC_SIMULATE_ALWAYS
} geodec_simulate_differences;

typedef struct geodec_simulate_options {
    geodec_eviction eviction;
    int32_t n_slots;
    bool shared;
    float prefetch_least, prefetch_far; /* slots.h; least below 0: both as recorded */
    int32_t prefetch_most;
    int32_t ahead;         /* >= 0: in place of the recorded foretellings, the true experts of so many next visits are
                            * foretold at each visit; -1: as recorded */
    int differences;       /* with a trace that has them: geodec_simulate_differences */
    double bandwidth;      /* bytes a second of the disk; 0: unlimited */
    double latency;        /* seconds of each read beside its bytes */
    double pass_seconds;   /* computing of a pass outside the layers with experts */
    double layer_seconds;  /* computing of a layer before its experts are needed */
    double expert_seconds; /* computing of an expert */
} geodec_simulate_options;

/* The recorded options; bandwidth and layer_seconds from the recorded times, 0 where those are not there. */
geodec_simulate_options geodec_simulate_recorded(const geodec_trace *t);

/* The counters are those of the slots; bytes as read, also of prefetches that were dropped. */
typedef struct geodec_simulate_result {
    geodec_slots_counters slots;
    int64_t rows, bytes;
    double seconds, stall, busy; /* of the virtual clock */
} geodec_simulate_result;
/* GEODEC_LIMIT for slots that are not possible. */
geodec_status geodec_simulate_run(const geodec_trace *t, const geodec_simulate_options *o, geodec_simulate_result *out,
                                  geodec_err *err) GEODEC_MUST_USE;
/* Fewest misses that any policy can have with so many slots: Belady's policy, no quotas, no prefetch. */
geodec_status geodec_simulate_bound(const geodec_trace *t, int32_t n_slots, geodec_simulate_result *out,
                                    geodec_err *err) GEODEC_MUST_USE;

/* Generated traffic: each visit needs `used` distinct experts, drawn with probability 1 / rank^zipf (0: uniform); the
 * rank of an expert is another in each layer. Writes a trace of `passes` passes of one row. */
typedef struct geodec_simulate_traffic {
    geodec_slots_options slots; /* n_layer, n_expert, n_slots, eviction, shared */
    int32_t used;
    int64_t passes, blob;
    double zipf;
    uint64_t seed;
} geodec_simulate_traffic;
geodec_status geodec_simulate_generate(const char *path, const geodec_simulate_traffic *o,
                                       geodec_err *err) GEODEC_MUST_USE;

#endif
