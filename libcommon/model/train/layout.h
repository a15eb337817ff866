/* The parameters of a llama-family transformer or of a PERSPECTIVE model as one flat vector with named views, in the
 * order and with the names of a GGUF file. q, k and v of a layer are adjacent, and so are gate and up of a dense layer:
 * each group is one matrix product. */
#ifndef GEODEC_TRAIN_LAYOUT_H
#define GEODEC_TRAIN_LAYOUT_H

#include "base/err.h"
#include "session/model.h"

#include <stdint.h>

typedef enum geodec_param_role {
    GEODEC_PARAM_EMBED,    /* token_embd, output: matrices */
    GEODEC_PARAM_MATRIX,   /* reads the residual stream */
    GEODEC_PARAM_RESIDUAL, /* writes into it: attn_output, ffn_down; initial values are scaled by 1/sqrt(2 L) */
    GEODEC_PARAM_NORM,     /* gains: 1 at the start, no decay */
    GEODEC_PARAM_BIAS,     /* no decay */
    GEODEC_PARAM_ROUTER,   /* of a torus: clipped apart from the others */
    GEODEC_PARAM_FIXED,    /* not trained */
} geodec_param_role;

typedef struct geodec_param {
    char name[48];  /* "blk.3.attn_q.weight" */
    int n_dims;     /* 1 .. 3 */
    int64_t dim[3]; /* fastest dimension first, 1 beyond n_dims: [in, out] or [in, out, expert] */
    int64_t offset; /* first element in the flat vector */
    int64_t size;   /* elements */
    geodec_param_role role;
} geodec_param;

/* Offsets of one layer, -1 where the model has no such tensor. */
typedef struct geodec_layer_offsets {
    int64_t attn_norm;
    int64_t qkv; /* [(n_head + 2 n_kv_head) head_dim][d]: q, k, v */
    int64_t attn_output;
    int64_t ffn_norm;
    int64_t router;   /* [n_expert][d] */
    int64_t gate, up; /* dense: [d_ff][d] each, up directly after gate; experts: [n_expert][d_ff][d] each */
    int64_t down;     /* [d][d_ff] or [n_expert][d][d_ff] */
    int64_t ff;       /* width of the feed-forward */
    /* recurrent layers: gates, v, q and k as one matrix [2 d + 2 r][d]; bias of the gates [d]; norm of what is read
     * [d]; [d][d] */
    int64_t recur, recur_bias, recur_norm, recur_output;
    int64_t router_bias, place; /* of a torus [3 or 6]; [n_expert][3] */
} geodec_layer_offsets;

typedef struct geodec_layout {
    geodec_model_config config;
    int64_t n_params; /* named tensors */
    geodec_param *param;
    int64_t total; /* elements of the flat vector; no gaps */
    geodec_layer_offsets *layer;
    int64_t token_embd, output_norm, output; /* output == token_embd when tied */
} geodec_layout;

/* Checks the configuration (every dimension in its range, heads divisible by KV heads, even rope_dim <= head_dim, at
 * most 2^31 parameters) and lays out the vector. GEODEC_INVAL, GEODEC_RANGE, GEODEC_LIMIT. */
geodec_status geodec_layout_create(const geodec_model_config *c, geodec_layout **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_layout_destroy(geodec_layout *l); /* NULL ok */

#endif
