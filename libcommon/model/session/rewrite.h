/* Keys and values as they enter the cache: an observer that may change them, for measurements of codes of the cache.
 * Attention reads what the observer leaves. Rows of a batch are changed before any of them is attended to. */
#ifndef GEODEC_MODEL_REWRITE_H
#define GEODEC_MODEL_REWRITE_H

#include "session/model.h"

typedef struct geodec_rewrite_rows {
    const geodec_session *session;
    int32_t layer;
    int64_t first, n; /* rows of the cache, which are positions */
    const float *const
        *query;   /* [n] rows [n_head][head_dim], rotated and scaled; NULL for groups of more than one row */
    float *k, *v; /* [n][n_kv_head][head_dim] */
} geodec_rewrite_rows;

typedef struct geodec_rewrite {
    void (*fn)(void *ctx, const geodec_rewrite_rows *rows); /* called on the thread of the pass */
    void *ctx;
    int32_t
        group; /* rows come in whole groups, when their last row is stored; earlier ones stay as they are till then */
    bool unrotated; /* keys are turned back to their place before the rotary embedding, and forward again afterwards */
} geodec_rewrite;

/* r NULL: none. Passes are chains from then on (GEODEC_UNSUPPORTED for trees); truncate to whole groups. GEODEC_RANGE
 * (group outside 1 .. 64), GEODEC_UNSUPPORTED (integer arithmetic, a cache of low rank), GEODEC_NOMEM. */
geodec_status geodec_session_rewrite(geodec_session *s, const geodec_rewrite *r, geodec_err *err) GEODEC_MUST_USE;

/* The rotary embedding of a layer at a position, or its inverse, on keys [n_kv_head][head_dim]; for positions that the
 * session has reached. */
void geodec_session_rewrite_turn(const geodec_session *s, int32_t layer, int64_t position, bool back, float *k);

#endif
