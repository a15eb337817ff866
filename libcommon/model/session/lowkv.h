/* A key and value cache of low rank. It stores coefficients of keys and values in a basis fitted to the weights, shared
 * by groups of heads.
 *
 *   values   W_V ~ B_V A_V for the stacked heads of a group. Cached is A_V x, and B_V is folded into the output matrix
 *            (O_h B_V,g for query head h of key head g), so that attention mixes coefficients and nothing is rebuilt.
 *   keys     W_K ~ B_K A_K likewise. Cached is A_K x, before the rotation; k = B_K c is rebuilt and rotated by its
 *            position when it is read, a block of keys at a time.
 *
 * Either side may be left out. The cache has the session's element type, so ranks and small elements combine; rollback
 * and compaction move coefficients. Logits keep their batch invariance. Chang et al. 2024 (Palu); DeepSeek-AI 2024
 * (MLA). */
#ifndef GEODEC_MODEL_LOWKV_H
#define GEODEC_MODEL_LOWKV_H

#include "session/model.h"

typedef struct geodec_kv_factors {
    int32_t k_group, v_group;   /* key heads that share coefficients, a divisor of n_kv_head; 0: this side is not
                                 * projected */
    int64_t k_rank, v_rank;     /* coefficients of a group: 1 .. group head_dim */
    const float *k_in, *v_in;   /* A [n_layer][n_kv_head / group][rank][d_model] */
    const float *k_out, *v_out; /* B [n_layer][n_kv_head head_dim][rank] */
} geodec_kv_factors;

/* Replaces key, value and output matrices; they are kept as float32, or rounded to binary16 with `half`. Allowed once,
 * before the model's first session; the fingerprint is still that of the file. On error the model is unchanged.
 * GEODEC_RANGE (groups, ranks), GEODEC_UNSUPPORTED (biases of keys or values, norms of keys, factored slots),
 * GEODEC_NUMERIC, GEODEC_INVAL (done already), GEODEC_NOMEM. */
geodec_status geodec_model_kv_factor(geodec_model *m, const geodec_kv_factors *f, bool half,
                                     geodec_err *err) GEODEC_MUST_USE;

#endif
