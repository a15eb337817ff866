/* Internal: the order in which the policies of eviction.h evict. */
#ifndef GEODEC_STREAMING_EVICTION_INTERNAL_H
#define GEODEC_STREAMING_EVICTION_INTERNAL_H

#include "streaming/eviction.h"

/* The frequency F of a blob follows its uses: F <- GEODEC__EVICTION_KEEP F + (1 - GEODEC__EVICTION_KEEP) hit at each
 * visit of its layer, where hit is 1 if the visit uses the blob, else 0. */
#define GEODEC__EVICTION_KEEP 0.999
/* In place of GEODEC__EVICTION_KEEP for the recent use, which the policy `map` reads. */
#define GEODEC__EVICTION_RECENT 0.985

/* What is known of a blob in memory. All of it is constant until the next use of the blob, or until something else is
 * expected of its layer. */
typedef struct geodec__eviction_facts {
    double frequency; /* F when its layer had been visited `visits` times */
    int64_t visits;
    double recent;           /* F with GEODEC__EVICTION_RECENT */
    double expected;         /* uses in a later visit, as foretold by the map; 0: not */
    int64_t last, last_pass; /* visit (counted over all layers) and pass of the last use, or of the read */
    int64_t uses;
    int64_t next; /* visit in which it is needed next, counted over all layers; INT64_MAX: never */
} geodec__eviction_facts;

/* The lowest is evicted first. Within a layer blobs are ordered by (key, tie). Between layers geodec__eviction_shift is
 * added to the key. */
double geodec__eviction_key(geodec_eviction e, const geodec__eviction_facts *f);
/* visits: of the layer until now; ahead: layers from the current one to the next visit of this one, 1 .. n_layer. */
double geodec__eviction_shift(geodec_eviction e, int64_t visits, int32_t ahead);

#endif
