/* A mixture whose experts are read from disk while it runs. The logits are those of the resident model, bit for bit:
 * only the place of the weights and the order of independent products differ. */
#ifndef GEODEC_STREAMING_H
#define GEODEC_STREAMING_H

#include "geodec/session.h"

#include <stdbool.h>
#include <stdint.h>

struct geodec_disk_faults;

/* X(NAME, name, what is evicted) */
#define GEODEC_EVICTIONS(X)                                                                                            \
    X(LRU, lru, "the least recently used")                                                                             \
    X(LFU, lfu, "the least often used")                                                                                \
    X(STALE, stale, "the one whose layer is visited last from here")                                                   \
    X(SCORE, score, "the lowest product of frequency and recency")                                                     \
    X(STATIC, static, "never the most used of the usage table, in three quarters of the slots; the others as lru")     \
    X(MAP, map, "the least expected by the map and by recent use; none that is foretold for the next visits")          \
    X(BELADY, belady, "the one needed last; of recorded runs only")

typedef enum geodec_eviction {
#define X(NAME, name, help) GEODEC_EVICTION_##NAME,
    GEODEC_EVICTIONS(X)
#undef X
        GEODEC_EVICTION_KINDS
} geodec_eviction;

typedef enum geodec_disk_io { GEODEC_DISK_DIRECT, GEODEC_DISK_BUFFERED } geodec_disk_io;
typedef enum geodec_disk_engine { GEODEC_DISK_AUTO, GEODEC_DISK_URING, GEODEC_DISK_THREADS } geodec_disk_engine;

typedef struct geodec_disk_options {
    geodec_disk_io io;                       /* DIRECT falls back to buffered where the file system has no direct I/O */
    geodec_disk_engine engine;               /* AUTO: io_uring if the kernel has it, else threads */
    int32_t n_slots;                         /* names of reads: 0 .. n_slots - 1 */
    int64_t throttle;                        /* bytes a second, as of a serial disk of that speed; 0: none */
    const struct geodec_disk_faults *faults; /* NULL */
} geodec_disk_options;

/* What foretells the experts of later layers, so that they are read before they are needed. The last three need a
 * foreseer; without one they foretell as router1.  X(NAME, name, what it knows) */
#define GEODEC_LOOKAHEADS(X)                                                                                           \
    X(NONE, none, "nothing")                                                                                           \
    X(ROUTER1, router1, "the layer's router on the residual stream before its attention")                              \
    X(ROUTER2, router2, "as router1, and the same before the experts of the layer before")                             \
    X(TOKEN, token, "the token (a foreseer's table)")                                                                  \
    X(MAP, map, "the token and the last state before it (a foreseer's map)")                                           \
    X(MIX, mix, "as map before the pass, then with router1")

typedef enum geodec_lookahead {
#define X(NAME, name, help) GEODEC_LOOKAHEAD_##NAME,
    GEODEC_LOOKAHEADS(X)
#undef X
        GEODEC_LOOKAHEAD_KINDS
} geodec_lookahead;

/* What the rows of a draft are priced by.  X(NAME, name, what) */
#define GEODEC_STREAMED_PRICES(X)                                                                                      \
    X(FORETOLD, foretold, "the experts foretold for its token, and those in memory (without a foreseer: chance)")      \
    X(CHANCE, chance, "the number of experts, and those in memory")                                                    \
    X(NONE, none, "its row alone")

typedef enum geodec_streamed_price_by {
#define X(NAME, name, help) GEODEC_STREAMED_PRICE_##NAME,
    GEODEC_STREAMED_PRICES(X)
#undef X
        GEODEC_STREAMED_PRICE_KINDS
} geodec_streamed_price_by;

/* Sizes, before any weight is read. */
typedef struct geodec_streamed_plan {
    int64_t resident, session; /* bytes: weights that stay in memory; cache and work space of one session */
    int64_t slot, experts;     /* bytes of a slot; number of blobs */
    int32_t slots, least;      /* slots that fit; the smallest possible number */
    int64_t smallest;          /* the smallest possible budget */
    int64_t allowed;           /* what the limit of the control group leaves for a budget; 0: no limit */
    int32_t per_layer, n_expert, n_expert_used, layers; /* layers with experts; slots of each */
    double token; /* expected bytes read for a token when routing is uniform: misses x blob */
} geodec_streamed_plan;

/* Foretells from outside of the model, before a pass begins. The text is followed row by row; questions change nothing.
 * One text at a time: each session has its own. */
typedef struct geodec_foreseer {
    void *ctx;
    void (*begin)(void *ctx); /* a new text, or one that was cut */
    /* one row more: its token and its last residual stream [d_model] */
    void (*observe)(void *ctx, int32_t token, const float *state);
    /* P(used) [n_layer][n_expert] of the token after the observed rows, or of one later in the text (!with_state) */
    void (*ask)(void *ctx, int32_t token, bool with_state, float *probability);
    /* of one layer [n_expert], from that and the logits of its router on the stream before its attention (blocks 0) or
     * before the experts of the layer before (1) */
    void (*mix)(void *ctx, int32_t blocks, int32_t layer, const float *early, const float *logit, float *out);
    /* For GEODEC_EVICTION_MAP; NULL: not known. The experts [n_layer][n_expert_used] of the row that is observed next.
     * Mean uses [n_layer][n_expert] of a token after this one, which follows the observed rows; the next tokens count
     * most. */
    void (*remember)(void *ctx, int32_t token, const int32_t *expert);
    void (*expect)(void *ctx, int32_t token, float *share);
    void (*destroy)(void *ctx);
} geodec_foreseer;

/* How ternary experts (ternary_store.h) are multiplied.  X(NAME, name, what) */
#define GEODEC_STREAMED_TERNARY(X)                                                                                     \
    X(EXACT, exact, "as the float32 weights that were packed: their bits")                                             \
    X(ADD, add, "sums of float32 without products, then the scale")                                                    \
    X(INT8, int8, "inputs rounded to 8 bits, sums of integers")

typedef enum geodec_streamed_ternary {
#define X(NAME, name, help) GEODEC_STREAMED_TERNARY_##NAME,
    GEODEC_STREAMED_TERNARY(X)
#undef X
        GEODEC_STREAMED_TERNARY_KINDS
} geodec_streamed_ternary;

/* Whether ternary experts are read as differences to a neighbour in memory.  X(NAME, name, when) */
#define GEODEC_STREAMED_DIFFERENCES(X)                                                                                 \
    X(ADAPTIVE, adaptive, "where that costs less, by the measured speed of the disk (cost.h)")                         \
    X(OFF, off, "never")                                                                                               \
    X(ALWAYS, always, "where it fits a slot")

typedef enum geodec_streamed_differences {
#define X(NAME, name, help) GEODEC_STREAMED_DIFFERENCES_##NAME,
    GEODEC_STREAMED_DIFFERENCES(X)
#undef X
        GEODEC_STREAMED_DIFFERENCES_KINDS
} geodec_streamed_differences;

typedef struct geodec_streaming {
    int64_t ram; /* bytes for weights, cache, work space and slots of all sessions; the program itself is not counted */
    int32_t slots;                /* > 0: this number of slots, whatever ram says */
    geodec_arithmetic arithmetic; /* of the sessions: the layout of the weights in the slots */
    geodec_eviction eviction;
    bool shared; /* slots.h */
    geodec_lookahead lookahead;
    /* Makes the foreseer of a session; NULL: none */
    geodec_status (*foreseer)(void *ctx, geodec_foreseer *out, geodec_err *err);
    void *foreseer_ctx;
    geodec_streamed_price_by price;
    geodec_streamed_ternary ternary;
    geodec_streamed_differences differences;
    bool check_differences;   /* compare the CRC of every result, not of one in 16 */
    float prefetch_least;     /* < 0: adapts to the times of reading and computing */
    int32_t prefetch_most;    /* < 0: by the number of slots */
    geodec_disk_options disk; /* n_slots is set here */
    bool mapped;              /* no slots and no budget: experts are read through the map of the file, as a control */
    int32_t sessions;         /* that are open at the same time; 0: 1 */
    /* Called with the first session, before slots are reserved and weights are read; NULL: not. */
    void (*planned)(void *ctx, const geodec_streamed_plan *plan);
    void *planned_ctx;
    const char *usage;         /* stream.h; NULL: none */
    const geodec_hooks *hooks; /* NULL ok */
    const char *trace;         /* NULL: none */
    /* root of memory_limit.h ("": this machine). Slots are reserved only as far as the limit of the control group
     * allows, and given back when it falls; NULL: not watched */
    const char *limits;
    double look; /* seconds between looks at it */
} geodec_streaming;

/* Before the first session: the experts of all sessions of m come from the model's file. The slots are reserved with
 * the first session, whose sizes count in the budget; for further sessions than were announced, slots are given back.
 * GEODEC_LIMIT: the budget is too small; the message names the smallest. GEODEC_UNSUPPORTED: the model has no experts.
 */
GEODEC_API geodec_status geodec_streamed_begin(geodec_model *m, const geodec_streaming *o,
                                               geodec_err *err) GEODEC_MUST_USE;

/* After the last pass: writes the trace and the table of uses, if there are any. GEODEC_IO: the model's file got
 * shorter since it was opened. */
GEODEC_API geodec_status geodec_streamed_finish(const geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* Whether streaming has begun. Sessions of such a model take turns, a pass each: one session whose passes use all
 * threads is as fast as several, and takes less of the budget. */
GEODEC_API bool geodec_streamed_is(const geodec_model *m);

typedef struct geodec_slots_counters {
    int64_t passes, visits, needed;          /* needed = resident + in_time + late + missed */
    int64_t resident, in_time, late, missed; /* late: a prefetch was being read; missed if it was taken back */
    int64_t demand_reads, prefetch_reads;    /* begun and not taken back */
    int64_t wasted;                          /* prefetched, and evicted or left (until now) without a use */
    int64_t cancelled, evictions, failed;
    int64_t differences, alone, cheaper; /* with edges, of the reads that began: by difference; whole, because no base
                                          * was ready; because that costs less */
} geodec_slots_counters;

typedef struct geodec_disk_counters {
    int64_t reads, bytes;            /* finished; bytes as read, rounded out */
    int64_t demands, prefetches;     /* of reads */
    double busy;                     /* seconds with a read in flight (with a throttle: of the serial disk) */
    double latency_sum, latency_max; /* seconds from queueing to the end */
} geodec_disk_counters;

typedef struct geodec_stream_counters {
    geodec_slots_counters slots;
    geodec_disk_counters disk;
    int64_t rows;                               /* of all passes */
    int64_t given;                              /* slots given back */
    int64_t difference_bytes, applied, checked; /* of differences that were read; applied; of these, compared */
    double apply;                               /* seconds of applying */
    double stall;                               /* seconds in which the caller waited for a read */
    double passes;                              /* seconds from begin to end */
} geodec_stream_counters;

/* False: the model does not stream, or has no session yet. */
GEODEC_API bool geodec_streamed_counted(const geodec_model *m, geodec_stream_counters *out);

/* Counts over the passes so far: of the stream; useful and wasted of this session alone (price.h). */
typedef struct geodec_streamed_read {
    int64_t experts, visits; /* distinct experts of each pass and layer, summed; passes times layers */
    int64_t bytes;
    int64_t useful, wasted; /* of this session: for rows that stayed in the text, for other rows alone */
    int64_t read, plain;    /* of this session: read, and what plain decoding would have read (0: not followed) */
} geodec_streamed_read;

#endif
