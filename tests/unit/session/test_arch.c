/* Configurations from the keys of a file by the table of architectures, with numbers from the models' descriptions. */
#include "base/mem.h"
#include "session/arch_internal.h"
#include "session/model_internal.h"
#include "session/opened.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

static void windows_are(const geodec_model *m, const int32_t *window)
{
    for (int32_t i = 0; i < m->config.n_layer; i++)
        cr_assert_eq(m->layer[i].window, window[i], "%s: layer %d has window %d", m->config.arch, i,
                     m->layer[i].window);
}

Test(model_arch, every_family_is_in_the_table)
{
    geodec_architecture row, other;
    int rows = 0;
    for (; geodec_arch_at(rows, &row); rows++) {
        cr_assert(*row.models && *row.differs, "%s", row.name);
        for (int i = 0; i < rows; i++) cr_assert(geodec_arch_at(i, &other) && strcmp(row.name, other.name) != 0);
    }
    cr_assert_geq(rows, 80);
    cr_assert_null(geodec__arch_find("LLAMA"));
    cr_assert_null(geodec__arch_find("llam"));
    for (size_t i = 0; i < N_FAMILIES; i++) {
        geodec_model *m = opened_model(&families[i].s);
        const char *arch = families[i].s.arch ? families[i].s.arch : "llama";
        cr_assert_str_eq(m->config.arch, arch);
        const bool adjacent =
            synthetic_in(&families[i].s, " llama deepseek bailingmoe ernie4_5-moe granitemoe perspective ");
        cr_assert_eq(m->config.rope_pairs, adjacent ? GEODEC_ROPE_ADJACENT : GEODEC_ROPE_HALVES);
        cr_assert_eq(m->config.activation, strncmp(arch, "gemma", 5) == 0 ? GEODEC_GELU_TANH : GEODEC_SILU);
        const geodec__norm *q = &m->layer[0].q_norm;
        if (q->weight)
            cr_assert_eq(q->part, synthetic_in(&families[i].s, " olmoe minimax-m2 ") ? q->width : m->config.head_dim);
        geodec_model_close(m);
    }
}

Test(model_arch, windows)
{
    geodec_model *m = opened_family("gemma2");
    windows_are(m, (int32_t[]){11, 0, 11, 0});
    geodec_model_close(m);
    m = opened_family("gemma3");
    windows_are(m, (int32_t[]){9, 9, 9, 9, 9, 0, 9});
    for (int32_t i = 0; i < 7; i++) cr_assert_eq(m->layer[i].rope, i == 5 ? 0 : 1);
    cr_assert(m->config.rope_base == 1e6 && m->config.rope_base_local == 1e4 && m->config.rope_scale == 0.125);
    geodec_model_close(m);
    m = opened_family("gemma3-wide");
    windows_are(m, (int32_t[]){20, 20, 0});
    cr_assert_eq(m->config.rope_base_local, 20000.0);
    geodec_model_close(m);
    m = opened_family("mistral");
    windows_are(m, (int32_t[]){13, 13});
    geodec_model_close(m);
    m = opened_family("phi3-window");
    windows_are(m, (int32_t[]){10, 10});
    geodec_model_close(m);
    m = opened_family("qwen2");
    windows_are(m, (int32_t[]){0, 0});
    geodec_model_close(m);
    /* gemma2's default window, gemma3 without any */
    synthetic s = *family_named("gemma2");
    s.window = 0;
    m = opened_model(&s);
    windows_are(m, (int32_t[]){4096, 0, 4096, 0});
    geodec_model_close(m);
    s = *family_named("gemma3");
    s.window = 0;
    m = opened_model(&s);
    windows_are(m, (int32_t[]){0, 0, 0, 0, 0, 0, 0});
    for (int32_t i = 0; i < 7; i++) cr_assert_eq(m->layer[i].rope, 0);
    geodec_model_close(m);
}

Test(model_arch, scales_and_caps)
{
    synthetic s = *family_named("gemma2");
    geodec_model *m = opened_model(&s);
    cr_assert_float_eq(m->config.embed_scale, sqrt(40), 1e-6);
    cr_assert(m->config.attn_scale == 0 && m->config.attn_softcap == 1.5f && m->config.final_softcap == 2);
    geodec_model_close(m);
    s.attn_softcap = s.final_softcap = 0;
    s.attn_scale = 0.5f;
    m = opened_model(&s);
    cr_assert(m->config.attn_scale == 0.5 && m->config.attn_softcap == 50 && m->config.final_softcap == 30);
    geodec_model_close(m);
    /* the 27B forms scale queries by the width of a head that would fill the model */
    static const struct {
        const char *name;
        int32_t layers;
    } wide[] = {{"gemma2", 46}, {"gemma3", 62}};
    for (int i = 0; i < 2; i++) {
        s = *family_named(wide[i].name);
        s.d_model = s.d_ff = 8;
        s.n_head = 2;
        s.n_kv_head = 1;
        s.head_dim = 6;
        s.n_layer = wide[i].layers;
        m = opened_model(&s);
        cr_assert_float_eq(m->config.attn_scale, 0.5, 1e-12);
        geodec_model_close(m);
    }
    m = opened_family("qwen3");
    cr_assert(m->config.embed_scale == 0 && m->config.attn_scale == 0 && m->config.final_softcap == 0);
    geodec_model_close(m);
}

Test(model_arch, rotations)
{
    /* long-rope: sessions up to the original context use the short factors, longer ones the long factors */
    geodec_model *m = opened_family("phi3-short");
    cr_assert(m->rope_divisor[0] && m->rope_divisor[1] && m->config.rope_n_ctx_original == 256);
    cr_assert_eq(m->config.rope_magnitude, 1.19f);
    for (int i = 0; i < m->config.rope_dim / 2; i++) {
        const double plain = pow(10000, -2.0 * i / m->config.rope_dim);
        cr_assert_float_eq(geodec__rope_step(m, 256, 0, i) * (double)m->rope_divisor[0][i], plain, 1e-15);
        cr_assert_float_eq(geodec__rope_step(m, 257, 0, i) * (double)m->rope_divisor[1][i], plain, 1e-15);
        cr_assert_neq(m->rope_divisor[0][i], m->rope_divisor[1][i]);
    }
    geodec_model_close(m);
    m = opened_family("gemma3");
    cr_assert_float_eq(geodec__rope_step(m, 256, 0, 3), pow(1e6, -6.0 / 64) / 8, 1e-15);
    cr_assert_float_eq(geodec__rope_step(m, 256, 1, 3), pow(1e4, -6.0 / 64), 1e-15);
    geodec_model_close(m);
    m = opened_family("llama-linear");
    cr_assert_eq(m->config.rope_scale, 0.25);
    geodec_model_close(m);
    synthetic s = *family_named("llama-linear");
    s.rope_type = "none"; /* then the factor has no effect */
    m = opened_model(&s);
    cr_assert_eq(m->config.rope_scale, 0.0);
    geodec_model_close(m);
}

/* The base of the sliding layers is a key of every architecture with windows; they are scaled as the others are, unless
 * the row says otherwise. */
Test(model_arch, base_of_sliding_layers)
{
    geodec_err err = {0};
    synthetic s = *family_named("gemma2");
    s.rope_base_swa = 300;
    s.rope_factor = 4;
    s.attn_factor = 1.25f;
    geodec_model *m = opened_model(&s), *none = NULL;
    const double dim = m->config.rope_dim;
    cr_assert(m->layer[0].rope == 1 && m->layer[1].rope == 0 && m->config.rope_local_scaled);
    cr_assert_float_eq(geodec__rope_step(m, 256, 0, 2), pow(10000, -4 / dim) / 4, 1e-15);
    cr_assert_float_eq(geodec__rope_step(m, 256, 1, 2), pow(300, -4 / dim) / 4, 1e-15);
    geodec_session *session = opened_session(m, (geodec_session_options){.n_ctx = 8});
    int32_t token = 5;
    test_ok(geodec_forward(session, &(geodec_batch){.n = 1, .token = &token}, NULL, NULL, &err), &err);
    cr_assert(session->cosine[0] == 1.25f && session->cosine[session->rope_rows * m->config.rope_dim / 2] == 1.25f);
    geodec_session_destroy(session);
    geodec_model_close(m);
    s.rope_base_swa = 10000; /* the others' */
    m = opened_model(&s);
    cr_assert(m->layer[0].rope == 0 && m->config.rope_base_local == 0);
    geodec_model_close(m);
    s.rope_base_swa = 300;
    s.rope_type = "yarn";
    const char *path = test_tmp("yarn.gguf");
    test_ok(synthetic_write(path, &s, &err), &err);
    cr_assert_eq(geodec_model_open(path, &none, &err), GEODEC_UNSUPPORTED);
    geodec_err_clear(&err);
}

/* A file may have a divisor for each pair of the head though a part of them rotates (Step 3.5 Flash). */
Test(model_arch, divisors_of_pairs_that_do_not_rotate)
{
    synthetic s = {.n_layer = 1, .d_model = 8, .n_head = 2, .n_kv_head = 1, .d_ff = 16, .n_vocab = 300, .n_ctx = 64};
    s.head_dim = 16;
    s.rope_dim = 8;
    s.extra = "rope_freqs.weight"; /* of d_model numbers */
    geodec_model *m = opened_model(&s);
    for (int i = 0; i < 4; i++)
        cr_assert_float_eq(geodec__rope_step(m, 64, 0, i) * (double)m->rope_divisor[0][i], pow(10000, -i / 4.0), 1e-15);
    geodec_model_close(m);
}

/* A pattern that is one number is a flag for all layers where the rows of files have a flag for each. Dense layers that
 * do not slide rotate in Cohere 2 only. */
Test(model_arch, flags_and_dense_layers)
{
    synthetic s = *family_named("dots1");
    s.n_layer = 4;
    s.window = 5;
    s.arch = "exaone-moe";
    s.qk_norm = true;
    s.n_dense = 2;
    s.window_pattern = 2;
    geodec_model *m = opened_model(&s);
    for (int32_t i = 0; i < 4; i++) cr_assert_eq(m->layer[i].rope, i % 2 == 0 ? 0 : -1);
    geodec_model_close(m);
    s.arch = "mimo2";
    s.qk_norm = false;
    s.n_shared = s.d_ff_shared = 0;
    for (s.window_pattern = 1; s.window_pattern < 3; s.window_pattern++) {
        m = opened_model(&s);
        windows_are(m, (int32_t[]){5, 5, 5, 5});
        geodec_model_close(m);
    }
}

/* GLM-4.1V has positions of images, and halves in place of the adjacent pairs of other models of its name. */
Test(model_arch, sections_of_glm4)
{
    synthetic s = {.arch = "glm4", .n_layer = 1, .d_model = 8, .n_head = 2, .n_kv_head = 1, .d_ff = 16, .n_vocab = 300};
    s.n_ctx = 64;
    for (int i = 0; i < 2; i++) {
        s.sections[0] = s.sections[1] = i;
        geodec_model *m = opened_model(&s);
        cr_assert_eq(m->config.rope_pairs, i == 0 ? GEODEC_ROPE_ADJACENT : GEODEC_ROPE_HALVES);
        geodec_model_close(m);
    }
}

/* That a model was not trained with scaled rotations turns them off in Granite, where the key means this, and nowhere
 * else. */
Test(model_arch, rotations_that_were_not_trained)
{
    static const char *const names[] = {"granitemoe", "gemma2", "qwen2"};
    for (int i = 0; i < 3; i++) {
        char key[64];
        synthetic s = *family_named(names[i]);
        (void)snprintf(key, sizeof key, "%s.rope.scaling.finetuned", names[i]);
        s.number_key = key;
        for (s.number_value = 0; s.number_value < 2; s.number_value++) {
            geodec_model *m = opened_model(&s);
            cr_assert_eq(m->layer[0].rope, i == 0 && s.number_value == 0 ? -1 : 0, "%s", names[i]);
            geodec_model_close(m);
        }
    }
}

/* The key that gives the width of an expert, where it is read, and what stands for it. */
Test(model_arch, width_of_experts)
{
    synthetic s = *family_named("qwen2moe");
    s.d_ff_dense = s.n_expert_used * s.d_ff; /* feed_forward_length */
    s.skip = "qwen2moe.expert_feed_forward_length";
    geodec_model *m = opened_model(&s);
    cr_assert_eq(m->config.d_ff, s.d_ff);
    geodec_model_close(m);
    s = *family_named("minimax-m2");
    s.skip = "minimax-m2.expert_feed_forward_length";
    m = opened_model(&s);
    cr_assert_eq(m->config.d_ff, s.d_ff);
    geodec_model_close(m);
    s = *family_named("mixtral");
    s.number_key = "llama.expert_feed_forward_length";
    s.number_value = s.d_ff + 1;
    m = opened_model(&s);
    cr_assert_eq(m->config.d_ff, s.d_ff);
    geodec_model_close(m);
}

Test(model_arch, bias_of_the_logits)
{
    synthetic s = *family_named("qwen2");
    s.d_model = s.n_vocab = 320;
    s.extra = "output.bias"; /* of d_model numbers */
    geodec_model *m = opened_model(&s);
    cr_assert(m->head_bias);
    geodec_model_close(m);
}

Test(model_arch, experts)
{
    synthetic s = *family_named("olmoe");
    geodec_model *m = opened_model(&s);
    cr_assert(m->config.expert_keep_weights && m->config.expert_scale == 0);
    geodec_model_close(m);
    s.norm_experts = 1;
    m = opened_model(&s);
    cr_assert_not(m->config.expert_keep_weights);
    geodec_model_close(m);
    s = *family_named("mixtral");
    s.norm_experts = -1;
    s.number_key = "llama.expert_shared_count"; /* none is fine */
    m = opened_model(&s);
    cr_assert(m->config.expert_keep_weights);
    geodec_model_close(m);
    m = opened_family("qwen3moe");
    cr_assert(!m->config.expert_keep_weights && m->config.n_expert == 128 && m->config.n_expert_used == 8);
    geodec_model_close(m);
}

/* A key that would change the function and is not read (Step 3.5 Flash clamps experts of its last layers). */
Test(model_arch, keys_that_are_not_read)
{
    static const char *const keys[] = {"llama.swiglu_clamp_exp", "llama.swiglu_clamp_shexp",
                                       "llama.rope.scaling.yarn_ext_factor"};
    enum { KEYS = sizeof keys / sizeof *keys };
    const char *path = test_tmp("keys.gguf");
    for (int i = 0; i < 4 * KEYS; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        synthetic s = *family_named("mixtral");
        const char *key = s.number_key = keys[i / 4];
        s.number_of_layers = i & 1;
        s.number_value = i & 2 ? 7 : 0;
        test_ok(synthetic_write(path, &s, &err), &err);
        cr_expect_eq(geodec_model_open(path, &m, &err), i & 2 ? GEODEC_UNSUPPORTED : GEODEC_OK, "%s, %d", key, i);
        geodec_err_clear(&err);
        geodec_model_close(m);
    }
}

/* Keys and tensors of adjugate experts, and of norms around experts, that are not there, or do not fit. */
Test(model_arch, parts_of_mixtures_that_are_refused)
{
    static const struct {
        const char *family, *skip, *resize, *number;
        int32_t value;
    } list[] = {{"grovemoe", "grovemoe.experts_per_group", NULL, NULL, 0},
                {"grovemoe", "grovemoe.expert_group_scale", NULL, NULL, 0},
                {"grovemoe", "grovemoe.experts_per_group", NULL, "grovemoe.experts_per_group", 3}, /* of 8 */
                {"grovemoe", "grovemoe.experts_per_group", NULL, "grovemoe.experts_per_group", 0},
                {"grovemoe", "grovemoe.experts_per_group", NULL, "grovemoe.experts_per_group", 1},
                {"grovemoe", "blk.1.ffn_up_chexps.weight", NULL, NULL, 0},
                {"grovemoe", NULL, "blk.0.ffn_down_chexps.weight", NULL, 0},
                {"gemma4-experts", "blk.0.ffn_gate_inp.scale", NULL, NULL, 0},
                {"gemma4-experts", NULL, "blk.2.ffn_down_exps.scale", NULL, 0},
                {"gemma4-experts", "blk.1.pre_ffw_norm_2.weight", NULL, NULL, 0},
                {"gemma4-experts", "blk.1.post_ffw_norm_1.weight", NULL, NULL, 0},
                {"gemma4-experts", "blk.1.ffn_up.weight", NULL, NULL, 0},
                {"gemma4-experts", NULL, NULL, "gemma4.rope.dimension_count_swa", 18}};
    const char *path = test_tmp("parts.gguf");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        synthetic s = *family_named(list[i].family);
        s.skip = list[i].skip;
        s.resize = list[i].resize;
        s.number_key = list[i].number;
        s.number_value = list[i].value;
        test_ok(synthetic_write(path, &s, &err), &err);
        const geodec_status st = geodec_model_open(path, &m, &err);
        cr_expect(st == GEODEC_FORMAT || st == GEODEC_LIMIT, "case %d: %d", (int)i, (int)st);
        geodec_err_clear(&err);
        geodec_model_close(m);
    }
    /* one that may be missing */
    synthetic s = *family_named("gemma4-experts");
    s.skip = "blk.1.ffn_down_exps.scale";
    geodec_model *m = opened_model(&s);
    cr_expect(m->layer[0].expert_factor && !m->layer[1].expert_factor && m->layer[1].router_norm.weight);
    geodec_model_close(m);
}

Test(model_arch, layers_of_mixtures)
{
    geodec_model *m = opened_family("qwen2moe");
    const geodec_model_config *c = &m->config;
    cr_assert(c->expert_keep_weights && c->gating == GEODEC_GATING_SOFTMAX && c->d_ff == 24 && c->d_ff_shared == 57);
    cr_assert(m->layer[1].shared_factor.data && m->layer[1].shared_up.rows == 57 && !m->layer[1].expert_bias);
    geodec_model_close(m);
    synthetic s =
        *family_named("qwen2moe"); /* without its own key the shared network is as wide as feed_forward_length */
    s.d_ff_dense = s.d_ff_shared;
    s.skip = "qwen2moe.expert_shared_feed_forward_length";
    m = opened_model(&s);
    cr_assert(m->config.d_ff_shared == 57 && m->config.d_ff_dense == 0);
    geodec_model_close(m);
    m = opened_family("deepseek");
    c = &m->config;
    cr_assert(c->n_dense == 1 && c->d_ff == 20 && c->d_ff_dense == 70 && c->d_ff_shared == 40);
    cr_assert(!m->layer[0].router.data && m->layer[0].up.rows == 70 && m->layer[1].router.data);
    cr_assert(c->expert_keep_weights && c->expert_scale == 1.5f && !m->layer[1].shared_factor.data);
    geodec_model_close(m);
    m = opened_family("dots1");
    c = &m->config;
    cr_assert(c->gating == GEODEC_GATING_SIGMOID && !c->expert_keep_weights && m->layer[2].expert_bias &&
              !m->layer[1].expert_bias);
    geodec_model_close(m);
    s = *family_named("dots1");
    s.gating = 1;
    m = opened_model(&s);
    cr_assert_eq(m->config.gating, GEODEC_GATING_SOFTMAX);
    geodec_model_close(m);
    m = opened_family("bailingmoe2");
    c = &m->config;
    cr_assert(c->n_layer == 3 && c->n_layer_next == 1 && c->n_expert_group == 4 && c->n_expert_group_used == 2);
    cr_assert(c->d_ff_shared == 28 && c->rope_dim == 6 && c->head_dim == 12);
    geodec_model_close(m);
    m = opened_family("glm4moe");
    cr_assert(m->config.gating == GEODEC_GATING_SIGMOID && m->layer[0].k_bias && !m->layer[0].q_norm.weight &&
              !m->layer[0].attn_post_norm.weight);
    geodec_model_close(m);
    m = opened_family("ernie4_5-moe-step");
    for (int32_t i = 0; i < 4; i++) cr_assert_eq(m->layer[i].router.data != NULL, i % 2 == 1);
    cr_assert_eq(m->config.d_ff_shared, 0);
    geodec_model_close(m);
    m = opened_family("granitemoe");
    c = &m->config;
    cr_assert(c->embed_scale == 3 && c->residual_scale == 0.22f && c->logit_scale == 0.5f);
    cr_assert(fabs(c->attn_scale - 0.05) < 1e-7 && c->d_ff == 24 && c->d_ff_shared == 40);
    geodec_model_close(m);
}

/* The choice by hand: ties, a bias that is not in the weights, groups. */
Test(model_arch, choice_of_experts)
{
    enum { N = 12, USED = 4, PAD = 16 };
    geodec_model *m = opened_family("bailingmoe2");
    geodec_err err = {0};
    geodec_session *s = NULL;
    float bias[PAD] = {0}, p[2 * PAD], weight[USED];
    int32_t id[USED];
    geodec__layer l = m->layer[1];
    test_ok(geodec_session_create(m, &(geodec_session_options){.max_batch = 1}, &s, &err), &err);
    l.expert_bias = bias;
    memset(p, 0, sizeof p); /* all sigmoids are 1/2: the first experts of the first groups */
    geodec__experts_choose(s, &l, 0, p, id, weight);
    for (int j = 0; j < USED; j++) cr_assert(id[j] == j && weight[j] == 2.5f / USED);
    /* experts 5 and 9 are best, but their groups (3 .. 5, 9 .. 11) have weaker seconds than the others */
    static const float logits[N] = {1, 1, -9, -9, -9, 2, 1, 1, -9, 2, -9, -9};
    memcpy(p, logits, sizeof logits);
    geodec__experts_choose(s, &l, 0, p, id, weight);
    cr_assert(id[0] == 0 && id[1] == 1 && id[2] == 6 && id[3] == 7);
    bias[4] = 0.9f; /* opens group 3 .. 5, and puts expert 4 first with its small weight */
    memcpy(p, logits, sizeof logits);
    geodec__experts_choose(s, &l, 0, p, id, weight);
    cr_assert(id[0] == 4 && id[1] == 5 && id[2] == 0 && id[3] == 1);
    const double low = 1 / (1 + exp(9)), sum = low + 1 / (1 + exp(-2)) + 2 / (1 + exp(-1));
    cr_assert_float_eq((double)weight[0], 2.5 * low / sum, 1e-9);
    cr_assert_float_eq((double)weight[1], 2.5 / (1 + exp(-2)) / sum, 1e-6);
    for (int i = 0; i < N; i++) p[i] = -1e4f; /* all sigmoids are 0: no division by it */
    bias[4] = 0;
    geodec__experts_choose(s, &l, 0, p, id, weight);
    for (int j = 0; j < USED; j++) cr_assert(id[j] == j && weight[j] == 0);
    for (int i = 0; i < N; i++) p[i] = NAN;
    geodec__experts_choose(s, &l, 0, p, id, weight);
    for (int j = 0; j < USED; j++) cr_assert(id[j] >= 0 && id[j] < N);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

/* One tensor for each expert or one for all: the same bits. */
Test(model_arch, single_expert_tensors_equal_merged_ones)
{
    synthetic s = *family_named("mixtral-old");
    enum { N = 30 };
    geodec_err err = {0};
    float *logits[2];
    int32_t token[N];
    int64_t v = 0;
    for (int i = 0; i < N; i++) token[i] = 3 + 7 * i % 290;
    for (int k = 0; k < 2; k++) {
        s.single_experts = k == 0;
        geodec_model *m = opened_model(&s);
        cr_assert_eq(m->layer[1].up.expert != NULL, k == 0);
        geodec_session *session = NULL;
        v = m->config.n_vocab;
        logits[k] = geodec_mem_new(N * v, sizeof **logits);
        test_ok(geodec_session_create(m, NULL, &session, &err), &err);
        test_ok(geodec_forward(session, &(geodec_batch){.n = N, .token = token}, logits[k], NULL, &err), &err);
        geodec_session_destroy(session);
        geodec_model_close(m);
    }
    cr_assert(memcmp(logits[0], logits[1], (size_t)(N * v) * sizeof **logits) == 0);
    geodec_mem_free(logits[0]);
    geodec_mem_free(logits[1]);
}

Test(model_arch, what_a_trainer_does_not_know)
{
    static const struct {
        const char *family, *says;
    } list[] = {{"qwen2", "qwen2"},
                {"gemma3", "gemma3"},
                {"llama-3", "scaled rotations"},
                {"llama-linear", "scaled rotations"},
                {"mistral", "scaled rotations"},
                {"mixtral-old", "scaled experts"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        geodec_model *m = opened_family(list[i].family);
        cr_assert_str_eq(geodec__model_peculiarity(m), list[i].says);
        geodec_model_close(m);
    }
    synthetic s = *family_named("llama-3");
    s.rope_freqs = false;
    geodec_model *m = opened_model(&s);
    cr_assert_str_eq(geodec__model_peculiarity(m), "biases");
    geodec_model_close(m);
    s = *family_named("mistral");
    s.rope_factor = 0;
    m = opened_model(&s);
    cr_assert_str_eq(geodec__model_peculiarity(m), "sliding attention");
    geodec_model_close(m);
    s = *family_named("mixtral-old");
    s.expert_scale = 0;
    m = opened_model(&s);
    cr_assert_str_eq(geodec__model_peculiarity(m), "experts in tensors of their own");
    geodec_model_close(m);
    m = opened_family("mixtral");
    cr_assert_null(geodec__model_peculiarity(m));
    geodec_model_close(m);
}
