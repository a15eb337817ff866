/* Small models with random weights, written with the library's own GGUF writer: for tests that need no shared folder,
 * for the generator of damaged files and for the benchmark. Header-only, because each of these is linked on its own. */
#ifndef GEODEC_TESTS_SYNTHETIC_H
#define GEODEC_TESTS_SYNTHETIC_H

#include "base/mem.h"
#include "base/rng.h"
#include "gguf/gguf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct synthetic {
    int32_t n_layer, d_model, n_head, n_kv_head, d_ff, n_vocab, n_ctx;
    int32_t n_expert, n_expert_used; /* 0 = dense */
    int32_t head_dim;                /* 0 = d_model / n_head */
    int32_t rope_dim;                /* 0 = head_dim */
    int type;                        /* of the matrices; rows must be multiples of its block */
    bool tied;
    uint64_t seed;
    /* beyond a plain llama; zero: no such key or tensor */
    const char *arch;               /* prefix of the keys, decides the tensors; NULL = llama */
    bool qkv_bias, o_bias;          /* (qwen2 has the first always) */
    bool split_qkv;                 /* phi3 without fused attn_qkv */
    bool single_experts;            /* one tensor per expert */
    bool rope_freqs;                /* divisors of a llama; of phi3: short and long */
    int32_t n_ctx_original;         /* rope.scaling.original_context_length */
    const char *rope_type;          /* rope.scaling.type */
    float rope_factor, attn_factor; /* rope.scaling.factor, .attn_factor */
    float rope_base, rope_base_swa; /* rope.freq_base, .freq_base_swa */
    int32_t window, window_pattern; /* attention.sliding_window, _pattern */
    float attn_scale, attn_softcap, final_softcap;
    float expert_scale;
    int32_t gating;       /* expert_gating_func */
    int32_t norm_experts; /* expert_weights_norm: 1 true, -1 false */
    int32_t d_ff_dense;   /* feed_forward_length of a mixture with dense layers; d_ff is then an expert's */
    int32_t n_shared;     /* expert_shared_count */
    int32_t d_ff_shared;  /* expert_shared_feed_forward_length */
    int32_t n_dense;      /* leading_dense_block_count */
    int32_t expert_step;  /* interleave_moe_layer_step */
    int32_t n_group, n_group_used;
    int32_t n_next;                        /* further blocks, nextn_predict_layers */
    int32_t d_ff_adjugate, adjugate_group; /* expert_chunk_feed_forward_length, experts_per_group */
    float adjugate_scale;                  /* expert_group_scale */
    bool expert_bias, qk_norm;
    int32_t sections[4]; /* rope.dimension_sections */
    float embed_scale, residual_scale, logit_scale;
    int32_t recur_rank, recur_period; /* recurrence.rank, .period (perspective) */
    float log_decay_min;              /* recurrence.log_decay_min */
    const char *route, *route_at;     /* expert_route, expert_route_at */
    int32_t lattice[3];               /* expert_lattice when not 0 */
    float ternary;          /* > 0: experts are -s, 0, s; this share of their weights is not that of expert 0 */
    const char *number_key; /* a further key with number_value, written as uint32, or by the next as an array */
    int32_t number_value;
    bool number_of_layers; /* 0 in all layers but the last */
    /* for damaged files; NULL or zero leaves the model good */
    const char *skip;                     /* this key or tensor is left out */
    const char *retype;                   /* this key is written as a string */
    const char *resize;                   /* this tensor gets one row more */
    const char *extra;                    /* a tensor of this name is added */
    const char *architecture, *tokenizer; /* other values of these keys */
    int32_t vocab_key;                    /* llama.vocab_size when not 0 */
    int32_t n_scores;                     /* length of the score array when not 0 */
    int32_t bos_key;                      /* tokenizer.ggml.bos_token_id when not 0 */
    bool nan_score, bad_byte, twin_piece;
    float eps;
} synthetic;

typedef struct synthetic_writer {
    geodec_gguf_writer *w;
    const synthetic *s;
    geodec_rng rng;
    geodec_err *err;
} synthetic_writer;

static inline geodec_status synthetic_u32(synthetic_writer *o, const char *key, uint32_t v)
{
    if (o->s->skip && strcmp(o->s->skip, key) == 0) return GEODEC_OK;
    if (o->s->retype && strcmp(o->s->retype, key) == 0) return geodec_gguf_put_str(o->w, key, "text", o->err);
    return geodec_gguf_put_u32(o->w, key, v, o->err);
}

/* Each expert has a scale of its own, which float16 holds. */
static inline void synthetic_trits(synthetic_writer *o, float *x, int64_t n, int64_t count)
{
    for (int64_t e = 0; e < count; e++) {
        const float s = 0.125f + 0.0078125f * (float)(e % 8);
        for (int64_t i = 0; i < n; i++) {
            const bool fresh = e == 0 || geodec_rng_uniform(&o->rng) < (double)o->s->ternary;
            const float t = e > 0 ? (x[i] > 0 ? 1.0f : x[i] < 0 ? -1.0f : 0.0f) : 0.0f;
            x[e * n + i] = s * (fresh ? floorf((float)geodec_rng_uniform(&o->rng) * 3) - 1 : t);
        }
    }
}

static inline geodec_status synthetic_tensor(synthetic_writer *o, const char *name, int type, int64_t cols,
                                             int64_t rows, int64_t count)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    float *x = NULL;
    if (o->s->skip && strcmp(o->s->skip, name) == 0) goto done;
    if (o->s->resize && strcmp(o->s->resize, name) == 0) rows++;
    const int64_t dim[3] = {cols, rows, count}, n = cols * rows * count;
    const bool norm = strstr(name, "norm") || strstr(name, ".scale"), bias = strstr(name, ".bias") != NULL,
               divisor = strncmp(name, "rope_f", 6) == 0, place = strstr(name, "expert_place") != NULL,
               rate = strlen(name) > 5 && strcmp(name + strlen(name) - 5, "ssm_a") == 0;
    const float scale = 1.7f / sqrtf((float)cols); /* of a uniform: about unit variance of the product */
    GEODEC_NEW(x, n);
    for (int64_t i = 0; i < n; i++) {
        const float u = (float)(2 * geodec_rng_uniform(&o->rng) - 1);
        x[i] = rate      ? -fabsf(u) - 0.05f
               : place   ? fabsf(u) * 0.999f
               : norm    ? 1.0f + 0.3f * u
               : bias    ? 0.4f * u
               : divisor ? 2.5f + 2.2f * u
                         : scale * u;
    }
    if (o->s->ternary > 0 && strstr(name, "_exps.weight")) synthetic_trits(o, x, cols * rows, count);
    const int n_dims = count > 1 ? 3 : rows > 1 ? 2 : 1;
    GEODEC_TRY(geodec_gguf_put_tensor(o->w, name, type, n_dims, dim, x, err));
done:
    geodec_mem_free(x);
    return st;
}

/* unk, bos, eos, the bytes, the mark, then pairs of letters. */
static inline geodec_status synthetic_vocab(synthetic_writer *o)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const int32_t n = o->s->n_vocab;
    char(*text)[24] = NULL;
    const char **piece = NULL;
    size_t *len = NULL;
    float *score = NULL;
    int32_t *type = NULL;
    GEODEC_NEW(text, n);
    GEODEC_NEW(piece, n);
    GEODEC_NEW(len, n);
    GEODEC_NEW(score, n);
    GEODEC_NEW(type, n);
    for (int32_t i = 0; i < n; i++) {
        static const char *const special[] = {"<unk>", "<s>", "</s>"};
        type[i] = i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1;
        score[i] = i < 259 ? 0 : -(float)i;
        if (i < 3)
            (void)snprintf(text[i], sizeof text[i], "%s", special[i]);
        else if (i < 259)
            (void)snprintf(text[i], sizeof text[i], "<0x%02X>", (unsigned)(i - 3));
        else if (i == 259)
            (void)snprintf(text[i], sizeof text[i], "\xe2\x96\x81");
        else if (i < 286)
            (void)snprintf(text[i], sizeof text[i], "%c", 'a' + i - 260);
        else
            (void)snprintf(text[i], sizeof text[i], "w%d", i);
        piece[i] = text[i];
        len[i] = strlen(text[i]);
    }
    if (o->s->nan_score) score[n - 1] = NAN;
    if (o->s->bad_byte) (void)snprintf(text[10], sizeof text[10], "<0xQQ>");
    if (o->s->twin_piece) (void)snprintf(text[n - 1], sizeof text[n - 1], "a");
    len[n - 1] = strlen(text[n - 1]);
    const struct {
        const char *key;
        int what;
    } arrays[] = {{"tokenizer.ggml.tokens", 0}, {"tokenizer.ggml.scores", 1}, {"tokenizer.ggml.token_type", 2}};
    GEODEC_TRY(geodec_gguf_put_str(o->w, "tokenizer.ggml.model", o->s->tokenizer ? o->s->tokenizer : "llama", err));
    for (int i = 0; i < 3; i++) {
        if (o->s->skip && strcmp(o->s->skip, arrays[i].key) == 0) continue;
        const int32_t n_scores = o->s->n_scores ? o->s->n_scores : n;
        if (arrays[i].what == 0) GEODEC_TRY(geodec_gguf_put_str_array(o->w, arrays[i].key, piece, len, n, err));
        if (arrays[i].what == 1) GEODEC_TRY(geodec_gguf_put_f32_array(o->w, arrays[i].key, score, n_scores, err));
        if (arrays[i].what == 2) GEODEC_TRY(geodec_gguf_put_i32_array(o->w, arrays[i].key, type, n, err));
    }
done:
    geodec_mem_free(text);
    geodec_mem_free(piece);
    geodec_mem_free(len);
    geodec_mem_free(score);
    geodec_mem_free(type);
    return st;
}

static inline bool synthetic_is(const synthetic *s, const char *arch)
{
    return strcmp(s->arch ? s->arch : "llama", arch) == 0;
}

/* Whether the architecture is one of those in a list with a blank before and after each. */
static inline bool synthetic_in(const synthetic *s, const char *list)
{
    char name[40];
    (void)snprintf(name, sizeof name, " %s ", s->arch ? s->arch : "llama");
    return strstr(list, name) != NULL;
}

/* Whether it runs in integers, which refuse the parts of the others. */
static inline bool synthetic_has_integers(const synthetic *s)
{
    return s->recur_period == 0 && s->d_ff_adjugate == 0 && !synthetic_is(s, "gemma4");
}

static inline int64_t synthetic_head_dim(const synthetic *s)
{
    return s->head_dim ? s->head_dim : s->d_model / s->n_head;
}

/* A tensor of a block; suffix with its .weight or .bias. */
static inline geodec_status synthetic_part(synthetic_writer *o, int32_t layer, const char *suffix, int type,
                                           int64_t cols, int64_t rows, int64_t count)
{
    char name[80];
    (void)snprintf(name, sizeof name, "blk.%d.%s", layer, suffix);
    return synthetic_tensor(o, name, type, cols, rows, count);
}

/* Whether a layer of a perspective model has a recurrence and experts. */
static inline bool synthetic_recurs(const synthetic *s, int32_t layer)
{
    return s->recur_period > 0 && layer % s->recur_period < s->recur_period - 1;
}

static inline geodec_status synthetic_recurrence(synthetic_writer *o, int32_t layer)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const synthetic *s = o->s;
    enum { F32 = GEODEC_GGML_F32 };
    const int64_t d = s->d_model, r = s->recur_rank;
    GEODEC_TRY(synthetic_part(o, layer, "attn_norm.weight", F32, d, 1, 1));
    GEODEC_TRY(synthetic_part(o, layer, "recur_decay.weight", s->type, d, d, 1));
    GEODEC_TRY(synthetic_part(o, layer, "recur_decay.bias", F32, d, 1, 1));
    GEODEC_TRY(synthetic_part(o, layer, "recur_q.weight", s->type, d, r, 1));
    GEODEC_TRY(synthetic_part(o, layer, "recur_k.weight", s->type, d, r, 1));
    GEODEC_TRY(synthetic_part(o, layer, "recur_v.weight", s->type, d, d, 1));
    GEODEC_TRY(synthetic_part(o, layer, "recur_norm.weight", F32, d, 1, 1));
    GEODEC_TRY(synthetic_part(o, layer, "recur_output.weight", s->type, d, d, 1));
done:
    return st;
}

static inline geodec_status synthetic_attention(synthetic_writer *o, int32_t layer)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const synthetic *s = o->s;
    enum { F32 = GEODEC_GGML_F32 };
    const int64_t d = s->d_model, dim = synthetic_head_dim(s), q = s->n_head * dim, kv = s->n_kv_head * dim;
    const bool per_head =
                   s->qk_norm ||
                   synthetic_in(s, " qwen3 qwen3moe qwen3vlmoe gemma3 dots1 bailingmoe2 hunyuan-moe grovemoe gemma4 "),
               whole = synthetic_in(s, " olmoe minimax-m2 ");
    GEODEC_TRY(synthetic_part(o, layer, "attn_norm.weight", F32, d, 1, 1));
    if (synthetic_in(s, " phi3 bailingmoe2 ") && !s->split_qkv) {
        GEODEC_TRY(synthetic_part(o, layer, "attn_qkv.weight", s->type, d, q + 2 * kv, 1));
    } else {
        GEODEC_TRY(synthetic_part(o, layer, "attn_q.weight", s->type, d, q, 1));
        GEODEC_TRY(synthetic_part(o, layer, "attn_k.weight", s->type, d, kv, 1));
        GEODEC_TRY(synthetic_part(o, layer, "attn_v.weight", s->type, d, kv, 1));
    }
    if (s->qkv_bias || synthetic_in(s, " qwen2 qwen2moe ")) {
        GEODEC_TRY(synthetic_part(o, layer, "attn_q.bias", F32, q, 1, 1));
        GEODEC_TRY(synthetic_part(o, layer, "attn_k.bias", F32, kv, 1, 1));
        GEODEC_TRY(synthetic_part(o, layer, "attn_v.bias", F32, kv, 1, 1));
    }
    if (per_head || whole) {
        GEODEC_TRY(synthetic_part(o, layer, "attn_q_norm.weight", F32, whole ? q : dim, 1, 1));
        GEODEC_TRY(synthetic_part(o, layer, "attn_k_norm.weight", F32, whole ? kv : dim, 1, 1));
    }
    GEODEC_TRY(synthetic_part(o, layer, "attn_output.weight", s->type, q, d, 1));
    if (s->o_bias) GEODEC_TRY(synthetic_part(o, layer, "attn_output.bias", F32, d, 1, 1));
done:
    return st;
}

/* All experts of one sort, in one tensor or in one each. */
static inline geodec_status synthetic_experts(synthetic_writer *o, int32_t layer, const char *name, int64_t cols,
                                              int64_t rows)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    char suffix[48];
    if (!o->s->single_experts) {
        (void)snprintf(suffix, sizeof suffix, "%s_exps.weight", name);
        return synthetic_part(o, layer, suffix, o->s->type, cols, rows, o->s->n_expert);
    }
    for (int32_t e = 0; e < o->s->n_expert; e++) {
        (void)snprintf(suffix, sizeof suffix, "%s.%d.weight", name, e);
        GEODEC_TRY(synthetic_part(o, layer, suffix, o->s->type, cols, rows, 1));
    }
done:
    return st;
}

static inline geodec_status synthetic_mixture(synthetic_writer *o, int32_t layer)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const synthetic *s = o->s;
    enum { F32 = GEODEC_GGML_F32 };
    const int64_t d = s->d_model, f = s->d_ff, own = s->d_ff_shared ? s->d_ff_shared : f,
                  shared = s->n_shared > 0 && (!s->d_ff_shared || synthetic_is(s, "bailingmoe2")) ? s->n_shared * own
                           : s->d_ff_shared                                                       ? own
                                                                                                  : 0;
    GEODEC_TRY(synthetic_experts(o, layer, "ffn_gate", d, f));
    GEODEC_TRY(synthetic_experts(o, layer, "ffn_up", d, f));
    GEODEC_TRY(synthetic_experts(o, layer, "ffn_down", f, d));
    const bool torus = s->route && strcmp(s->route, "softmax") != 0;
    const int64_t scores = !torus ? s->n_expert : strcmp(s->route, "angle") == 0 ? 6 : 3;
    GEODEC_TRY(synthetic_part(o, layer, "ffn_gate_inp.weight", F32, d, scores, 1));
    if (torus) {
        GEODEC_TRY(synthetic_part(o, layer, "ffn_gate_inp.bias", F32, scores, 1, 1));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_expert_place.weight", F32, 3, s->n_expert, 1));
    }
    if (s->expert_bias) GEODEC_TRY(synthetic_part(o, layer, "exp_probs_b.bias", F32, s->n_expert, 1, 1));
    if (shared) {
        GEODEC_TRY(synthetic_part(o, layer, "ffn_gate_shexp.weight", s->type, d, shared, 1));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_up_shexp.weight", s->type, d, shared, 1));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_down_shexp.weight", s->type, shared, d, 1));
    }
    if (synthetic_is(s, "gemma4")) {
        GEODEC_TRY(synthetic_part(o, layer, "pre_ffw_norm_2.weight", F32, d, 1, 1));
        GEODEC_TRY(synthetic_part(o, layer, "post_ffw_norm_1.weight", F32, d, 1, 1));
        GEODEC_TRY(synthetic_part(o, layer, "post_ffw_norm_2.weight", F32, d, 1, 1));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_gate_inp.scale", F32, d, 1, 1));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_down_exps.scale", F32, s->n_expert, 1, 1));
    }
    if (s->d_ff_adjugate > 0) {
        const int64_t groups = s->n_expert / s->adjugate_group, width = s->d_ff_adjugate;
        GEODEC_TRY(synthetic_part(o, layer, "ffn_gate_chexps.weight", s->type, d, width, groups));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_up_chexps.weight", s->type, d, width, groups));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_down_chexps.weight", s->type, width, d, groups));
    }
    if (synthetic_is(s, "qwen2moe")) GEODEC_TRY(synthetic_part(o, layer, "ffn_gate_inp_shexp.weight", F32, d, 1, 1));
done:
    return st;
}

static inline bool synthetic_routed(const synthetic *s, int32_t layer)
{
    if (s->recur_period > 0) return s->n_expert > 0 && synthetic_recurs(s, layer);
    return s->n_expert > 0 && layer >= s->n_dense && (s->expert_step < 2 || (layer + 1) % s->expert_step == 0);
}

/* What a block that predicts further tokens has beside a layer. */
static inline geodec_status synthetic_next(synthetic_writer *o, int32_t layer)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const int64_t d = o->s->d_model;
    enum { F32 = GEODEC_GGML_F32 };
    GEODEC_TRY(synthetic_part(o, layer, "nextn.eh_proj.weight", o->s->type, 2 * d, d, 1));
    GEODEC_TRY(synthetic_part(o, layer, "nextn.enorm.weight", F32, d, 1, 1));
    GEODEC_TRY(synthetic_part(o, layer, "nextn.hnorm.weight", F32, d, 1, 1));
    if (synthetic_is(o->s, "bailingmoe2"))
        GEODEC_TRY(synthetic_part(o, layer, "layer_output_norm.weight", F32, d, 1, 1));
done:
    return st;
}

static inline geodec_status synthetic_layer(synthetic_writer *o, int32_t layer)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const synthetic *s = o->s;
    const int64_t d = s->d_model, f = s->d_ff_dense ? s->d_ff_dense : s->d_ff;
    const bool post = synthetic_in(s, " gemma2 gemma3 gemma4 glm4 "), fused = synthetic_is(s, "phi3");
    if (s->recur_rank > 0 && synthetic_recurs(s, layer))
        GEODEC_TRY(synthetic_recurrence(o, layer));
    else
        GEODEC_TRY(synthetic_attention(o, layer));
    if (post) GEODEC_TRY(synthetic_part(o, layer, "post_attention_norm.weight", GEODEC_GGML_F32, d, 1, 1));
    GEODEC_TRY(synthetic_part(o, layer, synthetic_is(s, "glm4moe") ? "post_attention_norm.weight" : "ffn_norm.weight",
                              GEODEC_GGML_F32, d, 1, 1));
    const bool routed = synthetic_routed(s, layer);
    if (routed) GEODEC_TRY(synthetic_mixture(o, layer));
    if (!routed || synthetic_is(s, "gemma4")) {
        if (!fused) GEODEC_TRY(synthetic_part(o, layer, "ffn_gate.weight", s->type, d, f, 1));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_up.weight", s->type, d, fused ? 2 * f : f, 1));
        GEODEC_TRY(synthetic_part(o, layer, "ffn_down.weight", s->type, f, d, 1));
    }
    if (post) GEODEC_TRY(synthetic_part(o, layer, "post_ffw_norm.weight", GEODEC_GGML_F32, d, 1, 1));
done:
    return st;
}

static inline geodec_status synthetic_f32(synthetic_writer *o, const char *key, float v)
{
    if (o->s->skip && strcmp(o->s->skip, key) == 0) return GEODEC_OK;
    return geodec_gguf_put_f32(o->w, key, v, o->err);
}

/* The keys of the architecture; the first seven are always there, the others when they are not 0. */
static inline geodec_status synthetic_keys(synthetic_writer *o)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const synthetic *s = o->s;
    const char *arch = s->arch ? s->arch : "llama";
    const int32_t dim = (int32_t)synthetic_head_dim(s);
    char key[80];
    const struct {
        const char *suffix;
        int32_t v;
    } keys[] = {
        {"context_length", s->n_ctx},
        {"embedding_length", s->d_model},
        {"block_count", s->n_layer + s->n_next},
        {"feed_forward_length", s->d_ff_dense ? s->d_ff_dense : s->d_ff},
        {"attention.head_count", s->n_head},
        {"attention.head_count_kv", s->n_kv_head},
        {"rope.dimension_count", s->rope_dim ? s->rope_dim : dim},
        {"expert_count", s->n_expert},
        {"expert_used_count", s->n_expert_used},
        {"attention.key_length", s->head_dim},
        {"attention.value_length", s->head_dim},
        {"expert_feed_forward_length", synthetic_in(s, " llama olmoe granitemoe ") ? 0
                                       : s->n_expert                               ? s->d_ff
                                                                                   : 0},
        {"expert_shared_count", s->n_shared},
        {"expert_shared_feed_forward_length", s->d_ff_shared},
        {"leading_dense_block_count", s->n_dense},
        {"interleave_moe_layer_step", s->expert_step},
        {"expert_group_count", s->n_group},
        {"expert_chunk_feed_forward_length", s->d_ff_adjugate},
        {"experts_per_group", s->adjugate_group},
        {"expert_group_used_count", s->n_group_used},
        {"nextn_predict_layers", s->n_next},
        {"rope.scaling.original_context_length", s->n_ctx_original},
        {"attention.sliding_window", s->window},
        {"attention.sliding_window_pattern", s->window_pattern},
        {"expert_gating_func", s->gating},
        {"vocab_size", s->vocab_key},
        {"recurrence.period", s->recur_period},
    };
    const struct {
        const char *suffix;
        float v;
    } floats[] = {
        {"attention.layer_norm_rms_epsilon", s->eps != 0 ? s->eps : 1e-5f},
        {"rope.freq_base", s->rope_base},
        {"rope.freq_base_swa", s->rope_base_swa},
        {"rope.scaling.factor", s->rope_factor},
        {"rope.scaling.attn_factor", s->attn_factor},
        {"attention.scale", s->attn_scale},
        {"attn_logit_softcapping", s->attn_softcap},
        {"final_logit_softcapping", s->final_softcap},
        {"expert_weights_scale", s->expert_scale},
        {"embedding_scale", s->embed_scale},
        {"residual_scale", s->residual_scale},
        {"logit_scale", s->logit_scale},
        {"recurrence.log_decay_min", s->log_decay_min},
        {"expert_group_scale", s->adjugate_scale},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        (void)snprintf(key, sizeof key, "%s.%s", arch, keys[i].suffix);
        if (i < 7 || keys[i].v || (i < 9 && s->n_expert)) GEODEC_TRY(synthetic_u32(o, key, (uint32_t)keys[i].v));
    }
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        (void)snprintf(key, sizeof key, "%s.%s", arch, floats[i].suffix);
        if (floats[i].v != 0) GEODEC_TRY(synthetic_f32(o, key, floats[i].v));
    }
    (void)snprintf(key, sizeof key, "%s.rope.dimension_sections", arch);
    if (s->sections[0]) GEODEC_TRY(geodec_gguf_put_i32_array(o->w, key, s->sections, 4, err));
    (void)snprintf(key, sizeof key, "%s.rope.scaling.type", arch);
    if (s->rope_type) GEODEC_TRY(geodec_gguf_put_str(o->w, key, s->rope_type, err));
    (void)snprintf(key, sizeof key, "%s.recurrence.rank", arch);
    if (s->recur_period) GEODEC_TRY(synthetic_u32(o, key, (uint32_t)s->recur_rank));
    (void)snprintf(key, sizeof key, "%s.expert_route", arch);
    if (s->route) GEODEC_TRY(geodec_gguf_put_str(o->w, key, s->route, err));
    (void)snprintf(key, sizeof key, "%s.expert_route_at", arch);
    if (s->route_at) GEODEC_TRY(geodec_gguf_put_str(o->w, key, s->route_at, err));
    (void)snprintf(key, sizeof key, "%s.expert_lattice", arch);
    if (s->lattice[0]) GEODEC_TRY(geodec_gguf_put_i32_array(o->w, key, s->lattice, 3, err));
    (void)snprintf(key, sizeof key, "%s.expert_weights_norm", arch);
    if (s->norm_experts) GEODEC_TRY(geodec_gguf_put_bool(o->w, key, s->norm_experts > 0, err));
    if (s->number_key && s->number_of_layers) {
        float each[64] = {0};
        each[s->n_layer - 1] = (float)s->number_value;
        GEODEC_TRY(geodec_gguf_put_f32_array(o->w, s->number_key, each, s->n_layer, err));
    } else if (s->number_key) {
        GEODEC_TRY(geodec_gguf_put_u32(o->w, s->number_key, (uint32_t)s->number_value, err));
    }
    if (s->bos_key) GEODEC_TRY(synthetic_u32(o, "tokenizer.ggml.bos_token_id", (uint32_t)s->bos_key));
done:
    return st;
}

static inline geodec_status synthetic_divisors(synthetic_writer *o)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const int64_t pairs = (o->s->rope_dim ? o->s->rope_dim : synthetic_head_dim(o->s)) / 2;
    if (synthetic_is(o->s, "phi3")) {
        GEODEC_TRY(synthetic_tensor(o, "rope_factors_long.weight", GEODEC_GGML_F32, pairs, 1, 1));
        GEODEC_TRY(synthetic_tensor(o, "rope_factors_short.weight", GEODEC_GGML_F32, pairs, 1, 1));
    } else {
        GEODEC_TRY(synthetic_tensor(o, "rope_freqs.weight", GEODEC_GGML_F32, pairs, 1, 1));
    }
done:
    return st;
}

static inline geodec_status synthetic_write(const char *path, const synthetic *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    synthetic_writer o = {.s = s, .rng = geodec_rng_stream(s->seed, geodec_rng_id("synthetic model", 0)), .err = err};
    const char *arch = s->arch ? s->arch : "llama";
    GEODEC_TRY(geodec_gguf_writer_create(path, &o.w, err));
    if (!s->skip || strcmp(s->skip, "general.architecture") != 0)
        GEODEC_TRY(geodec_gguf_put_str(o.w, "general.architecture", s->architecture ? s->architecture : arch, err));
    GEODEC_TRY(synthetic_keys(&o));
    GEODEC_TRY(synthetic_vocab(&o));
    GEODEC_TRY(synthetic_tensor(&o, "token_embd.weight", s->type, s->d_model, s->n_vocab, 1));
    GEODEC_TRY(synthetic_tensor(&o, "output_norm.weight", GEODEC_GGML_F32, s->d_model, 1, 1));
    if (!s->tied) GEODEC_TRY(synthetic_tensor(&o, "output.weight", s->type, s->d_model, s->n_vocab, 1));
    for (int32_t i = 0; i < s->n_layer + s->n_next; i++) GEODEC_TRY(synthetic_layer(&o, i));
    for (int32_t i = s->n_layer; i < s->n_layer + s->n_next; i++) GEODEC_TRY(synthetic_next(&o, i));
    if (s->rope_freqs) GEODEC_TRY(synthetic_divisors(&o));
    if (s->extra) GEODEC_TRY(synthetic_tensor(&o, s->extra, GEODEC_GGML_F32, s->d_model, 1, 1));
    geodec_gguf_writer *w = o.w;
    o.w = NULL;
    GEODEC_TRY(geodec_gguf_writer_commit(w, err));
done:
    geodec_gguf_writer_abandon(o.w);
    return st;
}

#endif
