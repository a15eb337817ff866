/* A hyperdimensional memory (perspective/memory/hdm.h) of a text: the state after all blocks of a model -> the next
 * token; and what it adds to the model's prediction of another text, beside a table that keeps the same states as they
 * are. The table needs fewer bytes than the memory's banks while a state is short, so it is the control of equal bytes
 * too. The mixture p = (1 - w) p_model + w p_recalled is that of Khandelwal et al. 2020 (kNN-LM). */
#ifndef GEODEC_PERSPECTIVE_MEMORY_RECALLED_H
#define GEODEC_PERSPECTIVE_MEMORY_RECALLED_H

#include "base/hooks.h"
#include "base/pool.h"
#include "session/model.h"

typedef struct geodec_recalled_memory geodec_recalled_memory;
/* From the text id [n], read in windows of the session's context: at most `most` pairs. The session's own text is
 * lost. The pool (may be NULL) is that of the session. GEODEC_LIMIT, GEODEC_NOMEM, errors of geodec_forward. */
geodec_status geodec_recalled_make(geodec_session *s, const int32_t *id, int64_t n, int64_t most, uint64_t seed,
                                   geodec_recalled_memory **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_recalled_destroy(geodec_recalled_memory *m); /* NULL ok */
int64_t geodec_recalled_pairs(const geodec_recalled_memory *m);
int64_t geodec_recalled_bytes(const geodec_recalled_memory *m);       /* of the memory */
int64_t geodec_recalled_table_bytes(const geodec_recalled_memory *m); /* of the states and tokens */
/* For geodec_perspectives_options.recall: 0.95 for the token of the best entry, and the rest equally for all. */
void geodec_recalled_ask(void *memory, const float *state, double *logp, double *z);

/* One way to recall a token for a state. */
typedef struct geodec_recalled_way {
    int64_t right; /* of the tokens where the memory accepts its find */
    double weight; /* w of the smallest loss on the first half, of 0 .. 0.5 */
    double bits;   /* a byte on the second half, mixed with that weight where the memory accepts */
} geodec_recalled_way;

typedef struct geodec_recalled_measure {
    int64_t tokens, bytes; /* all but the first of each window */
    int64_t accepted;      /* tokens whose find has z > 5 */
    int64_t model_right;   /* of them, where the model's most probable token is the text's */
    double model_bits;     /* a byte on the second half, the model alone */
    geodec_recalled_way memory;
    geodec_recalled_way nearest;     /* control: the token of the nearest of the same states (Euclidean) */
    geodec_recalled_way random;      /* control: the token of a random one of them */
    int64_t half_tokens, half_bytes; /* of the second half */
} geodec_recalled_measure;

/* id [n], read in windows of `window` tokens or the session's context; bytes_of [n]: text bytes of each token.
 * GEODEC_SCARCE (fewer than 100 tokens), GEODEC_RANGE (a window below 2), GEODEC_INTERRUPTED, errors of
 * geodec_forward. */
geodec_status geodec_recalled_measure_text(geodec_session *s, const geodec_recalled_memory *m, const int32_t *id,
                                           const int32_t *bytes_of, int64_t n, int32_t window, geodec_pool *pool,
                                           const geodec_hooks *hooks, geodec_recalled_measure *out,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
