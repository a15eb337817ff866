/* A session: the forward passes of one text over an opened model.
 *
 * Batch invariance. The logits of a token depend on the token and its ancestors only: they are bit-identical alone, in
 * any batch, in prefill, in a chain or as a tree node, and with any number of threads. Every output element is one dot
 * product in a fixed order of its inputs; no sum is split by batch row or thread. */
#ifndef GEODEC_SESSION_H
#define GEODEC_SESSION_H

#include "geodec/model.h"
#include "geodec/run.h"

#include <stdbool.h>
#include <stdint.h>

/* Arithmetic of a pass. exact: float activations. fast: where the weights are block-quantised, activations are rounded
 * to int8 in blocks of 32 and multiplied in integers; other weights as in exact. integer: the whole pass in integers
 * (integer/engine/engine.h), the same bits on every processor. */
typedef enum geodec_arithmetic { GEODEC_EXACT, GEODEC_FAST, GEODEC_INTEGER } geodec_arithmetic;
enum { GEODEC_ARITHMETICS = 2 /* those that prepare floats' matrices */ };

/* Element types of the key and value cache: X(NAME, name). */
#define GEODEC_KV_TYPES(X) X(F32, f32) X(F16, f16) X(Q8_0, q8_0) X(Q4_0, q4_0)
#define GEODEC__KV_MEMBER(NAME, name) GEODEC_KV_##NAME,
typedef enum geodec_kv_type { GEODEC_KV_TYPES(GEODEC__KV_MEMBER) } geodec_kv_type;

/* Instruction sets; AUTO: the best of the CPU. */
typedef enum geodec_isa { GEODEC_ISA_AUTO, GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512 } geodec_isa;

/* All zero is off. */
typedef struct geodec_attnres {
    double damp, rescale, depth_attn, block_softmax; /* strengths, 0 .. 1 */
    int32_t window;                                  /* of depth_attn, 1 .. GEODEC_ATTNRES_WINDOW */
    int32_t blocks;                                  /* of block_softmax, 1 .. GEODEC_ATTNRES_BLOCKS, at most L */
    double tau;                                      /* of block_softmax, > 0 */
    bool zero_query;                                 /* of block_softmax */
} geodec_attnres;

struct geodec_engine_scores_source;

/* A session: KV cache, states of recurrent layers, work space, counters. One thread at a time. */
typedef struct geodec_session geodec_session;

typedef struct geodec_session_options {
    int32_t n_ctx;     /* cache rows; 0 = the model's */
    int32_t max_batch; /* rows of one forward call; 0 = 64 */
    /* While experts stream, rows of one forward call without a tree: more than max_batch run layer by layer in parts of
     * max_batch, so that each expert is read once. 0: max_batch. See geodec_session_pass_rows */
    int32_t max_pass;
    geodec_isa isa;
    geodec_pool *pool;            /* NULL = caller's thread; must outlive the session */
    geodec_arithmetic arithmetic; /* a file of integers runs in integers in any case */
    geodec_kv_type kv;
    int32_t n_blocks; /* only this many blocks, then final norm and head (early exit); 0 = all. The session has its own
                       * cache, with the rows of the whole model */
    geodec_attnres attnres; /* all zero: off */
    /* where sums of integer attention come from (integer/engine/engine.h); the logits do not change. NULL: direct sums
     */
    const struct geodec_engine_scores_source *scores;
    int32_t back; /* tokens by which geodec_session_truncate goes back at once, where it drops rows; 0 = 256; at least
                   * max_batch. From n_ctx on no row is dropped */
} geodec_session_options;
GEODEC_API geodec_status geodec_session_create(const geodec_model *m, const geodec_session_options *o,
                                               geodec_session **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_session_destroy(geodec_session *s);

/* One forward pass over n rows, appended to the KV cache at rows length .. length+n-1.
 * parent == NULL: a chain; row i follows row i-1 (row 0 follows the cache).
 * parent[i] in -1 .. i-1: a tree; row i sees the cache as it was before the call, its ancestors and itself;
 *   its position is length + depth (root depth 0, i.e. parent -1 = follows the cache). */
typedef struct geodec_batch {
    int32_t n;             /* 1 .. max_batch; in a chain 1 .. geodec_session_pass_rows */
    const int32_t *token;  /* [n] */
    const int32_t *parent; /* [n] or NULL */
    const bool *want;      /* [n] rows whose logits are needed, NULL = all */
    /* [n] rows that begin a text of their own: the cache is emptied before them, and holds the last text afterwards.
     * NULL: none. Where geodec_session_takes_texts */
    const bool *begin;
} geodec_batch;

/* Residual stream after `layer` blocks (0 = embedding, n_layer = input of the final norm) for every row of the batch;
 * with attnres as the next norm reads it. Of a residual of several streams it is the active one, and at n_layer the one
 * that all have become. */
typedef struct geodec_capture {
    int32_t n_layers;
    const int32_t *layer; /* [n_layers] in 0 .. n_layer */
    float *state;         /* [n_layers][n][d_model] */
    int32_t *expert;      /* [n][n_layer][n_expert_used] as geodec_session_expert_ids; NULL: not needed */
} geodec_capture;

/* logits [n][n_vocab] (other rows are unchanged), or NULL for none; capture may be NULL. Errors: GEODEC_LIMIT (context
 * full, batch too large), GEODEC_RANGE (token id, parent). On error the cache is unchanged. */
GEODEC_API geodec_status geodec_forward(geodec_session *s, const geodec_batch *b, float *logits,
                                        const geodec_capture *capture, geodec_err *err) GEODEC_MUST_USE;

/* Prefill: any number of tokens in passes of geodec_session_pass_rows; logits of the last row only ([n_vocab], may be
 * NULL). */
GEODEC_API geodec_status geodec_forward_prefill(geodec_session *s, const int32_t *token, int64_t n, float *last_logits,
                                                geodec_err *err) GEODEC_MUST_USE;

/* KV cache. A recurrent layer keeps, beside its state, what each token adds to it: a return computes the state again
 * from the nearest one that is kept.
 *
 * Any length can be returned to, with the same bits afterwards. Where what all tokens of the context add to the states
 * would take more than 1 GiB, the session keeps that of the newest ones. In a recurrent model whose attention has a
 * window in every layer the session also drops the rows that no window sees any more, and what they added to the
 * states, so that its memory does not grow with the context but for 4 bytes a token. It goes back by `back` tokens (of
 * its options), from the end of the last pass with its rejected rows, at once. After a return further back the next
 * pass, save or tail first reads the text again from its start, which takes the time of a prompt and counts as passes;
 * a length of 0 needs nothing. If that fails, the call fails with the error of the pass; length and text are as they
 * were, and the next call tries again. Sessions that were loaded (session_state.h) do the same for lengths before that
 * of the file. */
GEODEC_API int32_t geodec_session_length(const geodec_session *s);
GEODEC_API void geodec_session_truncate(geodec_session *s, int32_t length); /* length <= current */

/* After a tree pass that started at `base`: keeps rows base+row[0], base+row[1], ... (ascending) as base, base+1, ...
 * and truncates to base+n. */
GEODEC_API void geodec_session_compact(geodec_session *s, int32_t base, const int32_t *row, int32_t n);

/* Counted in geodec_forward itself. */
typedef struct geodec_counters {
    int64_t passes; /* calls of geodec_forward */
    int64_t rows;   /* rows over all calls */
} geodec_counters;
GEODEC_API geodec_counters geodec_session_counters(const geodec_session *s);

/* Index of the largest value, the lowest on ties. x has no NaN. */
GEODEC_API int32_t geodec_argmax(const float *x, int64_t n);

typedef struct geodec_session_text {
    int32_t *token;     /* [n], owned: geodec_mem_free */
    int64_t n, n_given; /* tokens; of them at the beginning, those of the prompt */
} geodec_session_text;

/* Replaces the file at once; after a kill the old one is there. text->n is at least the length of the session, whose
 * rows are those of its first tokens. Does not change what the session computes. GEODEC_UNSUPPORTED, GEODEC_INVAL
 * (text), GEODEC_IO, GEODEC_EXISTS, GEODEC_NOMEM. */
GEODEC_API geodec_status geodec_session_save(geodec_session *s, const char *path, const geodec_session_text *text,
                                             geodec_err *err) GEODEC_MUST_USE;

/* The session becomes that of the file. On an error it is unchanged. GEODEC_NOTFOUND, GEODEC_IO; GEODEC_FORMAT,
 * GEODEC_VERSION, GEODEC_CHECKSUM (damaged, or of another model); GEODEC_LIMIT (the text does not fit in the context);
 * GEODEC_UNSUPPORTED, GEODEC_NOMEM. The message names the file. */
GEODEC_API geodec_status geodec_session_load(geodec_session *s, const char *path, geodec_session_text *out,
                                             geodec_err *err) GEODEC_MUST_USE;

#endif
