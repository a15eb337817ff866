/* A small seeded model of every architecture and of every variant that takes another path, for tests and for the
 * comparison with another program. Shapes are odd on purpose: heads that do not fill vectors, one key head, a key head
 * for each query head, heads wider than the model. */
#ifndef GEODEC_TESTS_FAMILIES_H
#define GEODEC_TESTS_FAMILIES_H

#include "session/synthetic.h"

typedef struct family {
    const char *name;
    bool peer; /* llama.cpp computes the same function (it knows neither windows of llama and phi3 nor experts in
                  tensors of their own, and llama's windows and the experts' scale are keys it does not read) */
    synthetic s;
} family;

/* clang-format off */
static const family families[] = {
    {"llama-3", true, /* divisors, biases */
     {.n_layer = 2, .d_model = 48, .n_head = 3, .n_kv_head = 1, .d_ff = 75, .n_vocab = 300, .n_ctx = 256,
      .type = GEODEC_GGML_F32, .rope_freqs = true, .rope_base = 500000, .qkv_bias = true, .o_bias = true, .seed = 101}},
    {"mistral", false, /* a window in every layer, linear scaling */
     {.n_layer = 2, .d_model = 40, .n_head = 2, .n_kv_head = 2, .d_ff = 64, .n_vocab = 290, .n_ctx = 256,
      .type = GEODEC_GGML_F16, .head_dim = 26, .window = 13, .rope_type = "linear", .rope_factor = 4, .seed = 102}},
    {"llama-linear", true,
     {.n_layer = 2, .d_model = 40, .n_head = 4, .n_kv_head = 2, .d_ff = 64, .n_vocab = 290, .n_ctx = 256,
      .type = GEODEC_GGML_F32, .head_dim = 26, .rope_type = "linear", .rope_factor = 4, .seed = 103}},
    {"mixtral", true,
     {.n_layer = 2, .d_model = 32, .n_head = 4, .n_kv_head = 2, .d_ff = 48, .n_vocab = 300, .n_ctx = 256,
      .type = GEODEC_GGML_F32, .n_expert = 8, .n_expert_used = 2, .seed = 104}},
    {"mixtral-old", false, /* a tensor for each expert */
     {.n_layer = 2, .d_model = 32, .n_head = 4, .n_kv_head = 2, .d_ff = 48, .n_vocab = 300, .n_ctx = 256,
      .type = GEODEC_GGML_F16, .n_expert = 5, .n_expert_used = 2, .single_experts = true, .expert_scale = 1.75f,
      .seed = 105}},
    {"qwen2", true,
     {.arch = "qwen2", .n_layer = 2, .d_model = 56, .n_head = 4, .n_kv_head = 2, .d_ff = 90, .n_vocab = 310,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .rope_base = 1000000, .tied = true, .seed = 106}},
    {"qwen3", true, /* heads wider than d / n */
     {.arch = "qwen3", .n_layer = 2, .d_model = 48, .n_head = 3, .n_kv_head = 1, .d_ff = 70, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 24, .rope_base = 1000000, .seed = 107}},
    {"gemma2", true, /* four layers, two of them sliding */
     {.arch = "gemma2", .n_layer = 4, .d_model = 40, .n_head = 4, .n_kv_head = 2, .d_ff = 72, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 12, .window = 11, .attn_softcap = 1.5f, .final_softcap = 2,
      .tied = true, .seed = 108}},
    {"gemma3", true, /* seven layers: the sixth is global */
     {.arch = "gemma3", .n_layer = 7, .d_model = 32, .n_head = 2, .n_kv_head = 1, .d_ff = 50, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 64, .window = 9, .rope_base = 1000000, .rope_type = "linear",
      .rope_factor = 8, .tied = true, .seed = 109}},
    {"gemma3-wide", true, /* heads of 256, another pattern, a scale, separate head, final cap */
     {.arch = "gemma3", .n_layer = 3, .d_model = 32, .n_head = 1, .n_kv_head = 1, .d_ff = 64, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 256, .window = 20, .window_pattern = 3, .rope_base = 1000000,
      .rope_base_swa = 20000, .final_softcap = 3, .seed = 110}},
    {"phi3-short", true,
     {.arch = "phi3", .n_layer = 2, .d_model = 60, .n_head = 5, .n_kv_head = 1, .d_ff = 66, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .rope_dim = 8, .rope_freqs = true, .n_ctx_original = 256,
      .attn_factor = 1.19f, .seed = 111}},
    {"phi3-long", true,
     {.arch = "phi3", .n_layer = 2, .d_model = 60, .n_head = 5, .n_kv_head = 5, .d_ff = 66, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .rope_freqs = true, .n_ctx_original = 64, .attn_factor = 1.19f,
      .split_qkv = true, .seed = 112}},
    {"phi3-window", false,
     {.arch = "phi3", .n_layer = 2, .d_model = 64, .n_head = 2, .n_kv_head = 2, .d_ff = 96, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_Q8_0, .window = 10, .tied = true, .seed = 113}},
    {"qwen3moe", true, /* 128 experts, 8 used */
     {.arch = "qwen3moe", .n_layer = 2, .d_model = 32, .n_head = 3, .n_kv_head = 1, .d_ff = 16, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 18, .n_expert = 128, .n_expert_used = 8, .rope_base = 1000000,
      .seed = 114}},
    {"olmoe", true, /* norms over the whole width, weights kept */
     {.arch = "olmoe", .n_layer = 2, .d_model = 48, .n_head = 4, .n_kv_head = 4, .d_ff = 24, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 16, .n_expert_used = 5, .seed = 115}},
    {"qwen2moe", true, /* a shared network with a factor */
     {.arch = "qwen2moe", .n_layer = 2, .d_model = 40, .n_head = 4, .n_kv_head = 2, .d_ff = 24, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 10, .n_expert_used = 4, .d_ff_shared = 57, .rope_base = 1000000,
      .seed = 116}},
    {"deepseek", true, /* a dense layer first */
     {.arch = "deepseek", .n_layer = 3, .d_model = 48, .n_head = 4, .n_kv_head = 4, .d_ff = 20, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 9, .n_expert_used = 3, .n_shared = 2, .d_ff_dense = 70,
      .n_dense = 1, .expert_scale = 1.5f, .seed = 117}},
    {"dots1", true, /* sigmoids, a bias of the choice */
     {.arch = "dots1", .n_layer = 3, .d_model = 48, .n_head = 3, .n_kv_head = 3, .d_ff = 22, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 18, .n_expert = 12, .n_expert_used = 4, .n_shared = 1,
      .d_ff_dense = 50, .n_dense = 2, .expert_bias = true, .gating = 2, .norm_experts = 1, .expert_scale = 2.5f,
      .seed = 118}},
    {"dots1-kept", true, /* weights kept */
     {.arch = "dots1", .n_layer = 2, .d_model = 40, .n_head = 2, .n_kv_head = 2, .d_ff = 24, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 8, .n_expert_used = 2, .n_shared = 1, .gating = 2,
      .seed = 119}},
    {"bailingmoe", true, /* wide shared network */
     {.arch = "bailingmoe", .n_layer = 2, .d_model = 48, .n_head = 4, .n_kv_head = 1, .d_ff = 18, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 8, .n_expert_used = 3, .n_shared = 3, .norm_experts = 1,
      .seed = 120}},
    {"bailingmoe2", true, /* groups, a part of a head rotates, a block that is not read */
     {.arch = "bailingmoe2", .n_layer = 3, .d_model = 48, .n_head = 4, .n_kv_head = 2, .d_ff = 20, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .rope_dim = 6, .n_expert = 12, .n_expert_used = 4, .n_shared = 1,
      .d_ff_shared = 28, .d_ff_dense = 66, .n_dense = 1, .n_group = 4, .n_group_used = 2, .expert_bias = true,
      .gating = 2, .norm_experts = 1, .expert_scale = 2.5f, .n_next = 1, .seed = 121}},
    {"glm4moe", true, /* biases */
     {.arch = "glm4moe", .n_layer = 3, .d_model = 48, .n_head = 4, .n_kv_head = 2, .d_ff = 20, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 16, .rope_dim = 8, .qkv_bias = true, .n_expert = 8,
      .n_expert_used = 3, .n_shared = 1, .d_ff_dense = 60, .n_dense = 1, .expert_bias = true, .norm_experts = 1,
      .expert_scale = 1.25f, .n_next = 1, .seed = 122}},
    {"glm4moe-norms", true, /* norms of each head, no biases */
     {.arch = "glm4moe", .n_layer = 2, .d_model = 40, .n_head = 2, .n_kv_head = 1, .d_ff = 24, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .rope_dim = 10, .qk_norm = true, .n_expert = 6, .n_expert_used = 2,
      .n_shared = 2, .expert_bias = true, .gating = 2, .norm_experts = 1, .tied = true, .seed = 123}},
    {"ernie4_5-moe", true,
     {.arch = "ernie4_5-moe", .n_layer = 3, .d_model = 48, .n_head = 4, .n_kv_head = 2, .d_ff = 20, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 8, .n_expert_used = 3, .n_shared = 2, .d_ff_shared = 34,
      .d_ff_dense = 60, .n_dense = 1, .expert_step = 1, .expert_bias = true, .tied = true, .seed = 124}},
    {"ernie4_5-moe-step", false, /* every second layer is dense; the peer expects experts in its file */
     {.arch = "ernie4_5-moe", .n_layer = 4, .d_model = 48, .n_head = 4, .n_kv_head = 2, .d_ff = 20, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .qkv_bias = true, .o_bias = true, .n_expert = 8, .n_expert_used = 3,
      .d_ff_dense = 60, .expert_step = 2, .seed = 125}},
    {"glm4moe-sections", true, /* positions of images */
     {.arch = "glm4moe", .n_layer = 2, .d_model = 40, .n_head = 2, .n_kv_head = 1, .d_ff = 24, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .rope_dim = 10, .n_expert = 6, .n_expert_used = 2, .n_shared = 1,
      .expert_bias = true, .gating = 2, .norm_experts = 1, .sections = {1, 2, 2}, .seed = 128}},
    {"qwen3vlmoe", true, /* the same, interleaved */
     {.arch = "qwen3vlmoe", .n_layer = 2, .d_model = 32, .n_head = 3, .n_kv_head = 1, .d_ff = 16, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 18, .n_expert = 12, .n_expert_used = 3, .rope_base = 1000000,
      .sections = {3, 3, 3}, .seed = 129}},
    {"hunyuan-moe", true, /* norms after the rotation */
     {.arch = "hunyuan-moe", .n_layer = 2, .d_model = 48, .n_head = 3, .n_kv_head = 1, .d_ff = 28, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 18, .n_expert = 8, .n_expert_used = 3, .n_shared = 1,
      .d_ff_shared = 44, .tied = true, .seed = 130}},
    {"granitemoe", true, /* scales */
     {.arch = "granitemoe", .n_layer = 2, .d_model = 48, .n_head = 4, .n_kv_head = 2, .d_ff = 24, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 10, .n_expert_used = 4, .d_ff_shared = 40, .attn_scale = 0.05f,
      .embed_scale = 3, .residual_scale = 0.22f, .logit_scale = 0.5f, .tied = true, .seed = 126}},
    {"minimax-m2", true,
     {.arch = "minimax-m2", .n_layer = 2, .d_model = 48, .n_head = 3, .n_kv_head = 1, .d_ff = 24, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 20, .rope_dim = 10, .n_expert = 16, .n_expert_used = 4,
      .expert_bias = true, .gating = 2, .rope_base = 5000000, .seed = 132}},
    {"perspective", false, /* recurrences, a torus of experts chosen before the mixing */
     {.arch = "perspective", .n_layer = 5, .d_model = 48, .n_head = 3, .n_kv_head = 1, .d_ff = 32, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 12, .n_expert_used = 1, .d_ff_dense = 60, .recur_rank = 20,
      .recur_period = 4, .log_decay_min = -0.5f, .route = "mod", .route_at = "pre", .window = 11, .embed_scale = 3,
      .tied = true, .seed = 133}},
    {"perspective-angle", false, /* chosen after it, by an angle; a rank wider than the heads, all attention seen */
     {.arch = "perspective", .n_layer = 3, .d_model = 32, .n_head = 2, .n_kv_head = 2, .d_ff = 24, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 16, .n_expert_used = 1, .d_ff_dense = 40, .recur_rank = 48,
      .recur_period = 2, .route = "angle", .route_at = "post", .head_dim = 10, .seed = 134}},
    {"perspective-softmax", false, /* the control of the torus: a router by scores */
     {.arch = "perspective", .n_layer = 4, .d_model = 32, .n_head = 2, .n_kv_head = 1, .d_ff = 24, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_F16, .n_expert = 8, .n_expert_used = 2, .d_ff_dense = 40, .recur_rank = 16,
      .recur_period = 3, .route = "softmax", .route_at = "pre", .window = 9, .seed = 135}},
    {"perspective-dense", false, /* the control of the experts */
     {.arch = "perspective", .n_layer = 4, .d_model = 64, .n_head = 4, .n_kv_head = 1, .d_ff = 96, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_Q8_0, .recur_rank = 7, .recur_period = 4, .window = 64, .seed = 136}},
    {"perspective-attention", false, /* the control of the recurrence */
     {.arch = "perspective", .n_layer = 4, .d_model = 32, .n_head = 4, .n_kv_head = 1, .d_ff = 24, .n_vocab = 290,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .n_expert = 8, .n_expert_used = 1, .d_ff_dense = 40, .recur_period = 4,
      .route = "angle", .route_at = "pre", .window = 16, .seed = 137}},
    {"gemma4-experts", false, /* experts beside a dense network, with norms of their own */
     {.arch = "gemma4", .n_layer = 3, .d_model = 48, .n_head = 4, .n_kv_head = 2, .d_ff = 24, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 16, .n_expert = 8, .n_expert_used = 3, .d_ff_dense = 64,
      .window = 9, .window_pattern = 3, .rope_base = 1000000, .rope_freqs = true, .tied = true, .seed = 141}},
    {"grovemoe", true, /* adjugate experts of groups of two */
     {.arch = "grovemoe", .n_layer = 2, .d_model = 48, .n_head = 3, .n_kv_head = 1, .d_ff = 24, .n_vocab = 300,
      .n_ctx = 256, .type = GEODEC_GGML_F32, .head_dim = 16, .n_expert = 8, .n_expert_used = 3, .d_ff_adjugate = 32,
      .adjugate_group = 2, .adjugate_scale = 0.7f, .seed = 138}},
};
/* clang-format on */
enum { N_FAMILIES = sizeof families / sizeof *families };

/* Neither integers nor the float64 evaluation of the library know these; they refuse them. */
static inline bool family_is_perspective(size_t i) { return families[i].s.recur_period > 0; }

#endif
