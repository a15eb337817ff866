/* Which experts are in memory: a state machine without threads, clocks or I/O. Its decisions depend on the order of the
 * calls alone, so a recorded run replays exactly (simulate.h). stream.h drives it in a decoder.
 *
 * Key = (layer, expert). A slot is empty, reading, or ready; a ready slot that is being computed is pinned. The layers
 * are visited in order, 0 .. n_layer - 1, once a pass; a visit is one call of need. */
#ifndef GEODEC_STREAMING_SLOTS_H
#define GEODEC_STREAMING_SLOTS_H

#include "base/err.h"
#include "geodec/streaming.h"
#include "streaming/eviction.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_SLOTS_WORKING = 16, GEODEC_SLOTS_MAX = 1 << 22, GEODEC_SLOTS_KEYS_MAX = 1 << 20 };

/* The calls of a run in order, for a record of it (trace.h). Calls without an effect are left out. */
typedef enum geodec_slots_call {
    GEODEC_SLOTS_PASS,
    GEODEC_SLOTS_FORETELL,  /* layer, n, expert, probability */
    GEODEC_SLOTS_NEED,      /* layer, n, expert */
    GEODEC_SLOTS_TAKE,      /* n: how many were taken */
    GEODEC_SLOTS_RELEASE,   /* slot */
    GEODEC_SLOTS_NEXT,      /* a read began; n: its difference, counted from 1; 0: the whole blob */
    GEODEC_SLOTS_FINISHED,  /* slot, yes: ok */
    GEODEC_SLOTS_RECALLED,  /* slot, yes: cancelled */
    GEODEC_SLOTS_WARM,      /* layer, expert[0] */
    GEODEC_SLOTS_GIVE = 11, /* slot; 9 and 10 mean something else in a trace */
    GEODEC_SLOTS_DROPPED,   /* slot */
    GEODEC_SLOTS_PACE,      /* probability[2]: least, far */
    GEODEC_SLOTS_EXPECT,    /* layer, n, expert, probability: the shares */
    GEODEC_SLOTS_SPEED,     /* probability[1]: bytes a second */
    GEODEC_SLOTS_BACK,      /* slot */
    GEODEC_SLOTS_CALLS
} geodec_slots_call;
typedef struct geodec_slots_event {
    geodec_slots_call call;
    int32_t layer, slot, n;
    bool yes;
    const int32_t *expert;
    const float *probability;
} geodec_slots_event;
typedef void geodec_slots_observer(void *ctx, const geodec_slots_event *e);

/* A blob can be made from that of another expert of its layer, and the other way round, by a difference. Among those
 * whose base is ready, that of the fewest bytes counts. It is read in place of the whole blob on a disk slower than
 * `below`, and its base stays in its slot until the blob is made. */
typedef struct geodec_slots_edge {
    int32_t layer, a, b; /* a < b */
    int64_t bytes;       /* that are read */
    float below;         /* bytes a second; INFINITY: always */
} geodec_slots_edge;

typedef struct geodec_slots_options {
    int32_t n_layer, n_expert,
        n_slots;           /* n_layer n_expert <= GEODEC_SLOTS_KEYS_MAX, 2 <= n_slots <= GEODEC_SLOTS_MAX */
    const uint8_t *routed; /* [n_layer] whether the layer has experts; NULL: all */
    geodec_eviction eviction;
    bool shared;           /* no quotas: a layer may take slots of any other. Otherwise each layer owns an equal
                            * number of slots, and the remainder is shared. A layer takes from its own slots first, then
                            * from layers that hold more than they own, and from others only as far as it holds fewer
                            * than GEODEC_SLOTS_WORKING slots, or when nothing is being read or computed */
    const float *usage;    /* [n_layer][n_expert] share of tokens that used the expert, at the start; NULL: uniform.
                            * Static sets and frequency scores begin with it */
    float prefetch_least;  /* prefetch only what is foretold with at least this probability */
    float prefetch_far;    /* in [0, 1]: the worth of a prefetch is its probability less so much for each layer beyond
                            * the next */
    int32_t prefetch_most; /* slots that may hold prefetched blobs not used yet, at most half of all; 0: no prefetch.
  While slots are empty, those that are no longer foretold do not count */
    const geodec_slots_edge *edge;  /* [n_edges], copied */
    int32_t n_edges;                /* 0: whole blobs only */
    geodec_eviction_next *next_use; /* for GEODEC_EVICTION_BELADY: see eviction.h */
    void *next_use_ctx;
    geodec_slots_observer *observe; /* is told every call that changes the state; NULL: none */
    void *observe_ctx;
} geodec_slots_options;

typedef struct geodec_slots geodec_slots;
geodec_status geodec_slots_create(const geodec_slots_options *o, geodec_slots **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_slots_destroy(geodec_slots *s); /* NULL ok */

/* Begins a pass over the layers. What was foretold for layers that the last pass has visited is forgotten at the visit,
 * not here: foretell may be called before the pass. */
void geodec_slots_pass(geodec_slots *s);
/* What the next visit of a layer will need, most probable first; replaces what was foretold for it. Prefetches of it
 * that have not been read and are no longer foretold become stale. */
void geodec_slots_foretell(geodec_slots *s, int32_t layer, int32_t n, const int32_t *expert, const float *probability);
/* Uses of experts in the visits of a layer after its next one, for GEODEC_EVICTION_MAP: the mean of a visit, the
 * nearest visits counting most. Experts that are not listed: 0. The shares are averaged over the calls. */
void geodec_slots_expect(geodec_slots *s, int32_t layer, int32_t n, const int32_t *expert, const float *share);
/* The visit of a layer: these experts (distinct) are needed now. Counts each as resident, in time (prefetched, first
 * use), late (being read) or missed. Ends the layer's foretelling. All of the previous visit must have been taken and
 * released. */
void geodec_slots_need(geodec_slots *s, int32_t layer, int32_t n, const int32_t *expert);
/* Needed experts that are ready and were not taken yet: pins them. Returns their number; 0: wait for a read, or all
 * were taken. */
int32_t geodec_slots_take(geodec_slots *s, int32_t *slot, int32_t most);
bool geodec_slots_waiting(const geodec_slots *s); /* some needed expert was not taken yet */
void geodec_slots_release(geodec_slots *s, int32_t slot);

/* Other values of prefetch_least and prefetch_far, in [0, 1], from now on. */
void geodec_slots_pace(geodec_slots *s, float least, float far);
/* The speed of the disk from now on, in bytes a second; until the first call it is unlimited. */
void geodec_slots_speed(geodec_slots *s, float bytes_per_second);
/* The next read to begin: needed ones in ascending expert; then foretold ones of a worth above 0, the largest first,
 * while fewer than two prefetches of at least its worth are under way; sixteen, if it is nearly certain.
 * A prefetch evicts nothing that is foretold with its own probability or a higher one.
 * The slot, maybe of an evicted blob, becomes reading. False: none, or no slot can be evicted now. */
typedef struct geodec_slots_read {
    int32_t slot, layer, expert;
    bool demand;
    float worth;        /* of a prefetch */
    int32_t edge, base; /* a difference, and the slot of its base; -1: the whole blob */
} geodec_slots_read;
bool geodec_slots_next(geodec_slots *s, geodec_slots_read *out);
/* The read of a slot ended; !ok: the slot is empty again, and a needed expert will be read again. */
void geodec_slots_finished(geodec_slots *s, int32_t slot, bool ok);
/* A slot whose prefetch is being read and is stale, or needed now (late); -1: none. The caller tries to take the read
 * back, and reports: cancelled (the slot is empty; a needed expert is then read on demand) or kept (it is not asked
 * again). A kept read that is not wanted may be broken off: dropped in place of finished. */
int32_t geodec_slots_recall(geodec_slots *s);
bool geodec_slots_wanted(const geodec_slots *s, int32_t slot); /* the visit waits for its expert */
void geodec_slots_recalled(geodec_slots *s, int32_t slot, bool cancelled);
/* The read was broken off. Counts as cancelled. */
void geodec_slots_dropped(geodec_slots *s, int32_t slot);
/* Gives up a slot, when memory gets short: an empty one, or that of the blob that leaves first. Between
 * visits. The quotas follow. Returns the slot; -1: none can leave now, or only two are left. */
int32_t geodec_slots_give(geodec_slots *s);
/* A slot that was given up is there again, empty. Between visits. */
void geodec_slots_back(geodec_slots *s, int32_t slot);
int32_t geodec_slots_left(const geodec_slots *s); /* those that were not given up */
/* Fills a slot before the first pass (warm start); false: no empty slot of that layer. */
bool geodec_slots_warm(geodec_slots *s, int32_t layer, int32_t expert, geodec_slots_read *out);

/* Calls that the state does not allow (a slot out of range or in another state) change nothing. */

/* What a slot holds or will hold; false when it is empty. */
bool geodec_slots_content(const geodec_slots *s, int32_t slot, int32_t *layer, int32_t *expert);
bool geodec_slots_resident(const geodec_slots *s, int32_t layer, int32_t expert); /* ready */
/* Use statistics for persisting: [n_layer][n_expert] the exponentially weighted frequency of use, and the number of
 * uses. */
const float *geodec_slots_frequency(const geodec_slots *s);
const int64_t *geodec_slots_uses(const geodec_slots *s);

geodec_slots_counters geodec_slots_counted(const geodec_slots *s);
geodec_slots_counters geodec_slots_counted_layer(const geodec_slots *s, int32_t layer);

#endif
