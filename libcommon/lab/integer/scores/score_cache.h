/* Scores of the engine from a store of transformed keys: each key is transformed when it enters the cache, each query
 * once for a layer, head and row. The sums are the integers that direct sums give, so the logits are the same. */
#ifndef GEODEC_INTEGER_SCORES_SCORE_CACHE_H
#define GEODEC_INTEGER_SCORES_SCORE_CACHE_H

#include "integer/engine/engine.h"
#include "lab/integer/scores/keys.h"

typedef struct geodec_score_cache geodec_score_cache;
/* keys: of the network's layers, key heads and head dimension, with the engine's n_ctx positions at least; they must
 * outlive the cache. workers: threads of the engine's pool. GEODEC_INVAL, GEODEC_NOMEM, GEODEC_UNSUPPORTED. */
geodec_status geodec_score_cache_create(geodec_keys *keys, int workers, geodec_isa isa, geodec_score_cache **out,
                                        geodec_err *err) GEODEC_MUST_USE;
void geodec_score_cache_destroy(geodec_score_cache *c); /* NULL ok */
/* For geodec_engine_options; valid while the cache is. */
const geodec_engine_scores *geodec_score_cache_engine(const geodec_score_cache *c);

/* What opens one, with keys of its own, for an integer session. NULL: direct sums. */
const geodec_engine_scores_source *geodec_score_cache_source(geodec_scores_by by);

#endif
