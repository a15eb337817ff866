/* Policies of eviction: which ready blob leaves when a slot is needed. One table; help texts and choices come from it.
 */
#ifndef GEODEC_STREAMING_EVICTION_H
#define GEODEC_STREAMING_EVICTION_H

#include "geodec/err.h"

#include <stdint.h>

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

GEODEC_API const char *geodec_eviction_name(geodec_eviction e);
/* GEODEC_EVICTION_KINDS for an unknown name. */
GEODEC_API geodec_eviction geodec_eviction_named(const char *name);

/* Belady: the pass, from the current one on, in which the expert is needed next; INT64_MAX: never again. */
typedef int64_t geodec_eviction_next(void *ctx, int32_t layer, int32_t expert);

#endif
