/* Internal: the state of slots.h, shared by its two files. */
#ifndef GEODEC_STREAMING_SLOTS_INTERNAL_H
#define GEODEC_STREAMING_SLOTS_INTERNAL_H

#include "streaming/eviction_internal.h"
#include "streaming/slots.h"

enum { GEODEC__SLOTS_PREFETCHES = 16 /* that may be under way */ };

typedef enum geodec__slots_state {
    GEODEC__SLOTS_EMPTY,
    GEODEC__SLOTS_READING,
    GEODEC__SLOTS_READY,
    GEODEC__SLOTS_PINNED
} geodec__slots_state;

/* The order of eviction: free blobs by the policy; blobs that are foretold (policy MAP), or prefetched and foretold,
 * the lowest probability first; blobs of the static set. */
typedef enum geodec__slots_rank { GEODEC__SLOTS_FREE, GEODEC__SLOTS_FORETOLD, GEODEC__SLOTS_FIXED } geodec__slots_rank;

typedef struct geodec__slots_slot {
    int32_t layer, expert; /* of an empty slot: -1 */
    geodec__slots_state state;
    bool prefetched;  /* brought by a prefetch and not used since */
    bool prefetching; /* reading: not needed yet */
    float worth;      /* of that prefetch */
    bool asked;       /* reading: recall has named it */
    geodec__slots_rank rank;
    double key;
    bool given;              /* up: empty, and not to be filled */
    int64_t last, last_pass; /* see eviction_internal.h */
    int32_t place;           /* in the heap of its layer; -1: not evictable */
    int32_t before, after;   /* in a list; itself: in none */
    int32_t base, holds;     /* reading: slot that it holds, -1: none; reads that hold this one */
} geodec__slots_slot;

typedef struct geodec__slots_key {
    int32_t slot;      /* -1: in none */
    float probability; /* foretold; below 0: not */
    bool wanted;       /* needed in the current visit and not taken yet */
    bool fixed;        /* of the static set */
    float start;       /* F at the start */
    double frequency;  /* F (eviction_internal.h) when the layer had been visited `visits` times */
    double recent;     /* F with GEODEC__EVICTION_RECENT */
    float expected;    /* uses in a later visit, see geodec_slots_expect */
    int64_t visits;
} geodec__slots_key;

typedef struct geodec__slots_layer {
    int32_t quota, held; /* slots owned; slots in use */
    int32_t n_heap, n_foretold, cursor;
    int32_t *heap;     /* [min(n_expert, n_slots)] evictable slots, the first to leave at [0] */
    int32_t *foretold; /* [n_expert] */
    int64_t visits;
    int64_t idle;   /* prefetched and not used yet */
    bool expecting; /* some share is above 0 */
    geodec_slots_counters count;
} geodec__slots_layer;

typedef struct geodec__slots_list {
    int32_t first, last;
} geodec__slots_list;

struct geodec_slots {
    geodec_slots_options o;
    int32_t prefetch_most;   /* that of the options, and at most half of the slots that are left */
    int32_t left;            /* slots that were not given up; o.n_slots is the size of the lists */
    int32_t remainder, over; /* slots that no layer owns; slots that layers hold above their quotas */
    int32_t n_empty, n_reading, n_prefetching, n_pinned, n_idle, n_stale; /* idle: prefetched, not used yet */
    int32_t current;        /* layer of the current visit; -1: before the first */
    int32_t n_want, n_wait; /* needed in the visit; of these not taken yet */
    int64_t passes, visits;
    geodec__slots_slot *slot;
    geodec__slots_key *key; /* [n_layer][n_expert] */
    geodec__slots_layer *layer;
    uint64_t *empty;         /* bit set of slots */
    uint64_t *missing, *due; /* bit sets of experts of the visit: to be read; ready and not taken */
    int32_t *want, *old;     /* [n_expert] needed in the visit, ascending; scratch */
    float *frequency;
    geodec_slots_edge *edge;         /* [n_edges] */
    int32_t *edges_first, *edges_of; /* [keys + 1], [2 n_edges] those of a key */
    float speed;
    int64_t *uses;
    int32_t under_way[GEODEC__SLOTS_PREFETCHES]; /* [n_prefetching] slots */
    geodec__slots_list recall, stale; /* reads to take back; ready blobs that are no longer foretold, not used */
};

static inline geodec__slots_key *geodec__slots_at(const geodec_slots *s, int32_t layer, int32_t expert)
{
    return s->key + ((int64_t)layer * s->o.n_expert + expert);
}

static inline void geodec__slots_bit(uint64_t *set, int32_t i, bool on)
{
    const uint64_t bit = (uint64_t)1 << (i & 63);
    if (on)
        set[i >> 6] |= bit;
    else
        set[i >> 6] &= ~bit;
}
/* The lowest element at or above `from` of a set of n; -1: none. */
int32_t geodec__slots_lowest(const uint64_t *set, int32_t from, int32_t n);

/* Lists of slots. A slot is in one list at most. */
void geodec__slots_unlink(geodec_slots *s, geodec__slots_list *l, int32_t slot);
void geodec__slots_link(geodec_slots *s, geodec__slots_list *l, int32_t slot, bool first);

/* The blob of a ready slot becomes evictable, or its rank has changed; it is no longer evictable. */
void geodec__slots_offer(geodec_slots *s, int32_t slot);
void geodec__slots_withdraw(geodec_slots *s, int32_t slot);
/* A slot for a blob of this layer: an empty one or one to be evicted; -1: none now. probability: of a prefetch; below
 * 0: a demand. */
int32_t geodec__slots_find(const geodec_slots *s, int32_t layer, float probability);
/* slots_bases.c: with the slots; for a read that begins, after its slot is cleared; when it ends. */
geodec_status geodec__slots_set_edges(geodec_slots *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__slots_choose(geodec_slots *s, geodec_slots_read *r);
void geodec__slots_let_go(geodec_slots *s, int32_t slot);
/* The first to leave of all, from layers that hold more than they own if there are any; -1: none now. */
int32_t geodec__slots_leaver(const geodec_slots *s);

#endif
