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
#include "geodec/model.h"
#include "geodec/session.h"
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
/* Weights of experts from the router's logits: softmax over all, the sigmoid of each, softmax over the chosen. The
 * numbers are those of expert_gating_func. */
typedef enum geodec_gating { GEODEC_GATING_SOFTMAX = 1, GEODEC_GATING_SIGMOID, GEODEC_GATING_CHOSEN } geodec_gating;

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
    float rms_eps;                   /* of all norms */
    bool layer_norm;                 /* norms are layer norms */
    double rope_base;                /* 10000 when the file has none */
    bool tied;                       /* no output.weight: the head is token_embd */
    geodec_rope_pairs rope_pairs;
    geodec_activation activation; /* of the gated feed-forward */
    double rope_base_local;       /* base of angle table 1 (gemma3's sliding layers) */
    int32_t rope_dim_local;       /* dimensions that it rotates; 0: rope_dim */
    bool rope_local_scaled;       /* scale, divisors and magnitude are for that table too */
    double rope_scale;            /* every frequency is multiplied by it (linear scaling: 1 / factor); 0 = 1 */
    float rope_magnitude;         /* cosines and sines are multiplied by it (long-rope); 0 = 1 */
    int32_t rope_n_ctx_original;  /* sessions longer than this use rope_divisor[1] (long-rope); 0 = never */
    double attn_scale;            /* factor of the query; 0 = 1/sqrt(head_dim) */
    int32_t window;               /* of the sliding layers: keys visible, with the row's own; 0 = all */
    int32_t window_period;        /* layer i slides when i % period < period - 1; 0: every layer does */
    float attn_softcap;           /* scores become cap tanh(score / cap) */
    float final_softcap;          /* the same for the logits */
    float embed_scale;            /* factor of the embedding */
    bool qk_norm_rotated;         /* QK-norm (per head) comes after the rotation (hunyuan-moe) */
    bool expert_keep_weights;     /* the chosen experts' softmax weights are not divided by their sum (olmoe) */
    float expert_scale;           /* factor of the expert weights */
    geodec_gating gating;
    int32_t n_dense;        /* leading layers without experts */
    int32_t expert_step;    /* the layers after them have experts when (i + 1) % step is 0; 0: all have */
    int32_t n_expert_group; /* equal groups of experts, of which n_expert_group_used are open to a row: those with
                             * the largest sums of their two best scores; 0: none */
    int32_t n_expert_group_used;
    int32_t d_inputs; /* numbers of each layer's own input; 0: none */
    /* Attention from latent vectors (latent.c): numbers of a token's latent vector, of that of its queries (0: queries
     * come from the stream), of a head's key without the rotated part, and of its value; d_latent 0: none */
    int32_t d_latent, d_latent_query, d_latent_key, d_latent_value;
    int32_t n_streams;   /* of the residual, of which the first is active (streams.c); 0: one */
    int32_t laurel_rank; /* of the path beside attention; 0: none */
    bool parallel;       /* the feed-forward reads the stream before attention, as attention does */
    bool plain;          /* the feed-forward has no gate: W2 activation(W1 x) */
    float qkv_clamp;     /* queries, keys and values are kept within -qkv_clamp .. qkv_clamp */
    float alibi;         /* scores lose slope times distance; slopes of n heads are 2^(-alibi k / n), k = 1 .. n, for a
                          * power of two (Press et al. 2022, and alibi_slope in attention.c for others); 0: none */
    float value_scale;   /* factor of attention's output, after its matrix */
    bool gate_softplus;  /* attention's gate is a softplus, not a sigmoid */
    double temperature;  /* queries are multiplied by 1 + temperature log(floor((position + temperature_offset) /
                          * temperature_length) + 1); 0: not */
    int32_t temperature_length, temperature_offset;
    bool temperature_still; /* only in layers that do not rotate */
    double yarn; /* 1: pairs before the ramp's end are scaled less, or not at all (YaRN); 0: all are scaled */
    double yarn_low, yarn_high; /* pairs where the ramp begins and ends */
    bool chunks;                /* a window is a chunk: keys from the multiple of it below the row's position on */
    bool embed_added;   /* the normed embedding is added again in every layer, times layer_output_scale (talkie) */
    bool route_raw;     /* experts are chosen from the layer's input, not normed */
    bool weighed_input; /* the weight of an expert multiplies its input, not its output */
    /* Adjugate experts, one of each so many experts with neighbouring numbers, of so many hidden numbers: they read the
     * experts' sum, and theirs is added to it with this factor. 0: none */
    int32_t adjugate_group, d_ff_adjugate;
    float adjugate_scale;
    float feed_scale;     /* factor of the sum of experts and the network beside them; 0: 1 */
    float residual_scale; /* factor of what each half of a layer adds to the stream */
    float logit_scale;    /* logits are divided by it */
    /* PERSPECTIVE models. Layer i with i % recur_period < recur_period - 1 has a decay recurrence in place of attention
     * (recur_rank > 0), and experts (n_expert > 0). */
    int32_t recur_rank, recur_period; /* 0: no such model */
    float recur_log_decay_min;        /* gates are at least exp of it (< 0); 0: no bound */
    geodec_route route;
    int32_t expert_lattice[GEODEC_TORUS_AXES]; /* on which the experts began; 0: unknown */
    bool route_before; /* experts are chosen from the input of the layer's first half, not of its second */
    /* Recurrent layers other than the decay recurrence (recurrent_internal.h): rows of the convolution, channels,
     * numbers of a channel's state, time_step_rank (heads, or the width of dt) and groups; 0: none */
    int32_t ssm_taps, ssm_inner, ssm_state, ssm_rank, ssm_groups;
    int32_t n_layer_next; /* blocks of the file after the last layer, which predict further tokens and are not read */
} geodec_model_config;

typedef struct geodec_model_open_options {
    geodec_pool *pool; /* reads weights in integers; NULL: the caller's thread */
    char *digest;      /* [GEODEC_SHA256_HEX] receives the SHA-256 of the file; NULL: not wanted */
} geodec_model_open_options;
geodec_status geodec_model_open_with(const char *path, const geodec_model_open_options *o, geodec_model **out,
                                     geodec_err *err) GEODEC_MUST_USE;
/* As geodec_model_open, from an open file, which the model then owns (and closes on failure). */
geodec_status geodec_model_from_gguf(geodec_gguf *g, geodec_model **out, geodec_err *err) GEODEC_MUST_USE;
const geodec_model_config *geodec_model_configuration(const geodec_model *m);
/* Name of the i-th tensor of the file that is not used: without values, or of a name that no architecture has. NULL
 * after the last one. */
const char *geodec_model_unread(const geodec_model *m, int64_t i);
/* The file of the weights; of a store, its resident part. */
const geodec_gguf *geodec_model_gguf(const geodec_model *m);
/* The path by which the model was opened. */
const char *geodec_model_path(const geodec_model *m);
/* Bytes of the experts that a store keeps outside of its resident part, as they were in the GGUF; 0 for any other
 * model. */
int64_t geodec_model_store_bytes(const geodec_model *m);

/* Name of an element type of the cache: "f32", "f16", "q8_0", "q4_0". */
const char *geodec_cache_kv_name(geodec_kv_type t);

const geodec_model *geodec_session_model(const geodec_session *s);
int32_t geodec_session_n_ctx(const geodec_session *s);
geodec_isa geodec_session_isa(const geodec_session *s); /* the set in use */
geodec_arithmetic geodec_session_arithmetic(const geodec_session *s);
geodec_kv_type geodec_session_kv(const geodec_session *s);
/* Bytes that a token takes in the cache, as stored (in full blocks of 64 tokens). */
int64_t geodec_session_kv_bytes(const geodec_session *s);
/* Bytes of the whole cache in memory: for n_ctx tokens, or fewer where it drops rows (geodec_session_truncate). */
int64_t geodec_session_cache_bytes(const geodec_session *s);
/* Recurrent layers, all together; zero for other models. */
typedef struct geodec_recurrence_bytes {
    int64_t state; /* of the states at one position */
    int64_t row;   /* that a token adds, for the return to an earlier length */
    int64_t kept;  /* of the states kept until now for the same purpose */
    int64_t most;  /* of all states and rows that the session may come to hold, and 4 of each token of the context */
} geodec_recurrence_bytes;
geodec_recurrence_bytes geodec_session_recurrence_bytes(const geodec_session *s);
const geodec_attnres *geodec_session_attnres(const geodec_session *s);

/* Rows of a chain of `wanted` that the next forward call should take: max_batch at most, or with max_pass as many as
 * the budget of memory has room for, with `beside` bytes of the caller for each (what is captured counts). Slots of
 * experts are lent to such a pass, unless that makes it read more. */
int32_t geodec_session_pass_rows(const geodec_session *s, int64_t wanted, int64_t beside);
/* Whether a batch may have `begin`: experts stream, with a max_pass, and no layer is recurrent. */
bool geodec_session_takes_texts(const geodec_session *s);
/* Logits [n][n_vocab] of n <= max_batch rows of state [n][d_model] as captured at n_layer; `want` as in a batch. Not
 * for integers. */
geodec_status geodec_session_head(geodec_session *s, const float *state, int32_t n, const bool *want, float *logits,
                                  geodec_err *err) GEODEC_MUST_USE;

/* Chosen experts of the last forward call: ids and weights [n][n_layer][n_expert_used], for routing goldens and traces;
 * id -1 and weight 0 in layers without experts. NULL for a dense model. Valid until the next call. */
const int32_t *geodec_session_expert_ids(const geodec_session *s);
const float *geodec_session_expert_weights(const geodec_session *s);

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
void geodec_session_watch(geodec_session *s, geodec_watch fn, void *ctx);

/* Observes what each half of a layer adds to the residual stream (attention, then feed-forward), [n] rows of d_model
 * values. fn NULL: no observer. GEODEC_NOMEM; GEODEC_UNSUPPORTED for a residual of several streams. */
typedef void (*geodec_watch_update)(void *ctx, int32_t layer, bool feed, int64_t n, const float *const *row);
geodec_status geodec_session_watch_updates(geodec_session *s, geodec_watch_update fn, void *ctx,
                                           geodec_err *err) GEODEC_MUST_USE;

/* The m largest of x [n], descending, the lowest index first on ties: id [m], value [m]. Returns min(m, n). */
int32_t geodec_largest(const float *x, int32_t n, int32_t m, int32_t *id, float *value);

/* Configuration, types of tensors and fingerprints, a line each: a name, a tab and a value. `tensors`: also a line for
 * each tensor. */
void geodec_model_print(FILE *out, const geodec_model *m, bool tensors);

#endif
