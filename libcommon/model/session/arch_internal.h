/* The table of architectures: the differences of each from a plain llama. Reading a file, binding its tensors and the
 * forward pass use this table (or the configuration made from it), never a name. A new architecture is a row of the
 * table and a row of the tests; `make docs` updates docs/manual/architectures.md. */
#ifndef GEODEC_MODEL_ARCH_INTERNAL_H
#define GEODEC_MODEL_ARCH_INTERNAL_H

#include "session/weights_internal.h"

#include <stddef.h>

typedef enum geodec__presence { GEODEC__NEVER, GEODEC__MAYBE, GEODEC__ALWAYS } geodec__presence;
/* Width of the network that every row uses beside its experts. */
typedef enum geodec__shared {
    GEODEC__SHARED_NONE,
    GEODEC__SHARED_COUNT,   /* expert_shared_feed_forward_length, else expert_shared_count times an expert's; 0: none */
    GEODEC__SHARED_ONE,     /* expert_shared_feed_forward_length, else an expert's */
    GEODEC__SHARED_DENSE,   /* expert_shared_feed_forward_length, else feed_forward_length */
    GEODEC__SHARED_PRODUCT, /* expert_shared_count times expert_shared_feed_forward_length, else an expert's */
    GEODEC__SHARED_FFN,     /* the dense network of the layer, ffn_{gate,up,down}, if it has one (grok) */
} geodec__shared;
typedef enum geodec__divisors {
    GEODEC__DIVISORS_ONE, /* rope_freqs.weight, if the file has it */
    GEODEC__DIVISORS_TWO  /* rope_factors_short.weight and rope_factors_long.weight, chosen by the session's context */
} geodec__divisors;
/* Layers that rotate queries and keys. */
typedef enum geodec__rotated {
    GEODEC__ROTATED_ALL,
    GEODEC__ROTATED_TRAINED, /* all, or none if rope.scaling.finetuned is false (granite) */
    GEODEC__ROTATED_NONE,
    GEODEC__ROTATED_SLIDING,
    GEODEC__ROTATED_DENSE,      /* those that slide, and leading dense layers */
    GEODEC__ROTATED_BUT_FOURTH, /* not i with i % 4 = 3 */
    GEODEC__ROTATED_BUT_FIRST,  /* not i with i % 4 = 0 */
} geodec__rotated;
/* Whether the feed-forward reads the stream before attention. */
typedef enum geodec__parallel {
    GEODEC__SEQUENTIAL,
    GEODEC__PARALLEL,        /* with a norm of its own, or attention's if it has none */
    GEODEC__PARALLEL_BY_KEY, /* use_parallel_residual */
    GEODEC__PARALLEL_BY_NORM /* if it has no norm of its own */
} geodec__parallel;
/* Factor of the logits. */
typedef enum geodec__logits { GEODEC__LOGITS_PLAIN, GEODEC__LOGITS_TIMES, GEODEC__LOGITS_DIVIDED } geodec__logits;
/* Factor of queries by position. */
typedef enum geodec__temperature {
    GEODEC__TEMPERATURE_NONE,
    GEODEC__TEMPERATURE_KEYS, /* attention.temperature_scale, temperature_length, else the original context */
    GEODEC__TEMPERATURE_STILL /* in layers that do not rotate: 0.1 and 8192 (llama4) */
} geodec__temperature;

/* Attention from latent vectors (latent.c), and the scores' factor. */
typedef enum geodec__latent_form {
    GEODEC__LATENT_NONE,
    GEODEC__LATENT_PLAIN,  /* 1/sqrt of a head's key */
    GEODEC__LATENT_SCALED, /* grows with the scaling of the rotations (mistral4) */
    GEODEC__LATENT_EVEN    /* the same; a multiplier of YaRN leaves the rotations' magnitude alone (deepseek2) */
} geodec__latent_form;

/* Biases of attention that the peer does not add, though files may have them; published models do not. */
typedef enum geodec__ignored { GEODEC__IGNORED_NONE, GEODEC__IGNORED_INPUT, GEODEC__IGNORED_OUTPUT } geodec__ignored;

/* A row of the table: what the keys and tensors of a file do not say themselves. Tensors that a file may have whatever
 * its architecture: biases of every matrix and norm, attn_qkv in place of attn_q, attn_k and attn_v, ffn_up with the
 * rows of ffn_gate before its own. */
typedef struct geodec__arch {
    const char *name;    /* general.architecture, and the prefix of its keys */
    const char *models;  /* known by that name */
    const char *differs; /* the differences, for docs/manual/architectures.md (Markdown) */
    /* Tensors beside those of a llama, apart by blanks: those that must be there, and those that may. ".weight" is left
     * out; one that begins with '/' is not of a block. */
    const char *must, *may;
    const char *attn_norm, *ffn_norm, *attn_post_norm, *ffn_post_norm, *output_norm; /* names that differ; "": none */
    geodec__presence head;    /* output.weight; without it the embedding is the head */
    geodec__presence windows; /* sliding attention: NEVER ignores the key, ALWAYS needs a window */
    geodec__presence experts; /* NEVER: dense only */
    /* entry and exit */
    bool scaled_embedding; /* by sqrt(d_model) */
    double embed_scale;    /* when embedding_scale is absent; 0: the key is not read */
    bool scales;           /* embedding_scale, residual_scale */
    bool deep_scales;      /* their values and that of logit_scale when absent follow width and depth (minicpm) */
    geodec__logits logits; /* logit_scale */
    double logit_scale;    /* when the key is absent */
    float final_softcap;   /* when the key is absent */
    bool capped_logits;    /* final_logit_softcapping is read */
    bool embed_norm; /* the embedding is normed without weights, and a part of it is added in every layer (talkie) */
    /* norms and the stream */
    bool layer_norm;  /* layer norms, not RMS norms; eps by attention.layer_norm_epsilon */
    bool plain_norms; /* norms have no weights */
    int32_t streams;  /* of the residual when altup.num_inputs is absent (streams.c); 0: one */
    geodec__parallel parallel;
    /* attention */
    bool adjacent_pairs;       /* the rotation takes adjacent pairs, not halves */
    geodec__divisors divisors; /* of the rotation's frequencies */
    geodec__rotated rotated;
    double rope_base_local;     /* base of the sliding layers, unscaled; 0: that of the others */
    bool local_unscaled;        /* sliding layers have the base of the others without scaling */
    bool half_rotated;          /* layers that do not slide rotate half of the dimensions (step35) */
    bool sections;              /* rope.dimension_sections: positions of images; those of text are the same in all */
    bool section_halves;        /* that key, and files that have it rotate halves (glm4) */
    int32_t layers_of_rotation; /* only the variant with so many layers rotates (baichuan) */
    int32_t default_window;     /* when the key is absent */
    int32_t fixed_window;       /* whatever the key says, unless it is 0 */
    bool chunks;                /* windows are chunks: keys of the row's own multiple of the window */
    int32_t window_period;      /* layer i is global when i % period = period - 1; 0: no layer is */
    bool global_first;          /* when i % period = 0 */
    int32_t layers_of_windows;  /* only the variant with so many layers slides (exaone4) */
    bool qk_norm_rotated;       /* norms of query and key after the rotation */
    bool qk_plain;              /* they have no weights, in layers that rotate, unless there are 128 experts (llama4) */
    bool values_of_keys;        /* without attn_v values are the keys' products, before norm and rotation (gemma4) */
    bool layer_inputs;          /* embedding_length_per_layer_input, attention.shared_kv_layers (gemma3n, gemma4) */
    int32_t inputs_width;       /* of a layer's input, when that key is absent */
    int32_t layers_with_keys;   /* when attention.shared_kv_layers is absent, those behind share; 0: all have keys */
    bool v_plain;               /* values of each head are normed without weights */
    bool capped_attention;      /* attn_logit_softcapping is read */
    float attn_softcap;         /* when it is absent */
    bool scale_key;             /* attention.scale is read */
    double attn_scale;          /* scores' factor when that key, or attention.output_scale, is absent; 0: 1/sqrt(dim) */
    bool scale_by_width;        /* 1/dim, not its root (jais) */
    int32_t layers_of_wide_scale; /* the variant with this many layers scales queries by 1/sqrt(d_model/n_head) */
    bool clamped;                 /* attention.clamp_kqv */
    float alibi;                  /* largest slope's exponent (ALiBi); < 0: attention.max_alibi_bias */
    int32_t layers_of_alibi;      /* only the variant with so many layers has it (baichuan) */
    bool gated_query;             /* attn_q has the rows of a gate behind those of each head (qwen3next) */
    bool gate_softplus;           /* attn_gate by softplus, not a sigmoid (laguna) */
    geodec__temperature temperature;
    geodec__latent_form latent;
    /* feed-forward */
    geodec_activation activation;
    bool plain;         /* no gate: activation(up) */
    int32_t cut_layers; /* the first layers, whose gates are cut at cut_at when activation_sparsity_scale is absent */
    double cut_at;      /* standard deviations above the mean; 0: that key is not read */
    bool half_length;   /* feed_forward_length counts gate and up (qwen) */
    bool full_qkv;      /* attn_qkv has as many rows for keys and values as for queries (qwen) */
    bool rms_by_key;    /* RMS norms if attention.layer_norm_rms_epsilon is there and not 0 (cohere2moe) */
    bool expert_width;  /* expert_feed_forward_length is required */
    bool expert_share;  /* without that key the experts of a row share feed_forward_length */
    bool dense_width;   /* experts have feed_forward_length, whatever that key says */
    bool keep_weights;  /* the chosen experts' weights are not renormalised, unless a key says so */
    bool fixed_weights; /* whatever the keys say */
    geodec__shared shared;
    geodec_gating gating; /* when expert_gating_func is absent */
    bool fixed_gating;    /* that key is not read */
    bool dense_layers;    /* leading_dense_block_count */
    bool dense_steps;     /* interleave_moe_layer_step */
    bool next_tokens;     /* nextn_predict_layers: so many last blocks are not read */
    bool route_raw;       /* experts are chosen from the layer's input, not normed (smallthinker) */
    bool weighed_input;   /* the weight of an expert multiplies its input (llama4) */
    bool limits;          /* swiglu_clamp_exp, swiglu_clamp_shexp */
    bool bare;      /* a network of which the file has no matrix is its activation alone, as llama.cpp computes it */
    bool own_input; /* experts read the layer's input, normed by ffn_norm_exps (arctic) */
    bool mixture_norms; /* norms of router, experts and shared network, and of what the latter two give (gemma4) */
    bool adjugate;      /* expert_chunk_feed_forward_length, experts_per_group, expert_group_scale (grovemoe) */
    float feed_scale;   /* of the sum of experts and shared network, if there is one; 0: 1 */
    /* Recurrent layers are those with the tensor of a convolution; a layer attends, or has a feed-forward, if the file
     * has tensors of it. */
    geodec__mixer mixer;
    bool gaps; /* without recurrent layers too, a layer may have no attention or no feed-forward (deci) */
    geodec__ignored ignored_bias;
    bool beside;        /* such layers attend too */
    bool cyclic_keys;   /* DELTA: head h has key h % keys */
    bool grouped_heads; /* SELECTIVE with Wx: in heads (plamo2) */
    bool recurrent;     /* recurrence.rank, recurrence.period, expert_route: model.h */
} geodec__arch;

/* Whether the tensors of a layer say what it has. */
static inline bool geodec__arch_has_gaps(const geodec__arch *a) { return a->mixer != GEODEC__MIXER_NONE || a->gaps; }

/* The rows of mixtures, and those with recurrent layers. */
extern const geodec__arch geodec__arch_mixture[], geodec__arch_recurrent[];
extern const size_t geodec__arch_mixtures, geodec__arch_recurrents;

typedef struct geodec_architecture {
    const char *name, *models, *differs; /* as above */
} geodec_architecture;
/* Row i of the table, from 0; false after the last one. */
bool geodec_arch_at(int i, geodec_architecture *out);
/* NULL for an unknown name. */
const geodec__arch *geodec__arch_find(const char *name);
/* Whether layer i of a PERSPECTIVE model is one of those with recurrences and experts. */
static inline bool geodec__recurs(const geodec_model_config *c, int32_t layer)
{
    return c->recur_period > 0 && layer % c->recur_period < c->recur_period - 1;
}
/* Whether layer i slides. */
static inline bool geodec__slides(int32_t period, int32_t layer) { return period == 0 || layer % period < period - 1; }

/* Name of the first part beyond RMS norms, attention with rotations in equal heads, and a gated feed-forward or
 * experts; NULL: none. What reads weights or the cache by itself (integers, a cache of low rank, factors) has no
 * others. */
const char *geodec__model_part_beyond(const geodec_model *m);
/* NULL when the model is a llama without any addition (which the trainer supports); else the difference. */
const char *geodec__model_peculiarity(const geodec_model *m);

#endif
