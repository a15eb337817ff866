#include "session/arch_internal.h"

#include <string.h>

static const geodec__arch table[] = {
    {.name = "llama",
     .models = "Llama 1-3, Mistral, SmolLM2, Mixtral",
     .differs = "rotates adjacent pairs (rows that do not say so: halves); `rope_freqs.weight` divides the frequencies "
                "(Llama 3); optional experts, in one tensor or one each (`blk.N.ffn_gate.E.weight`); optional window "
                "in every layer",
     .adjacent_pairs = true,
     .experts = GEODEC__MAYBE,
     .dense_width = true,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__MAYBE},
    {.name = "qwen2",
     .models = "Qwen 2, 2.5",
     .differs = "biases on query, key and value",
     .must = "attn_q.bias",
     .may = "/output.bias",
     .head = GEODEC__MAYBE},
    {.name = "qwen3",
     .models = "Qwen 3",
     .differs = "RMS norm of each head's query and key",
     .must = "attn_q_norm attn_k_norm",
     .head = GEODEC__MAYBE},
    {.name = "qwen2vl",
     .models = "Qwen 2 VL, 2.5 VL (text only)",
     .differs = "as qwen2; `rope.dimension_sections` has no effect on text",
     .sections = true,
     .head = GEODEC__MAYBE},
    {.name = "qwen3vl",
     .models = "Qwen 3 VL (text only)",
     .differs = "as qwen3; `rope.dimension_sections` has no effect on text",
     .must = "attn_q_norm attn_k_norm",
     .sections = true,
     .head = GEODEC__MAYBE},
    {.name = "granitemoe",
     .models = "Granite 3 with experts",
     .differs = "as granite",
     .adjacent_pairs = true,
     .rotated = GEODEC__ROTATED_TRAINED,
     .experts = GEODEC__MAYBE,
     .dense_width = true,
     .head = GEODEC__MAYBE,
     .shared = GEODEC__SHARED_COUNT,
     .scales = true,
     .scale_key = true,
     .logits = GEODEC__LOGITS_DIVIDED,
     .logit_scale = -1},
    {.name = "gemma2",
     .models = "Gemma 2",
     .differs = "embedding times sqrt(d), GELU (tanh form), norms after both blocks, soft-caps on scores and "
                "logits, every second layer slides (window 4096 unless stated), always tied",
     .must = "post_attention_norm post_ffw_norm",
     .activation = GEODEC_GELU_TANH,
     .windows = GEODEC__ALWAYS,
     .scaled_embedding = true,
     .scale_key = true,
     .default_window = 4096,
     .window_period = 2,
     .attn_softcap = 50,
     .final_softcap = 30,
     .capped_attention = true,
     .capped_logits = true,
     .layers_of_wide_scale = 46},
    {.name = "gemma3",
     .models = "Gemma 3",
     .differs = "as gemma2 without the scores' cap; per-head norms; five of six layers slide and rotate with "
                "base 10000, unscaled",
     .must = "attn_q_norm attn_k_norm post_attention_norm post_ffw_norm",
     .activation = GEODEC_GELU_TANH,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__MAYBE,
     .scaled_embedding = true,
     .scale_key = true,
     .capped_logits = true,
     .window_period = 6,
     .rope_base_local = 10000,
     .layers_of_wide_scale = 62},
    {.name = "gemma3n",
     .models = "Gemma 3n E2B, E4B (text only)",
     .differs =
         "as gemma4, without `layer_output_scale`; four of five layers slide; the residual has `altup.num_inputs` "
         "streams (`altup_*`), of which the first is active, and a path of low rank beside attention (`laurel_*`); "
         "the layers' own inputs are added to the other streams; in the first 10 layers, or as "
         "`activation_sparsity_scale` says, only gates far above their mean count; layers behind the 20th, or the last "
         "`attention.shared_kv_layers`, read the keys and values of earlier layers",
     .must = "attn_q_norm attn_k_norm post_attention_norm post_ffw_norm",
     .activation = GEODEC_GELU_TANH,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__ALWAYS,
     .window_period = 5,
     .scaled_embedding = true,
     .attn_scale = 1,
     .capped_logits = true,
     .final_softcap = 30,
     .rope_base_local = 10000,
     .v_plain = true,
     .layer_inputs = true,
     .inputs_width = 256,
     .layers_with_keys = 20,
     .streams = 4,
     .cut_layers = 10,
     .cut_at = 1.6448533535003662},
    {.name = "gemma4",
     .models = "Gemma 4 E2B, E4B, 26B-A4B, 31B (text only)",
     .differs =
         "as gemma3, with scores that are not scaled, values normed without weights, layers that slide as "
         "`sliding_window_pattern` says, with heads of another width, and a cap on the logits; layers have an input "
         "of their own (`per_layer_token_embd`) and a scale (`layer_output_scale`); the last "
         "`attention.shared_kv_layers` read the keys and values of earlier layers; values may be the keys; optional "
         "experts, weights renormalised and times `ffn_down_exps.scale`, beside a dense network, each with "
         "norms before and after, and a norm before the router (`ffn_gate_inp.scale`)",
     .must = "attn_q_norm attn_k_norm post_attention_norm post_ffw_norm",
     .may = "layer_output_scale ffn_gate_inp.scale ffn_down_exps.scale pre_ffw_norm_2 post_ffw_norm_1 post_ffw_norm_2",
     .experts = GEODEC__MAYBE,
     .fixed_weights = true,
     .fixed_gating = true,
     .shared = GEODEC__SHARED_FFN,
     .mixture_norms = true,
     .activation = GEODEC_GELU_TANH,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__ALWAYS,
     .window_period = 1,
     .scaled_embedding = true,
     .attn_scale = 1,
     .capped_logits = true,
     .final_softcap = 30,
     .rope_base_local = 10000,
     .v_plain = true,
     .values_of_keys = true,
     .layer_inputs = true},
    {.name = "phi3",
     .models = "Phi 3, 3.5, 4",
     .differs = "gate and up in `ffn_up`; `rope_factors_short`/`_long` divide the frequencies, long ones in sessions "
                "longer than `rope.scaling.original_context_length`; `rope.scaling.attn_factor` multiplies cosines and "
                "sines; optional window in every layer",
     .divisors = GEODEC__DIVISORS_TWO,
     .head = GEODEC__MAYBE,
     .windows = GEODEC__MAYBE},
    {.name = "arcee",
     .models = "AFM 4.5B",
     .differs = "rotates adjacent pairs; the feed-forward is plain, with squared ReLU",
     .adjacent_pairs = true,
     .activation = GEODEC_RELU2,
     .plain = true,
     .head = GEODEC__MAYBE},
    {.name = "apertus",
     .models = "Apertus",
     .differs = "norms of each head; the feed-forward is plain, with xIELU",
     .must = "attn_q_norm attn_k_norm",
     .divisors = GEODEC__DIVISORS_ONE,
     .activation = GEODEC_XIELU,
     .plain = true,
     .head = GEODEC__ALWAYS},
    {.name = "baichuan",
     .models = "Baichuan 1 and 2",
     .differs = "7B (32 layers) rotates adjacent pairs, 13B (40 layers) has ALiBi",
     .adjacent_pairs = true,
     .layers_of_rotation = 32,
     .alibi = 8,
     .layers_of_alibi = 40,
     .head = GEODEC__ALWAYS},
    {.name = "bitnet",
     .models = "BitNet b1.58",
     .differs = "norms before the output matrices (`attn_sub_norm`, `ffn_sub_norm`); always tied",
     .must = "attn_sub_norm ffn_sub_norm"},
    {.name = "bloom",
     .models = "BLOOM, BLOOMZ",
     .differs = "layer norms, one behind the embedding; ALiBi; the feed-forward is plain, with GELU",
     .must = "attn_norm.bias ffn_norm.bias attn_qkv.bias attn_output.bias ffn_up.bias ffn_down.bias /token_embd_norm",
     .layer_norm = true,
     .rotated = GEODEC__ROTATED_NONE,
     .alibi = 8,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__MAYBE},
    {.name = "chatglm",
     .models = "ChatGLM 3, GLM 4, GLM Edge",
     .differs = "rotates adjacent pairs of a part of each head; gate and up in `ffn_up`",
     .adjacent_pairs = true,
     .head = GEODEC__MAYBE},
    {.name = "codeshell",
     .models = "CodeShell",
     .differs = "layer norms; the feed-forward is plain, with GELU",
     .must = "attn_norm.bias ffn_norm.bias attn_output.bias ffn_up.bias ffn_down.bias",
     .layer_norm = true,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__ALWAYS},
    {.name = "cohere2",
     .models = "Command R7B, Command A",
     .differs = "layer norms; attention and feed-forward in parallel, behind one norm; three of four layers slide and "
                "rotate adjacent pairs; logits times `logit_scale`; always tied",
     .ffn_norm = "",
     .layer_norm = true,
     .parallel = GEODEC__PARALLEL,
     .adjacent_pairs = true,
     .rotated = GEODEC__ROTATED_SLIDING,
     .windows = GEODEC__ALWAYS,
     .window_period = 4,
     .logits = GEODEC__LOGITS_TIMES,
     .logit_scale = -1},
    {.name = "command-r",
     .models = "Command R and R+, Aya 23",
     .differs =
         "layer norms; attention and feed-forward in parallel, behind one norm; rotates adjacent pairs; R+ norms "
         "each head; logits times `logit_scale`; always tied",
     .may = "attn_q_norm attn_k_norm",
     .ffn_norm = "",
     .layer_norm = true,
     .parallel = GEODEC__PARALLEL,
     .adjacent_pairs = true,
     .logits = GEODEC__LOGITS_TIMES},
    {.name = "deci",
     .models = "DeciLM, Nemotron Super 49B, Ultra 253B",
     .differs = "rotates adjacent pairs; layers may have no attention, or no feed-forward (one matrix in place of "
                "attention, as in Nemotron 51B, is refused)",
     .gaps = true,
     .adjacent_pairs = true,
     .head = GEODEC__MAYBE},
    {.name = "ernie4_5",
     .models = "ERNIE 4.5 0.3B",
     .differs = "rotates adjacent pairs",
     .sections = true,
     .adjacent_pairs = true,
     .head = GEODEC__MAYBE},
    {.name = "paddleocr",
     .models = "PaddleOCR VL (text only)",
     .differs = "`rope.dimension_sections` has no effect on text",
     .sections = true,
     .head = GEODEC__MAYBE},
    {.name = "exaone", .models = "EXAONE 3, 3.5", .differs = "nothing", .head = GEODEC__MAYBE},
    {.name = "exaone4",
     .models = "EXAONE 4",
     .differs = "norms after both blocks, none before; norms of each head; the 32B form (64 layers) slides in three of "
                "four layers, which rotate",
     .must = "attn_q_norm attn_k_norm post_attention_norm post_ffw_norm",
     .attn_norm = "",
     .ffn_norm = "",
     .rotated = GEODEC__ROTATED_SLIDING,
     .windows = GEODEC__MAYBE,
     .default_window = 4096,
     .window_period = 4,
     .layers_of_windows = 64,
     .next_tokens = true,
     .head = GEODEC__MAYBE},
    {.name = "falcon",
     .models = "Falcon 7B, 40B, 180B",
     .differs = "layer norms; attention and feed-forward in parallel, behind one norm or (`attn_norm_2`) two; the "
                "feed-forward is plain, with GELU",
     .may = "attn_norm_2",
     .attn_norm = "attn_norm_2 attn_norm",
     .ffn_norm = "attn_norm",
     .layer_norm = true,
     .parallel = GEODEC__PARALLEL,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__MAYBE},
    {.name = "gemma",
     .models = "Gemma 1, CodeGemma",
     .differs = "embedding times sqrt(d), GELU (tanh form), always tied",
     .activation = GEODEC_GELU_TANH,
     .scaled_embedding = true},
    {.name = "glm4",
     .models = "GLM 4 0414, GLM Z1",
     .differs =
         "rotates adjacent pairs of a part of each head; norms after both blocks; gate and up in `ffn_up`; blocks "
         "that predict further tokens are not read",
     .must = "post_attention_norm post_ffw_norm",
     .section_halves = true,
     .adjacent_pairs = true,
     .next_tokens = true,
     .head = GEODEC__MAYBE},
    {.name = "gpt2",
     .models = "GPT-2, Cerebras-GPT",
     .differs = "learned positions; layer norms; the feed-forward is plain, with GELU",
     .must = "attn_norm.bias ffn_norm.bias attn_qkv.bias attn_output.bias ffn_up.bias ffn_down.bias /position_embd",
     .layer_norm = true,
     .rotated = GEODEC__ROTATED_NONE,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__MAYBE},
    {.name = "gptneox",
     .models = "Pythia, GPT-NeoX, Dolly 2",
     .differs = "layer norms; attention and feed-forward in parallel if `use_parallel_residual`; a part of each head "
                "rotates; the feed-forward is plain, with GELU",
     .must = "attn_norm.bias ffn_norm.bias attn_qkv.bias attn_output.bias ffn_up.bias ffn_down.bias",
     .layer_norm = true,
     .parallel = GEODEC__PARALLEL_BY_KEY,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__ALWAYS},
    {.name = "granite",
     .models = "Granite 3 and 4",
     .differs =
         "rotates adjacent pairs, unless `rope.scaling.finetuned` is false; `embedding_scale`, `attention.scale`, "
         "`residual_scale` times what each half of a layer adds, logits divided by `logit_scale`; optional "
         "experts, weights renormalised, and a shared network",
     .adjacent_pairs = true,
     .rotated = GEODEC__ROTATED_TRAINED,
     .experts = GEODEC__MAYBE,
     .dense_width = true,
     .head = GEODEC__MAYBE,
     .shared = GEODEC__SHARED_COUNT,
     .scales = true,
     .scale_key = true,
     .logits = GEODEC__LOGITS_DIVIDED,
     .logit_scale = -1},
    {.name = "hunyuan-dense",
     .models = "Hunyuan 0.5B to 7B",
     .differs = "norms of each head after the rotation; `rope.scaling.alpha` raises its base",
     .must = "attn_q_norm attn_k_norm",
     .qk_norm_rotated = true,
     .head = GEODEC__MAYBE},
    {.name = "hunyuan_vl",
     .models = "HunyuanOCR (text only)",
     .differs = "as hunyuan-dense; `rope.dimension_sections` has no effect on text",
     .must = "attn_q_norm attn_k_norm",
     .qk_norm_rotated = true,
     .sections = true,
     .head = GEODEC__MAYBE},
    {.name = "internlm2",
     .models = "InternLM 2, 2.5",
     .differs = "rotates adjacent pairs",
     .adjacent_pairs = true,
     .head = GEODEC__ALWAYS},
    {.name = "jais",
     .models = "Jais 13B, 30B",
     .differs = "layer norms; ALiBi; scores divided by the head's width; biases",
     .must = "attn_norm.bias ffn_norm.bias attn_qkv.bias attn_output.bias ffn_up.bias ffn_gate.bias ffn_down.bias",
     .layer_norm = true,
     .rotated = GEODEC__ROTATED_NONE,
     .alibi = -1,
     .scale_by_width = true,
     .head = GEODEC__ALWAYS},
    {.name = "jais2",
     .models = "Jais 2",
     .differs = "layer norms; biases; the feed-forward is plain, with squared ReLU",
     .must = "attn_norm.bias ffn_norm.bias attn_q.bias attn_output.bias ffn_up.bias ffn_down.bias",
     .layer_norm = true,
     .activation = GEODEC_RELU2,
     .plain = true,
     .head = GEODEC__MAYBE},
    {.name = "maincoder",
     .models = "Maincoder 1B",
     .differs = "rotates adjacent pairs; norms of each head after it",
     .must = "attn_q_norm attn_k_norm",
     .adjacent_pairs = true,
     .qk_norm_rotated = true,
     .head = GEODEC__MAYBE},
    {.name = "minicpm",
     .models = "MiniCPM 1B, 2B, MiniCPM 4, 8x2B",
     .differs = "as granite; scales that the file does not state follow width and depth",
     .adjacent_pairs = true,
     .experts = GEODEC__MAYBE,
     .dense_width = true,
     .head = GEODEC__MAYBE,
     .fixed_weights = true,
     .fixed_gating = true,
     .scales = true,
     .embed_scale = 12,
     .deep_scales = true,
     .logits = GEODEC__LOGITS_DIVIDED},
    {.name = "minicpm3",
     .models = "MiniCPM 3",
     .differs = "attention from latent vectors, also of queries (`attn_q_a`); a part of each head rotates, by "
                "`rope_factors_short`/`_long` as in phi3; scales of embedding, halves and logits as minicpm",
     .may = "attn_q_a attn_q_a_norm attn_q_b attn_kv_a_mqa attn_kv_a_norm attn_kv_b attn_k_b attn_v_b",
     .latent = GEODEC__LATENT_PLAIN,
     .divisors = GEODEC__DIVISORS_TWO,
     .experts = GEODEC__NEVER,
     .head = GEODEC__MAYBE,
     .scales = true,
     .embed_scale = 12,
     .deep_scales = true,
     .logits = GEODEC__LOGITS_TIMES},
    {.name = "mistral3",
     .models = "Ministral 3, Mistral Small 3, Devstral 2",
     .differs = "rotates adjacent pairs; queries grow with the position by `attention.temperature_scale`; optional "
                "experts, weights renormalised",
     .adjacent_pairs = true,
     .temperature = GEODEC__TEMPERATURE_KEYS,
     .experts = GEODEC__MAYBE,
     .head = GEODEC__MAYBE,
     .dense_width = true,
     .fixed_weights = true,
     .fixed_gating = true},
    {.name = "mpt",
     .models = "MPT, SEA-LION, Replit Code",
     .differs =
         "optional learned positions; layer norms; ALiBi; queries, keys and values within `attention.clamp_kqv`; "
         "optional norms of query and key; the feed-forward is plain, with GELU",
     .may = "/position_embd attn_q_norm attn_k_norm ffn.act.scales",
     .layer_norm = true,
     .rotated = GEODEC__ROTATED_NONE,
     .alibi = -1,
     .clamped = true,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__MAYBE},
    {.name = "nanbeige",
     .models = "Nanbeige 4",
     .differs = "rotates adjacent pairs",
     .adjacent_pairs = true,
     .head = GEODEC__MAYBE},
    {.name = "nemotron",
     .models = "Nemotron 4, Minitron",
     .differs = "layer norms; a part of each head rotates; the feed-forward is plain, with squared ReLU",
     .must = "attn_norm.bias ffn_norm.bias",
     .layer_norm = true,
     .activation = GEODEC_RELU2,
     .plain = true,
     .head = GEODEC__ALWAYS},
    {.name = "olmo",
     .models = "OLMo 1",
     .differs = "layer norms without weights; rotates adjacent pairs; queries, keys and values within "
                "`attention.clamp_kqv`",
     .layer_norm = true,
     .plain_norms = true,
     .adjacent_pairs = true,
     .clamped = true,
     .head = GEODEC__MAYBE},
    {.name = "olmo2",
     .models = "OLMo 2, OLMo 3",
     .differs = "norms after both blocks, none before; query and key normed over the whole width; in OLMo 3 three of "
                "four layers slide, unscaled",
     .must = "attn_q_norm attn_k_norm post_attention_norm post_ffw_norm",
     .attn_norm = "",
     .ffn_norm = "",
     .local_unscaled = true,
     .windows = GEODEC__MAYBE,
     .window_period = 4,
     .head = GEODEC__ALWAYS},
    {.name = "openelm",
     .models = "OpenELM",
     .differs = "norms of each head; always tied",
     .must = "attn_q_norm attn_k_norm"},
    {.name = "orion",
     .models = "Orion 14B",
     .differs = "layer norms",
     .must = "attn_norm.bias ffn_norm.bias",
     .layer_norm = true,
     .head = GEODEC__ALWAYS},
    {.name = "pangu-embedded",
     .models = "openPangu Embedded",
     .differs = "a bias on attention's output",
     .must = "attn_output.bias",
     .head = GEODEC__MAYBE},
    {.name = "phi2",
     .models = "Phi 1, 1.5, 2",
     .differs =
         "layer norms; attention and feed-forward in parallel, behind one norm; a part of each head rotates; the "
         "feed-forward is plain, with GELU; biases, also of the logits",
     .must = "attn_norm.bias attn_output.bias ffn_up.bias ffn_down.bias /output.bias",
     .ffn_norm = "",
     .layer_norm = true,
     .parallel = GEODEC__PARALLEL,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__ALWAYS},
    {.name = "plamo",
     .models = "PLaMo 13B",
     .differs = "attention and feed-forward in parallel, behind one norm",
     .ffn_norm = "",
     .parallel = GEODEC__PARALLEL,
     .head = GEODEC__ALWAYS},
    {.name = "plamo3",
     .models = "PLaMo 3",
     .differs = "norms of each head and after both blocks; seven of eight layers slide, with a base of their own; gate "
                "and up in `ffn_up`",
     .must = "attn_q_norm attn_k_norm post_attention_norm post_ffw_norm",
     .rope_base_local = 10000,
     .windows = GEODEC__MAYBE,
     .window_period = 8,
     .head = GEODEC__MAYBE},
    {.name = "qwen",
     .models = "Qwen 1",
     .differs = "biases on query, key and value; `feed_forward_length` counts gate and up",
     .must = "attn_qkv.bias",
     .full_qkv = true,
     .half_length = true,
     .head = GEODEC__ALWAYS},
    {.name = "plm",
     .models = "PLM 1.8B",
     .differs = "attention from latent vectors; a part of each head rotates adjacent pairs; the feed-forward is plain, "
                "with squared ReLU; always tied",
     .may = "attn_q attn_kv_a_mqa attn_kv_a_norm attn_kv_b attn_k_b attn_v_b",
     .adjacent_pairs = true,
     .latent = GEODEC__LATENT_PLAIN,
     .experts = GEODEC__NEVER,
     .head = GEODEC__NEVER,
     .activation = GEODEC_RELU2,
     .plain = true},
    {.name = "refact",
     .models = "Refact 1.6B",
     .differs = "ALiBi; without a dense network the feed-forward is the activation alone, whatever experts there are",
     .may = "ffn_gate_inp ffn_gate_exps ffn_up_exps ffn_down_exps",
     .bare = true,
     .rotated = GEODEC__ROTATED_NONE,
     .alibi = 8,
     .head = GEODEC__MAYBE},
    {.name = "seed_oss",
     .models = "Seed-OSS 36B",
     .differs = "the norm before the feed-forward is `post_attention_norm`",
     .ffn_norm = "post_attention_norm",
     .head = GEODEC__MAYBE},
    {.name = "smollm3",
     .models = "SmolLM 3",
     .differs = "three of four layers rotate adjacent pairs",
     .adjacent_pairs = true,
     .rotated = GEODEC__ROTATED_BUT_FOURTH,
     .head = GEODEC__MAYBE},
    {.name = "stablelm",
     .models = "StableLM 3B, StableLM 2",
     .differs =
         "layer norms; optional norms of each head; attention and feed-forward in parallel where the feed-forward "
         "has no norm; a part of each head rotates",
     .must = "attn_norm.bias",
     .may = "ffn_norm attn_q_norm attn_k_norm",
     .layer_norm = true,
     .parallel = GEODEC__PARALLEL_BY_NORM,
     .head = GEODEC__ALWAYS},
    {.name = "starcoder",
     .models = "StarCoder, SantaCoder",
     .differs = "as gpt2",
     .must = "attn_norm.bias ffn_norm.bias attn_qkv.bias attn_output.bias ffn_up.bias ffn_down.bias /position_embd",
     .layer_norm = true,
     .rotated = GEODEC__ROTATED_NONE,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__MAYBE},
    {.name = "starcoder2",
     .models = "StarCoder 2",
     .differs = "layer norms; biases; the feed-forward is plain, with GELU; optional window in every layer",
     .must = "attn_norm.bias ffn_norm.bias attn_output.bias ffn_up.bias ffn_down.bias",
     .windows = GEODEC__MAYBE,
     .layer_norm = true,
     .activation = GEODEC_GELU_TANH,
     .plain = true,
     .head = GEODEC__MAYBE},
    {.name = "talkie",
     .models = "Talkie 13B",
     .differs = "norms without weights, one behind the embedding, which is added again in every layer times "
                "`layer_output_scale`; norms of each head after the rotation, of queries with a factor for each",
     .must = "attn_q_norm layer_output_scale",
     .embed_norm = true,
     .plain_norms = true,
     .qk_norm_rotated = true,
     .logits = GEODEC__LOGITS_TIMES,
     .logit_scale = -1,
     .head = GEODEC__ALWAYS},
    {.name = "xverse",
     .models = "XVERSE",
     .differs = "rotates adjacent pairs",
     .adjacent_pairs = true,
     .head = GEODEC__ALWAYS},
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
};

/* Row i, from 0; NULL after the last one. Those of mixtures and those with recurrent layers come after the others
 * (arch_mixtures.c, arch_recurrent.c). */
static const geodec__arch *row_at(size_t i)
{
    const size_t n = sizeof table / sizeof *table, all = n + geodec__arch_mixtures;
    if (i < n) return &table[i];
    if (i < all) return &geodec__arch_mixture[i - n];
    return i < all + geodec__arch_recurrents ? &geodec__arch_recurrent[i - all] : NULL;
}

const geodec__arch *geodec__arch_find(const char *name)
{
    for (size_t i = 0; row_at(i); i++)
        if (strcmp(row_at(i)->name, name) == 0) return row_at(i);
    return NULL;
}

bool geodec_arch_at(int i, geodec_architecture *out)
{
    const geodec__arch *a = i < 0 ? NULL : row_at((size_t)i);
    if (a) *out = (geodec_architecture){a->name, a->models, a->differs};
    return a != NULL;
}

const char *geodec__model_part_beyond(const geodec_model *m)
{
    const geodec_model_config *c = &m->config;
    if (c->n_streams > 0) return "a residual of several streams";
    if (c->layer_norm) return "layer norms";
    if (c->parallel) return "parallel halves";
    if (c->plain) return "a feed-forward without a gate";
    if (c->activation != GEODEC_SILU && c->activation != GEODEC_GELU_TANH) return "an activation of its own";
    if (c->alibi != 0) return "ALiBi";
    if (c->qkv_clamp != 0) return "clamped queries";
    if (c->temperature != 0) return "a temperature by position";
    if (c->chunks) return "chunks of attention";
    if (c->value_scale != 0 || c->feed_scale != 0) return "scaled halves";
    if (c->yarn != 0) return "rotations scaled by YaRN";
    if (c->rope_local_scaled) return "sliding layers with a base of their own, scaled";
    if (c->rope_dim_local != 0 && c->rope_dim_local != c->rope_dim) return "rotations of other widths";
    if (c->gating == GEODEC_GATING_CHOSEN || c->route_raw || c->weighed_input) return "a router of its own";
    if (c->d_ff_adjugate > 0) return "adjugate experts";
    if (m->embed_norm.weight || m->positions.data || m->head_bias) return "an entry or a head of its own";
    for (int32_t i = 0; i < c->n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        if (!l->attn_norm.weight || !l->ffn_norm.weight) return "halves without a norm before them";
        if (l->q_norm.each || l->k_norm.each || l->attn_norm.bias || l->ffn_norm.bias) return "norms with more weights";
        if (l->v_norm.weight || l->mixed_norm.weight || l->hidden_norm.weight || l->expert_norm.weight)
            return "more norms";
        if (l->latent.kv_a.data) return "attention from latent vectors";
        if (l->attn_gate.data || l->gated_query) return "gates of attention";
        if (l->sinks) return "sinks of attention";
        if (l->gate_bias || l->up_bias || l->down_bias || (l->router_bias && !l->expert_place))
            return "biases of the feed-forward";
        if (l->stream_scale != 0 || l->input_gate.data) return "layers with a scale or an input of their own";
        if (l->laurel_in.data || l->cut) return "paths beside attention or cut gates";
        if (l->rope < 0) return "layers without rotation";
        if (l->n_head != c->n_head || l->n_kv_head != c->n_kv_head || l->head_dim != c->head_dim ||
            l->v_dim != l->head_dim || l->kv_layer != i)
            return "layers of different heads";
    }
    return NULL;
}

const char *geodec__model_peculiarity(const geodec_model *m)
{
    const geodec_model_config *c = &m->config;
    if (!m->layer) return "weights in integers";
    if (m->store) return "its experts in a store";
    if (strcmp(c->arch, table[0].name) != 0) return c->arch;
    if (geodec__model_part_beyond(m)) return geodec__model_part_beyond(m);
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
