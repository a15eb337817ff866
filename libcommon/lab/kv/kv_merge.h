/* The papers' merging of tokens in the cache, as a control of its cost. Per layer and key head, the rotated key of a
 * token is projected onto the first head_dim rows of the leading principal components of the embedding (coordinates of
 * another space, as in the papers' runtime) and compared with up to 256 tokens kept before, oldest first; at the first
 * within the threshold its key and value become copies of that token's. The cache keeps its size. */
#ifndef GEODEC_LAB_KV_KV_MERGE_H
#define GEODEC_LAB_KV_KV_MERGE_H

#include "session/rewrite.h"

typedef struct geodec_kv_merge geodec_kv_merge;
/* threshold: a distance > 0. m must outlive it. GEODEC_RANGE (the threshold), GEODEC_UNSUPPORTED (heads wider than the
 * stream), GEODEC_NOMEM. */
geodec_status geodec_kv_merge_create(const geodec_model *m, double threshold, geodec_kv_merge **out,
                                     geodec_err *err) GEODEC_MUST_USE;
void geodec_kv_merge_destroy(geodec_kv_merge *g); /* NULL ok */

/* For any number of sessions of the model, on any threads; valid while g is. */
const geodec_rewrite *geodec_kv_merge_rewrite(const geodec_kv_merge *g);

/* Tokens of all sessions, layers and heads so far, and the number of merged ones. */
typedef struct geodec_kv_merges {
    int64_t seen, merged;
} geodec_kv_merges;
/* GEODEC_NOMEM: there was no memory for the tokens of a session, and they were not merged. */
geodec_status geodec_kv_merge_counts(geodec_kv_merge *g, geodec_kv_merges *out, geodec_err *err) GEODEC_MUST_USE;

#endif
