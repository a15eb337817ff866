#include "session/arch_internal.h"

#include <stdio.h>
#include <string.h>

static const geodec__arch table[] = {
    {.name = "llama",
     .models = "Llama 1-3, Mistral, SmolLM2, Mixtral",
     .differs = "rotates adjacent pairs (rows that do not say so: halves); `rope_freqs.weight` divides the frequencies "
                "(Llama 3); optional biases; optional experts, in one tensor or one each "
                "(`blk.N.ffn_gate.E.weight`); optional window in every layer",
     .adjacent_pairs = true,
     .divisors = GEODEC__DIVISORS_ONE,
     .qkv_bias = GEODEC__MAYBE,
     .o_bias = GEODEC__MAYBE,
     .experts = GEODEC__MAYBE,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__MAYBE},
    {.name = "qwen2",
     .models = "Qwen 2, 2.5",
     .differs = "biases on query, key and value",
     .qkv_bias = GEODEC__ALWAYS,
     .head = GEODEC__MAYBE},
    {.name = "qwen3",
     .models = "Qwen 3",
     .differs = "RMS norm of each head's query and key",
     .qk_norm = GEODEC__QK_HEAD,
     .head = GEODEC__MAYBE},
    {.name = "qwen3moe",
     .models = "Qwen 3 with experts",
     .differs = "the same; experts, weights renormalised, `expert_feed_forward_length`",
     .qk_norm = GEODEC__QK_HEAD,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__MAYBE,
     .expert_width = true},
    {.name = "qwen3vlmoe",
     .models = "Qwen 3 VL with experts (text only)",
     .differs = "as qwen3moe; `rope.dimension_sections` (positions of images) has no effect on text",
     .qk_norm = GEODEC__QK_HEAD,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__MAYBE,
     .expert_width = true,
     .sections = true},
    {.name = "olmoe",
     .models = "OLMoE",
     .differs = "query and key normed over the whole width; experts, weights kept as the softmax gave them",
     .qk_norm = GEODEC__QK_WHOLE,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__ALWAYS,
     .keep_weights = true},
    {.name = "qwen2moe",
     .models = "Qwen 1.5 and 2 with experts",
     .differs = "biases on query, key and value; experts, weights kept; a shared network beside them "
                "(`ffn_{gate,up,down}_shexp`), times the sigmoid of `ffn_gate_inp_shexp`",
     .qkv_bias = GEODEC__ALWAYS,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__ALWAYS,
     .expert_width = true,
     .keep_weights = true,
     .shared = GEODEC__SHARED_DENSE,
     .shared_factor = true},
    {.name = "deepseek",
     .models = "DeepSeek MoE 16B",
     .differs = "rotates adjacent pairs; experts, weights kept; a shared network beside them; the first layers are "
                "dense",
     .adjacent_pairs = true,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__MAYBE,
     .expert_width = true,
     .keep_weights = true,
     .shared = GEODEC__SHARED_COUNT,
     .dense_layers = true},
    {.name = "dots1",
     .models = "dots.llm1",
     .differs = "norms of each head; experts gated by sigmoids, weights kept unless `expert_weights_norm`, chosen with "
                "the bias `exp_probs_b`; a shared network; the first layers are dense",
     .qk_norm = GEODEC__QK_HEAD,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__ALWAYS,
     .expert_width = true,
     .keep_weights = true,
     .shared = GEODEC__SHARED_COUNT,
     .sigmoid = true,
     .expert_bias = GEODEC__MAYBE,
     .dense_layers = true},
    {.name = "bailingmoe",
     .models = "Ling (first generation)",
     .differs = "rotates adjacent pairs; experts, weights kept unless `expert_weights_norm`; a shared network",
     .adjacent_pairs = true,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__ALWAYS,
     .expert_width = true,
     .keep_weights = true,
     .shared = GEODEC__SHARED_COUNT,
     .dense_layers = true},
    {.name = "bailingmoe2",
     .models = "Ling 2, Ring 2",
     .differs = "`attn_qkv` in one matrix; norms of each head; a part of each head rotates; experts as dots1, in "
                "groups (`expert_group_count`) of which some are open to a token; a shared network; the first layers "
                "are dense; blocks that predict further tokens are not read",
     .qk_norm = GEODEC__QK_HEAD,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__ALWAYS,
     .expert_width = true,
     .keep_weights = true,
     .shared = GEODEC__SHARED_PRODUCT,
     .sigmoid = true,
     .expert_bias = GEODEC__MAYBE,
     .dense_layers = true,
     .next_tokens = true,
     .fused_qkv = true},
    {.name = "glm4moe",
     .models = "GLM 4.5, 4.6, 4.7, their Air and V forms (text only)",
     .differs = "optional biases on query, key and value; optional norms of each head; a part of each head rotates; "
                "the norm before the feed-forward is `post_attention_norm`; experts as dots1; a shared network; the "
                "first layers are dense; blocks that predict further tokens are not read",
     .qk_norm = GEODEC__QK_HEAD,
     .qk_norm_optional = true,
     .sections = true,
     .qkv_bias = GEODEC__MAYBE,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__MAYBE,
     .expert_width = true,
     .keep_weights = true,
     .shared = GEODEC__SHARED_COUNT,
     .sigmoid = true,
     .expert_bias = GEODEC__ALWAYS,
     .dense_layers = true,
     .next_tokens = true,
     .ffn_norm = "post_attention_norm.weight"},
    {.name = "ernie4_5-moe",
     .models = "ERNIE 4.5 with experts",
     .differs = "rotates adjacent pairs; optional biases; experts, weights renormalised, chosen with the optional bias "
                "`exp_probs_b`; an optional shared network; the first layers are dense, and of the others those that "
                "`interleave_moe_layer_step` leaves out",
     .adjacent_pairs = true,
     .qkv_bias = GEODEC__MAYBE,
     .o_bias = GEODEC__MAYBE,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__MAYBE,
     .expert_width = true,
     .shared = GEODEC__SHARED_COUNT,
     .expert_bias = GEODEC__MAYBE,
     .dense_layers = true},
    {.name = "hunyuan-moe",
     .models = "Hunyuan A13B",
     .differs = "norms of each head after the rotation; experts, weights renormalised; a shared network",
     .qk_norm = GEODEC__QK_HEAD,
     .qk_norm_rotated = true,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__MAYBE,
     .expert_width = true,
     .shared = GEODEC__SHARED_DENSE},
    {.name = "granitemoe",
     .models = "Granite 3 with experts",
     .differs = "rotates adjacent pairs; `embedding_scale`, `residual_scale` times what each half of a layer adds, "
                "logits divided by `logit_scale`; experts, weights renormalised; an optional shared network",
     .adjacent_pairs = true,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__MAYBE,
     .shared = GEODEC__SHARED_COUNT,
     .scales = true},
    {.name = "minimax-m2",
     .models = "MiniMax M2",
     .differs = "query and key normed over the whole width; a part of each head rotates; experts gated by sigmoids, "
                "weights renormalised, chosen with the bias `exp_probs_b`",
     .qk_norm = GEODEC__QK_WHOLE,
     .experts = GEODEC__ALWAYS,
     .head = GEODEC__ALWAYS,
     .expert_width = true,
     .sigmoid = true,
     .expert_bias = GEODEC__ALWAYS},
    {.name = "gemma2",
     .models = "Gemma 2",
     .differs = "embedding times sqrt(d), GELU (tanh form), norms after both blocks, soft-caps on scores and "
                "logits, every second layer slides (window 4096 unless stated), always tied",
     .activation = GEODEC_GELU_TANH,
     .windows = GEODEC__ALWAYS,
     .post_norms = true,
     .scaled_embedding = true,
     .default_window = 4096,
     .window_period = 2,
     .attn_softcap = 50,
     .final_softcap = 30,
     .capped_attention = true,
     .layers_of_wide_scale = 46},
    {.name = "gemma3",
     .models = "Gemma 3",
     .differs = "as gemma2 without the scores' cap; per-head norms; five of six layers slide and rotate with "
                "base 10000, unscaled",
     .activation = GEODEC_GELU_TANH,
     .qk_norm = GEODEC__QK_HEAD,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__MAYBE,
     .post_norms = true,
     .scaled_embedding = true,
     .window_period = 6,
     .rope_base_local = 10000,
     .layers_of_wide_scale = 62},
    {.name = "phi3",
     .models = "Phi 3, 3.5, 4",
     .differs = "`attn_qkv` in one matrix (or three), gate and up in `ffn_up`; `rope_factors_short`/`_long` "
                "divide the frequencies, long ones in sessions longer than "
                "`rope.scaling.original_context_length`; `rope.scaling.attn_factor` multiplies cosines and "
                "sines; optional window in every layer",
     .divisors = GEODEC__DIVISORS_TWO,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__MAYBE,
     .fused = true},
    {.name = "perspective",
     .models = "PERSPECTIVE (`geodec-train --arch perspective`)",
     .differs = "rotates adjacent pairs; of `recurrence.period` layers all but the last have a decay recurrence of "
                "`recurrence.rank` in place of attention, and experts, chosen by `expert_route` at "
                "`expert_route_at`; optional window in every other layer; `embedding_scale`",
     .adjacent_pairs = true,
     .experts = GEODEC__MAYBE,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__MAYBE,
     .keep_weights = true,
     .recurrent = true},
    {.name = "mamba",
     .models = "Mamba, FalconMamba",
     .differs = "layers have a selective state space (Mamba-1) and neither attention nor feed-forward",
     .head = GEODEC__MAYBE,
     .mixer = GEODEC__MIXER_SELECTIVE},
    {.name = "mamba2",
     .models = "Mamba-2, Codestral Mamba",
     .differs = "as mamba, with heads that share a gate (Mamba-2) and a norm of each group",
     .head = GEODEC__MAYBE,
     .mixer = GEODEC__MIXER_SELECTIVE},
    {.name = "lfm2",
     .models = "LFM2",
     .differs = "layers without key heads (`attention.head_count_kv` 0) have a gated convolution of "
                "`shortconv.l_cache` rows in place of attention; norms of each head; the last norm is "
                "`token_embd_norm`; optional window",
     .head = GEODEC__MAYBE,
     .qk_norm = GEODEC__QK_HEAD,
     .windows = GEODEC__MAYBE,
     .output_norm = "token_embd_norm.weight",
     .mixer = GEODEC__MIXER_SHORT},
};

const geodec__arch *geodec__arch_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

bool geodec_arch_at(int i, geodec_architecture *out)
{
    if (i < 0 || i >= (int)(sizeof table / sizeof *table)) return false;
    *out = (geodec_architecture){table[i].name, table[i].models, table[i].differs};
    return true;
}

const char *geodec__arch_names(char *text, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table && at < n; i++)
        at += (size_t)snprintf(text + at, n - at, "%s%s", i ? ", " : "", table[i].name);
    return text;
}

const char *geodec__model_peculiarity(const geodec_model *m)
{
    const geodec_model_config *c = &m->config;
    if (!m->layer) return "weights in integers";
    if (m->store) return "its experts in a store";
    if (strcmp(c->arch, table[0].name) != 0) return c->arch;
    if (m->rope_divisor[0] || c->rope_scale != 0 || c->rope_magnitude != 0) return "scaled rotations";
    if (c->attn_scale != 0 || c->attn_softcap != 0 || c->final_softcap != 0) return "scaled or capped attention";
    if (c->embed_scale != 0) return "a scaled embedding";
    if (c->expert_keep_weights || c->expert_scale != 0) return "scaled experts";
    for (int32_t i = 0; i < c->n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        if (l->q_bias || l->k_bias || l->v_bias || l->o_bias) return "biases";
        if (l->q_norm.weight || l->k_norm.weight || l->attn_post_norm.weight || l->ffn_post_norm.weight)
            return "more norms";
        if (l->window) return "sliding attention";
        if (l->gate.expert) return "experts in tensors of their own";
    }
    return NULL;
}
