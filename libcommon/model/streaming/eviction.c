#include "streaming/eviction.h"

#include "base/names_internal.h"
#include "streaming/eviction_internal.h"

#include <math.h>

/* Recency halves in so many passes. */
#define HALF_LIFE 64.0

GEODEC__NAMES(geodec_eviction, geodec_eviction, GEODEC_EVICTIONS)

static double by_use(const geodec__eviction_facts *f) { return (double)f->last; }
static double by_count(const geodec__eviction_facts *f) { return (double)f->uses; }
static double by_layer(const geodec__eviction_facts *f) { return 0.0 * (double)f->last; }

/* log2 of F R without the terms that all blobs of a layer share: F and R fall by a constant factor a visit and a pass,
 * so the order within a layer is constant until the next use. */
static double by_score(const geodec__eviction_facts *f)
{
    return log2(f->frequency) - (double)f->visits * log2(GEODEC__EVICTION_KEEP) + (double)f->last_pass / HALF_LIFE;
}

/* log2 of (expected + LEAST) recent^BY_RECENT, without the term that all blobs of a layer share. Measured at 8 of 32
 * slots (docs/results/foresight.md); with an exponent of .3 or .6 there are .001 fewer hits. */
#define BY_RECENT 0.4
#define LEAST_EXPECTED 0.01
static double by_map(const geodec__eviction_facts *f)
{
    return log2(f->expected + LEAST_EXPECTED) +
           BY_RECENT * (log2(f->recent) - (double)f->visits * log2(GEODEC__EVICTION_RECENT));
}

static double by_next(const geodec__eviction_facts *f) { return f->next == INT64_MAX ? -INFINITY : -(double)f->next; }

static double (*const key_of[GEODEC_EVICTION_KINDS])(const geodec__eviction_facts *) = {
    [GEODEC_EVICTION_LRU] = by_use,     [GEODEC_EVICTION_LFU] = by_count,  [GEODEC_EVICTION_STALE] = by_layer,
    [GEODEC_EVICTION_SCORE] = by_score, [GEODEC_EVICTION_STATIC] = by_use, [GEODEC_EVICTION_MAP] = by_map,
    [GEODEC_EVICTION_BELADY] = by_next,
};

double geodec__eviction_key(geodec_eviction e, const geodec__eviction_facts *f) { return key_of[e](f); }

double geodec__eviction_shift(geodec_eviction e, int64_t visits, int32_t ahead)
{
    switch (e) {
    case GEODEC_EVICTION_STALE:
        return -(double)ahead;
    case GEODEC_EVICTION_SCORE:
        return (double)visits * log2(GEODEC__EVICTION_KEEP);
    case GEODEC_EVICTION_MAP:
        return BY_RECENT * (double)visits * log2(GEODEC__EVICTION_RECENT);
    default:
        return 0;
    }
}
