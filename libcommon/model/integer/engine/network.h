/* A language model in integers: shapes, factors and weights of the integer engine. Everything that was a real number in
 * the model's configuration is here a factor, multiplier 2^-shift, or a fraction of a turn. */
#ifndef GEODEC_INTEGER_ENGINE_NETWORK_H
#define GEODEC_INTEGER_ENGINE_NETWORK_H

#include "integer/engine/coded.h"

#include <stdbool.h>

/* value = multiplier 2^-shift, |multiplier| in [2^30, 2^31); multiplier 0: absent. */
typedef struct geodec_network_factor {
    int32_t multiplier, shift;
} geodec_network_factor;
/* The nearest one; 0 for 0. */
geodec_network_factor geodec_network_factor_of(double x);

/* clang-format off */
/* Numbers of the configuration, all non-negative: X(name). As in geodec_model_config; flags are 0 or 1. */
#define GEODEC_NETWORK_NUMBERS(X)                                                                                      \
    X(n_layer)                                                                                                         \
    X(d_model)                                                                                                         \
    X(n_head) X(n_kv_head) X(head_dim) X(rope_dim) X(d_ff) X(n_vocab) X(n_ctx) X(n_expert) X(n_expert_used)            \
        X(d_ff_dense) X(d_ff_shared) X(n_expert_group) X(n_expert_group_used) X(tied) X(rope_halves) X(gelu)           \
            X(qk_norm_whole) X(qk_norm_rotated) X(expert_keep_weights) X(expert_sigmoid) X(rope_tables)                \
                X(rope_n_ctx_original) X(activation_bits)
#define GEODEC_NETWORK_FACTORS(X)                                                                                      \
    X(rms_eps)                                                                                                         \
    X(attn_scale)                                                                                                      \
    X(attn_softcap) X(final_softcap) X(embed_scale) X(residual_scale) X(logit_factor) X(expert_scale)                  \
        X(rope_magnitude)
/* clang-format on */
typedef struct geodec_network_config {
#define X(name) int32_t name;
    GEODEC_NETWORK_NUMBERS(X)
#undef X
#define X(name) geodec_network_factor name;
    GEODEC_NETWORK_FACTORS(X)
#undef X
} geodec_network_config;

/* v 2^-exponent, the largest magnitude in [2^29, 2^30). v NULL: absent. */
typedef struct geodec_network_vector {
    int32_t *v;
    int64_t n;
    int32_t exponent;
} geodec_network_vector;
/* v [n] finite. GEODEC_NOMEM. */
geodec_status geodec_network_vector_of(const float *x, int64_t n, geodec_network_vector *out,
                                       geodec_err *err) GEODEC_MUST_USE;

/* clang-format off */
/* Parts of a layer: X(field, tensor name after "blk.N."). */
#define GEODEC_NETWORK_VECTORS(X)                                                                                      \
    X(attn_norm, "attn_norm.weight")                                                                                   \
    X(ffn_norm, "ffn_norm.weight")                                                                                     \
    X(attn_post_norm, "post_attention_norm.weight") X(ffn_post_norm, "post_ffw_norm.weight")                           \
        X(q_norm, "attn_q_norm.weight") X(k_norm, "attn_k_norm.weight") X(q_bias, "attn_q.bias")                       \
            X(k_bias, "attn_k.bias") X(v_bias, "attn_v.bias") X(o_bias, "attn_output.bias")                            \
                X(expert_bias, "exp_probs_b.bias")
#define GEODEC_NETWORK_MATRICES(X)                                                                                     \
    X(q, "attn_q.weight")                                                                                              \
    X(k, "attn_k.weight")                                                                                              \
    X(v, "attn_v.weight") X(o, "attn_output.weight") X(router, "ffn_gate_inp.weight") X(gate, "ffn_gate.weight")       \
        X(up, "ffn_up.weight") X(down, "ffn_down.weight") X(shared_gate, "ffn_gate_shexp.weight")                      \
            X(shared_up, "ffn_up_shexp.weight") X(shared_down, "ffn_down_shexp.weight")                                \
                X(shared_factor, "ffn_gate_inp_shexp.weight")
/* clang-format on */
typedef struct geodec_network_layer {
#define X(field, name) geodec_network_vector field;
    GEODEC_NETWORK_VECTORS(X)
#undef X
#define X(field, name) geodec_panels16 *field;
    GEODEC_NETWORK_MATRICES(X)
#undef X
    geodec_panels16 **expert; /* [n_expert][3] gate, up, down; NULL in a dense layer */
    int32_t window;           /* keys visible: the row itself and window - 1 before it; 0: all */
    int32_t rope;             /* table */
} geodec_network_layer;

typedef struct geodec_network {
    geodec_network_config config;
    geodec_panels16 *embedding, *head; /* head == embedding when tied */
    geodec_network_vector output_norm;
    /* [2][rope_tables][rope_dim / 2] fractions of a turn a position, times 2^64: of sessions up to rope_n_ctx_original
     * positions, and of longer ones */
    uint64_t *step;
    geodec_network_layer *layer; /* [n_layer] */
    geodec_coded_area *area;     /* of the matrices' codes; NULL: each has its own */
} geodec_network;

/* Every number and factor against the limits of the engine, before anything is allocated for them. GEODEC_LIMIT. */
geodec_status geodec_network_check_numbers(const geodec_network_config *c, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_network_check_numbers, and the shapes of all parts against the configuration and the limits of the engine.
 */
geodec_status geodec_network_check(const geodec_network *n, geodec_err *err) GEODEC_MUST_USE;
void geodec_network_free(geodec_network *n); /* NULL ok */
int64_t geodec_network_bytes(const geodec_network *n);

#endif
