/* The table of architectures: the differences of each from a plain llama. Reading a file, binding its tensors and the
 * forward pass use this table (or the configuration made from it), never a name. A new architecture is a row of the
 * table and a row of the tests; `make docs` updates docs/manual/architectures.md. */
#ifndef GEODEC_MODEL_ARCH_INTERNAL_H
#define GEODEC_MODEL_ARCH_INTERNAL_H

#include "session/weights_internal.h"

typedef enum geodec__presence { GEODEC__NEVER, GEODEC__MAYBE, GEODEC__ALWAYS } geodec__presence;
typedef enum geodec__qk_norm { GEODEC__QK_PLAIN, GEODEC__QK_HEAD, GEODEC__QK_WHOLE } geodec__qk_norm;
/* Width of the network that every row uses beside its experts. */
typedef enum geodec__shared {
    GEODEC__SHARED_NONE,
    GEODEC__SHARED_COUNT,   /* expert_shared_feed_forward_length, else expert_shared_count times an expert's; 0: none */
    GEODEC__SHARED_DENSE,   /* expert_shared_feed_forward_length, else feed_forward_length */
    GEODEC__SHARED_PRODUCT, /* expert_shared_count times expert_shared_feed_forward_length, else an expert's */
} geodec__shared;
typedef enum geodec__divisors {
    GEODEC__DIVISORS_NONE,
    GEODEC__DIVISORS_ONE, /* rope_freqs.weight */
    GEODEC__DIVISORS_TWO  /* rope_factors_short.weight and rope_factors_long.weight, chosen by the session's context */
} geodec__divisors;

typedef struct geodec__arch {
    const char *name;    /* general.architecture, and the prefix of its keys */
    const char *models;  /* known by that name */
    const char *differs; /* the differences, for docs/manual/architectures.md (Markdown) */
    geodec_activation activation;
    geodec__qk_norm qk_norm;   /* RMS norm of query and key before the rotation */
    geodec__divisors divisors; /* of the rotation's frequencies */
    geodec__presence qkv_bias; /* on query, key and value */
    geodec__presence o_bias;   /* on the output of attention */
    geodec__presence experts;  /* NEVER: dense only */
    geodec__presence head;     /* output.weight; without it the embedding is the head */
    geodec__presence windows;  /* sliding attention: NEVER refuses the key, ALWAYS has default_window */
    bool adjacent_pairs;       /* the rotation takes adjacent pairs, not halves */
    bool fused;                /* attn_qkv for q, k, v; gate is the first half of ffn_up */
    bool post_norms;           /* the blocks' outputs are normalised before they are added */
    bool expert_width;         /* expert_feed_forward_length is required */
    bool keep_weights;         /* the chosen experts' weights are not renormalised, unless a key says so */
    geodec__shared shared;
    bool shared_factor;           /* ffn_gate_inp_shexp: factor of the shared network */
    bool sigmoid;                 /* gating by sigmoids, unless a key says softmax */
    geodec__presence expert_bias; /* exp_probs_b.bias, added for the choice */
    bool dense_layers;            /* leading_dense_block_count, interleave_moe_layer_step */
    bool next_tokens;             /* nextn_predict_layers: so many last blocks are not read */
    bool scales;                  /* logit_scale (required), residual_scale, embedding_scale */
    bool qk_norm_rotated;         /* norms of query and key after the rotation */
    bool sections;                /* rope.dimension_sections: positions of images; those of text are the same in all */
    bool qk_norm_optional;        /* by the tensors */
    const char *output_norm;      /* name of the last norm; NULL: "output_norm.weight" */
    const char *ffn_norm;         /* name of the norm before the feed-forward; NULL: "ffn_norm.weight" */
    bool fused_qkv;               /* attn_qkv for q, k, v, as fused, but gate and up apart */
    bool scaled_embedding;        /* by sqrt(d_model) */
    bool recurrent;               /* recurrence.rank, recurrence.period, expert_route: model.h */
    /* Recurrent layers are those with the convolution's tensor; a layer attends, or has a feed-forward, if the file has
     * tensors of it. */
    geodec__mixer mixer;
    bool beside;                       /* such layers attend too */
    bool cyclic_keys;                  /* DELTA: head h has key h % keys */
    bool grouped_heads;                /* SELECTIVE with Wx: in heads (plamo2) */
    int32_t default_window;            /* when the key is absent */
    int32_t window_period;             /* layer i is global when i % period = period - 1; 0: no layer is */
    double rope_base_local;            /* base of the sliding layers, unscaled; 0 = that of the others */
    float attn_softcap, final_softcap; /* when the keys are absent */
    bool capped_attention;             /* attn_logit_softcapping means something */
    int32_t layers_of_wide_scale;      /* the variant with this many layers scales queries by 1/sqrt(d_model/n_head) */
} geodec__arch;

typedef struct geodec_architecture {
    const char *name, *models, *differs; /* as above */
} geodec_architecture;
/* Row i of the table, from 0; false after the last one. */
bool geodec_arch_at(int i, geodec_architecture *out);
/* NULL for an unknown name. */
const geodec__arch *geodec__arch_find(const char *name);
/* "llama, qwen2, ...": for messages. */
const char *geodec__arch_names(char *text, size_t n);
/* Whether layer i of a PERSPECTIVE model is one of those with recurrences and experts. */
static inline bool geodec__recurs(const geodec_model_config *c, int32_t layer)
{
    return c->recur_period > 0 && layer % c->recur_period < c->recur_period - 1;
}
/* Whether layer i slides. */
static inline bool geodec__slides(int32_t period, int32_t layer) { return period == 0 || layer % period < period - 1; }

/* NULL when the model is a llama without any addition (which the trainer supports); else the difference. */
const char *geodec__model_peculiarity(const geodec_model *m);

#endif
