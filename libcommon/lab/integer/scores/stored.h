/* Stores of the transformed keys of a text, and the scores of a later query from them.
 *
 * A store is made by a pass over the tokens. To use it, the network reads the same tokens and further ones: the queries
 * of the last token are scored against the stored keys and, as the control, against the keys of this pass by direct
 * sums. Each score must be the same integer, and each key must have the same exponent. */
#ifndef GEODEC_INTEGER_SCORES_STORED_H
#define GEODEC_INTEGER_SCORES_STORED_H

#include "base/pool.h"
#include "integer/engine/network.h"
#include "lab/integer/scores/keys.h"

/* A text under a model. */
typedef struct geodec_stored_text {
    const geodec_network *net;
    const char *model; /* fingerprint */
    const int32_t *token;
    int32_t n;
    geodec_isa isa;
    geodec_pool *pool; /* NULL: the caller's thread */
} geodec_stored_text;

/* The keys of all n tokens; their source is the SHA-256 of the fingerprint, a zero byte, and the tokens as
 * little-endian int32. by: not direct. */
geodec_status geodec_stored_make(const geodec_stored_text *t, geodec_scores_by by, geodec_keys **out,
                                 geodec_err *err) GEODEC_MUST_USE;

/* A query head of a layer. The position and the sum are those of the largest stored score, the first one on ties. */
typedef struct geodec_stored_row {
    int32_t layer, head;
    int64_t scores, differing; /* visible stored keys; those whose stored score or exponent is not that of this pass */
    int64_t position;
    int64_t sum;
    int32_t exponent; /* of that key */
} geodec_stored_row;
/* keys: of the first tokens; the query is the last one. rows [n_layer][n_head] in new memory, which the caller frees.
 * GEODEC_CHECKSUM: the keys are of another model or text. */
geodec_status geodec_stored_compare(const geodec_stored_text *t, const geodec_keys *keys, geodec_stored_row **rows,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
