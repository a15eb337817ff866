/* A decoder-only transformer read from GGUF: RMSNorm, rotary positions, grouped-query attention, gated feed-forward,
 * dense or with top-k experts (softmax over all, top-k), tied or separate head. arch_internal.h has the table of
 * architectures.
 *
 * Batch invariance. The logits of a token depend on the token and its ancestors only: they are bit-identical alone, in
 * any batch, in prefill, in a chain or as a tree node, and with any number of threads. Every output element is one dot
 * product in a fixed order of its inputs; no sum is split by batch row or thread. */
#ifndef GEODEC_MODEL_MODEL_H
#define GEODEC_MODEL_MODEL_H

#include "base/err.h"
#include "base/pool.h"
#include "kernels/settings.h"
#include "routing/torus.h"
#include "session/attnres.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum geodec_rope_pairs {
    GEODEC_ROPE_ADJACENT,
    GEODEC_ROPE_HALVES
} geodec_rope_pairs; /* (2i, 2i+1); (i, i+n/2) */
typedef enum geodec_activation { GEODEC_SILU, GEODEC_GELU_TANH } geodec_activation;

/* How experts are chosen: by scores of the router, or by the distance of its result on a torus (routing/torus.h). */
typedef enum geodec_route { GEODEC_ROUTE_SCORES, GEODEC_ROUTE_MOD, GEODEC_ROUTE_ANGLE } geodec_route;

/* Parameters of a forward pass. Zero means "absent" for every scale, cap and window; a plain llama has zeros in all of
 * the second half. */
typedef struct geodec_model_config {
    const char *arch; /* general.architecture, a constant of the architecture table */
    int32_t n_layer, d_model, n_head, n_kv_head, head_dim, rope_dim;
    int32_t d_ff;                    /* of the dense FFN, or of one expert */
    int32_t n_vocab, n_ctx;          /* n_ctx: the file's context length; sessions may be longer or shorter */
    int32_t n_expert, n_expert_used; /* 0 for dense */
    int32_t d_ff_dense;              /* of the layers without experts of a mixture; 0: it has none */
    int32_t d_ff_shared;             /* of the network of every token beside its experts (shared experts); 0: none */
    float rms_eps;
    double rope_base; /* 10000 when the file has none */
    bool tied;        /* no output.weight: the head is token_embd */
    geodec_rope_pairs rope_pairs;
    geodec_activation activation; /* of the gated feed-forward */
    double rope_base_local;       /* base of angle table 1 (gemma3's sliding layers) */
    double rope_scale;            /* every frequency is multiplied by it (linear scaling: 1 / factor); 0 = 1 */
    float rope_magnitude;         /* cosines and sines are multiplied by it (long-rope); 0 = 1 */
    int32_t rope_n_ctx_original;  /* sessions longer than this use rope_divisor[1] (long-rope); 0 = never */
    double attn_scale;            /* factor of the query; 0 = 1/sqrt(head_dim) */
    int32_t window;               /* of the sliding layers: keys visible, with the row's own; 0 = all */
    int32_t window_period;        /* layer i slides when i % period < period - 1; 0: every layer does */
    float attn_softcap;           /* scores become cap tanh(score / cap) */
    float final_softcap;          /* the same for the logits */
    float embed_scale;            /* factor of the embedding */
    bool qk_norm_whole;           /* QK-norm over the whole width (olmoe), not per head (qwen3, gemma3) */
    bool qk_norm_rotated;         /* QK-norm (per head) comes after the rotation (hunyuan-moe) */
    bool expert_keep_weights;     /* the chosen experts' softmax weights are not divided by their sum (olmoe) */
    float expert_scale;           /* factor of the expert weights */
    bool expert_sigmoid;          /* experts are gated by sigmoids, not by one softmax */
    int32_t n_dense;              /* leading layers without experts */
    int32_t expert_step;          /* the layers after them have experts when (i + 1) % step is 0; 0: all have */
    int32_t n_expert_group;       /* equal groups of experts, of which n_expert_group_used are open to a row: those with
                                   * the largest sums of their two best scores; 0: none */
    int32_t n_expert_group_used;
    float residual_scale; /* factor of what each half of a layer adds to the stream */
    float logit_scale;    /* logits are divided by it */
    /* PERSPECTIVE models. Layer i with i % recur_period < recur_period - 1 has a decay recurrence in place of attention
     * (recur_rank > 0), and experts (n_expert > 0). */
    int32_t recur_rank, recur_period; /* 0: no such model */
    float recur_log_decay_min;        /* gates are at least exp of it (< 0); 0: no bound */
    geodec_route route;
    int32_t expert_lattice[GEODEC_TORUS_AXES]; /* on which the experts began; 0: unknown */
    bool route_before;    /* experts are chosen from the input of the layer's first half, not of its second */
    int32_t n_layer_next; /* blocks of the file after the last layer, which predict further tokens and are not read */
} geodec_model_config;

typedef struct geodec_model geodec_model; /* immutable after open; may be shared between sessions and threads */

/* A GGUF file, a store of experts (streaming/store.h), or the folder of one of ternary experts (ternary_store.h). */
GEODEC_API geodec_status geodec_model_open(const char *path, geodec_model **out, geodec_err *err) GEODEC_MUST_USE;
typedef struct geodec_model_open_options {
    geodec_pool *pool; /* reads weights in integers; NULL: the caller's thread */
    char *digest;      /* [GEODEC_SHA256_HEX] receives the SHA-256 of the file; NULL: not wanted */
} geodec_model_open_options;
GEODEC_API geodec_status geodec_model_open_with(const char *path, const geodec_model_open_options *o,
                                                geodec_model **out, geodec_err *err) GEODEC_MUST_USE;
/* The same from an open file, which the model then owns (and closes on failure). */
GEODEC_API geodec_status geodec_model_from_gguf(geodec_gguf *g, geodec_model **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_model_close(geodec_model *m);
GEODEC_API const geodec_model_config *geodec_model_configuration(const geodec_model *m);
GEODEC_API const geodec_tokenizer *geodec_model_tokenizer(const geodec_model *m);
/* geodec_gguf_tensor_digest, computed on first use: it reads the whole file. Of a store: that of its GGUF. */
GEODEC_API const char *geodec_model_fingerprint(const geodec_model *m);
/* Name of the i-th tensor of the file that is not used: without values, or of a name that no architecture has. NULL
 * after the last one. */
GEODEC_API const char *geodec_model_unread(const geodec_model *m, int64_t i);
GEODEC_API const char *geodec_model_name(const geodec_model *m); /* general.name or the file's name */
/* Of a store: the resident part. */
GEODEC_API const geodec_gguf *geodec_model_gguf(const geodec_model *m);
/* By which it was opened. */
GEODEC_API const char *geodec_model_path(const geodec_model *m);
/* Bytes of the experts that a store keeps outside of that, as they were in the GGUF; 0 for any other model. */
GEODEC_API int64_t geodec_model_store_bytes(const geodec_model *m);

/* Name of an element type of the cache: "f32", "f16", "q8_0", "q4_0". */
GEODEC_API const char *geodec_cache_kv_name(geodec_kv_type t);

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
    /* Of integer attention (integer/engine/engine.h); the logits are the same. NULL: direct sums */
    const struct geodec_engine_scores_source *scores;
    int32_t back; /* tokens by which geodec_session_truncate goes back at once, where it drops rows; 0 = 256; at least
                   * max_batch. From n_ctx on no row is dropped */
} geodec_session_options;
GEODEC_API geodec_status geodec_session_create(const geodec_model *m, const geodec_session_options *o,
                                               geodec_session **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_session_destroy(geodec_session *s);
GEODEC_API const geodec_model *geodec_session_model(const geodec_session *s);
GEODEC_API int32_t geodec_session_n_ctx(const geodec_session *s);
GEODEC_API geodec_isa geodec_session_isa(const geodec_session *s); /* the set in use */
GEODEC_API geodec_arithmetic geodec_session_arithmetic(const geodec_session *s);
GEODEC_API geodec_kv_type geodec_session_kv(const geodec_session *s);
/* Bytes that a token takes in the cache, as stored (in full blocks of 64 tokens). */
GEODEC_API int64_t geodec_session_kv_bytes(const geodec_session *s);
/* Bytes of the whole cache in memory: for n_ctx tokens, or fewer where it drops rows (geodec_session_truncate). */
GEODEC_API int64_t geodec_session_cache_bytes(const geodec_session *s);
/* Recurrent layers, all together; zero for other models. */
typedef struct geodec_recurrence_bytes {
    int64_t state; /* of the states at one position */
    int64_t row;   /* that a token adds, for the return to an earlier length */
    int64_t kept;  /* of the states kept until now for the same purpose */
    int64_t most;  /* of all states and rows that the session may come to hold, and 4 of each token of the context */
} geodec_recurrence_bytes;
GEODEC_API geodec_recurrence_bytes geodec_session_recurrence_bytes(const geodec_session *s);
GEODEC_API const geodec_attnres *geodec_session_attnres(const geodec_session *s);

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
 * with attnres as the next norm reads it. */
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
/* Rows of a chain of `wanted` that the next forward call should take: max_batch at most, or with max_pass as many as
 * the budget of memory has room for, with `beside` bytes of the caller for each (what is captured counts). Slots of
 * experts are lent to such a pass, unless that makes it read more. */
GEODEC_API int32_t geodec_session_pass_rows(const geodec_session *s, int64_t wanted, int64_t beside);
/* Whether a batch may have `begin`: experts stream, with a max_pass, and no layer is recurrent. */
GEODEC_API bool geodec_session_takes_texts(const geodec_session *s);
/* Logits [n][n_vocab] of n <= max_batch rows of state [n][d_model] as captured at n_layer; `want` as in a batch. Not
 * for integers. */
GEODEC_API geodec_status geodec_session_head(geodec_session *s, const float *state, int32_t n, const bool *want,
                                             float *logits, geodec_err *err) GEODEC_MUST_USE;
/* Prefill: any number of tokens in passes of geodec_session_pass_rows; logits of the last row only ([n_vocab], may be
 * NULL). */
GEODEC_API geodec_status geodec_forward_prefill(geodec_session *s, const int32_t *token, int64_t n, float *last_logits,
                                                geodec_err *err) GEODEC_MUST_USE;

/* KV cache. A recurrent layer keeps, beside its state, what each token adds to it: a return computes the state again
 * from the nearest one that is kept.
 *
 * Any length can be returned to, with the same bits afterwards. In a recurrent model whose attention has a window in
 * every layer the session drops the rows that no window sees any more, and what they added to the states, so that its
 * memory does not grow with the context but for 4 bytes a token. It goes back by `back` tokens (of its options), from
 * the end of the last pass with its rejected rows, at once. After a return further back the next pass, save or tail
 * first reads the text again from its start, which takes the time of a prompt and counts as passes; a length of 0 needs
 * nothing. If that fails, the call fails with the error of the pass; length and text are as they were, and the next
 * call tries again. Sessions that were loaded (session_state.h) do the same for lengths before that of the file. */
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

/* Chosen experts of the last forward call: ids and weights [n][n_layer][n_expert_used], for routing goldens and traces;
 * id -1 and weight 0 in layers without experts. NULL for a dense model. Valid until the next call. */
GEODEC_API const int32_t *geodec_session_expert_ids(const geodec_session *s);
GEODEC_API const float *geodec_session_expert_weights(const geodec_session *s);

/* The weight matrices of a layer. Matrices of one side read the same input: the normalised stream (query, key, value),
 * the heads' values (output), the normalised stream after attention (gate, up), the gated hidden vector (down). */
typedef enum geodec_slot {
    GEODEC_SLOT_Q,
    GEODEC_SLOT_K,
    GEODEC_SLOT_V,
    GEODEC_SLOT_O,
    GEODEC_SLOT_GATE,
    GEODEC_SLOT_UP,
    GEODEC_SLOT_DOWN
} geodec_slot;
typedef enum geodec_side { GEODEC_SIDE_STREAM, GEODEC_SIDE_HEADS, GEODEC_SIDE_FEED, GEODEC_SIDE_HIDDEN } geodec_side;
enum { GEODEC_SLOTS = 7, GEODEC_SIDES = 4 };

/* Observes the inputs of every layer's products, [n] rows of `width` values, before the product. With experts the
 * hidden side is not shown. fn NULL: no observer. */
typedef void (*geodec_watch)(void *ctx, int32_t layer, geodec_side side, int64_t n, int64_t width,
                             const float *const *row);
GEODEC_API void geodec_session_watch(geodec_session *s, geodec_watch fn, void *ctx);

/* Observes what each half of a layer adds to the residual stream (attention, then feed-forward), [n] rows of d_model
 * values. fn NULL: no observer. GEODEC_NOMEM. */
typedef void (*geodec_watch_update)(void *ctx, int32_t layer, bool feed, int64_t n, const float *const *row);
GEODEC_API geodec_status geodec_session_watch_updates(geodec_session *s, geodec_watch_update fn, void *ctx,
                                                      geodec_err *err) GEODEC_MUST_USE;

/* Index of the largest value, the lowest on ties. x has no NaN. */
GEODEC_API int32_t geodec_argmax(const float *x, int64_t n);
/* The m largest of x [n], descending, the lowest index first on ties: id [m], value [m]. Returns min(m, n). */
GEODEC_API int32_t geodec_largest(const float *x, int32_t n, int32_t m, int32_t *id, float *value);

/* Configuration, types of tensors and fingerprints, a line each: a name, a tab and a value. `tensors`: also a line for
 * each tensor. */
GEODEC_API void geodec_model_print(FILE *out, const geodec_model *m, bool tensors);

#endif
