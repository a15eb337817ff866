/* The verifying model, as the decoding loop uses it: it takes a chain or a tree of rows, returns logits (and hidden
 * states), and has a cache that can be truncated. A geodec_session is one; tests use small ones. */
#ifndef GEODEC_DECODE_TARGET_H
#define GEODEC_DECODE_TARGET_H

#include "base/err.h"
#include "session/model.h"
#include "session/streamed.h"

#include <stdint.h>

typedef struct geodec_target {
    void *self;
    int32_t n_vocab;
    int32_t d_state;   /* floats of a hidden state; 0 = none */
    int32_t n_ctx;     /* cache rows */
    int32_t max_batch; /* rows of one pass; more where pass_rows says so */
    /* Appends rows for token[0..n) to the cache. logits [n][n_vocab] or NULL; state [n][d_state] (residual stream after
     * all blocks) or NULL. A row's values depend only on the tokens up to it, bit for bit, for every division of the
     * rows into passes. parent [n], or NULL for a chain: row i follows row parent[i] < i, or with -1 the last row of
     * the cache before the pass. On error the cache is unchanged. */
    geodec_status (*forward)(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                             float *state, geodec_err *err);
    int32_t (*length)(const void *self);
    void (*truncate)(void *self, int32_t length);
    /* After a pass that began at `base`: keeps n of its rows, the path row[0] < row[1] < .., directly after `base`. */
    void (*compact)(void *self, int32_t base, const int32_t *row, int32_t n);
    geodec_counters (*counters)(const void *self); /* counts made by the target itself */
    /* Rows of a chain of `wanted` that the next pass should take, with `beside` bytes of the caller for each:
     * geodec_session_pass_rows. NULL: max_batch */
    int32_t (*pass_rows)(const void *self, int64_t wanted, int64_t beside);
    /* Optional (NULL: rows of the same number always cost the same). price: of a pass over token[0..n), the newest
     * token of the text first; false: not known. reads: what the passes read; false: nothing is read. */
    bool (*price)(void *self, const int32_t *token, int32_t n, geodec_price *out);
    bool (*reads)(void *self, geodec_streamed_read *out);
} geodec_target;

/* s is borrowed. */
GEODEC_API geodec_target geodec_target_session(geodec_session *s, int32_t max_batch);

#endif
