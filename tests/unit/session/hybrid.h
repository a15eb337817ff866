/* Small random models with recurrent layers, of the architectures below, jamba and granitehybrid: 3 layers of width 64,
 * of which the second attends where the architecture has attention. Header-only, as synthetic.h. */
#ifndef GEODEC_TESTS_HYBRID_H
#define GEODEC_TESTS_HYBRID_H

#include "session/synthetic.h"

enum {
    HYBRID_WIDTH = 64,
    HYBRID_INNER = 96, /* channels */
    HYBRID_HEADS = 4,
    HYBRID_GROUPS = 2,
    HYBRID_STATE = 20, /* not a whole vector */
    HYBRID_RANK = 5    /* of mamba's dt */
};

/* One for each kind of recurrence. */
static const char *const hybrids[] = {"mamba", "mamba2", "falcon-h1", "lfm2", "qwen3next", "qwen35"};
enum { N_HYBRIDS = sizeof hybrids / sizeof *hybrids };

typedef struct hybrid_tensor {
    const char *archs, *suffix;
    int64_t cols, rows;
    bool matrix;
} hybrid_tensor;

static inline geodec_status hybrid_tensors(synthetic_writer *o, int32_t layer, const hybrid_tensor *t, size_t n)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    for (size_t i = 0; i < n; i++)
        if (synthetic_in(o->s, t[i].archs))
            GEODEC_TRY(synthetic_part(o, layer, t[i].suffix, t[i].matrix ? o->s->type : GEODEC_GGML_F32, t[i].cols,
                                      t[i].rows, 1));
done:
    return st;
}

#define HYBRID_ONE " mamba jamba "
#define HYBRID_TWO " mamba2 falcon-h1 granitehybrid "
#define HYBRID_DELTA " qwen3next qwen35 "
#define HYBRID_PLAIN " falcon-h1 lfm2 jamba granitehybrid " /* attention without a gate */
#define HYBRID_MIXTURE " qwen3next jamba granitehybrid "

static inline geodec_status hybrid_recurrent(synthetic_writer *o, int32_t layer)
{
    enum { D = HYBRID_WIDTH, N = HYBRID_INNER, H = HYBRID_HEADS, R = HYBRID_STATE, KEYS = HYBRID_GROUPS * R };
    static const hybrid_tensor list[] = {
        {HYBRID_ONE, "ssm_in.weight", D, 2 * N, true},
        {HYBRID_ONE, "ssm_conv1d.weight", 4, N, false},
        {HYBRID_ONE, "ssm_conv1d.bias", N, 1, false},
        {HYBRID_ONE, "ssm_x.weight", N, HYBRID_RANK + 2 * R, true},
        {HYBRID_ONE, "ssm_dt.weight", HYBRID_RANK, N, false},
        {HYBRID_ONE, "ssm_dt.bias", N, 1, false},
        {HYBRID_ONE, "ssm_a", R, N, false},
        {HYBRID_ONE, "ssm_d", N, 1, false},
        {" jamba ", "ssm_dt_norm.weight", HYBRID_RANK, 1, false},
        {" jamba ", "ssm_b_norm.weight", R, 1, false},
        {" jamba ", "ssm_c_norm.weight", R, 1, false},
        {HYBRID_TWO, "ssm_in.weight", D, 2 * N + 2 * KEYS + H, true},
        {HYBRID_TWO, "ssm_conv1d.weight", 4, N + 2 * KEYS, false},
        {HYBRID_TWO, "ssm_conv1d.bias", N + 2 * KEYS, 1, false},
        {HYBRID_TWO, "ssm_dt.bias", H, 1, false},
        {HYBRID_TWO, "ssm_a", 1, H, false},
        {HYBRID_TWO, "ssm_d", 1, H, false},
        {" mamba2 granitehybrid ", "ssm_norm.weight", N / HYBRID_GROUPS, HYBRID_GROUPS, false},
        {HYBRID_ONE HYBRID_TWO HYBRID_DELTA, "ssm_out.weight", N, D, true},
        {" qwen3next ", "ssm_in.weight", D, 2 * KEYS + 2 * N, true},
        {" qwen3next ", "ssm_ba.weight", D, 2 * H, true},
        {" qwen35 ", "attn_qkv.weight", D, 2 * KEYS + N, true},
        {" qwen35 ", "attn_gate.weight", D, N, true},
        {" qwen35 ", "ssm_alpha.weight", D, H, true},
        {" qwen35 ", "ssm_beta.weight", D, H, true},
        {HYBRID_DELTA, "ssm_conv1d.weight", 4, 2 * KEYS + N, false},
        {HYBRID_DELTA, "ssm_dt.bias", H, 1, false},
        {HYBRID_DELTA, "ssm_a", H, 1, false},
        {HYBRID_DELTA, "ssm_norm.weight", N / H, 1, false},
        {" lfm2 ", "shortconv.in_proj.weight", D, 3 * D, true},
        {" lfm2 ", "shortconv.conv.weight", 3, D, false},
        {" lfm2 ", "shortconv.out_proj.weight", D, D, true},
    };
    return hybrid_tensors(o, layer, list, sizeof list / sizeof *list);
}

static inline geodec_status hybrid_attention(synthetic_writer *o, int32_t layer)
{
    enum { D = HYBRID_WIDTH, Q = 4 * 16, KV = 2 * 16 };
    static const hybrid_tensor list[] = {
        {HYBRID_PLAIN, "attn_q.weight", D, Q, true},
        {HYBRID_DELTA, "attn_q.weight", D, 2 * Q, true},
        {HYBRID_PLAIN HYBRID_DELTA, "attn_k.weight", D, KV, true},
        {HYBRID_PLAIN HYBRID_DELTA, "attn_v.weight", D, KV, true},
        {" lfm2 " HYBRID_DELTA, "attn_q_norm.weight", 16, 1, false},
        {" lfm2 " HYBRID_DELTA, "attn_k_norm.weight", 16, 1, false},
        {HYBRID_PLAIN HYBRID_DELTA, "attn_output.weight", Q, D, true},
    };
    return hybrid_tensors(o, layer, list, sizeof list / sizeof *list);
}

static inline geodec_status hybrid_feed(synthetic_writer *o, int32_t layer)
{
    enum { D = HYBRID_WIDTH, F = 80, E = 4 };
    static const hybrid_tensor list[] = {
        {HYBRID_PLAIN, "ffn_norm.weight", D, 1, false},
        {HYBRID_DELTA, "post_attention_norm.weight", D, 1, false},
        {" falcon-h1 lfm2 qwen35 ", "ffn_gate.weight", D, F, true},
        {" falcon-h1 lfm2 qwen35 ", "ffn_up.weight", D, F, true},
        {" falcon-h1 lfm2 qwen35 ", "ffn_down.weight", F, D, true},
        {HYBRID_MIXTURE, "ffn_gate_inp.weight", D, E, false},
        {" qwen3next ", "ffn_gate_shexp.weight", D, F, true},
        {" qwen3next ", "ffn_up_shexp.weight", D, F, true},
        {" qwen3next ", "ffn_down_shexp.weight", F, D, true},
        {" qwen3next ", "ffn_gate_inp_shexp.weight", D, 1, false},
    };
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    GEODEC_TRY(hybrid_tensors(o, layer, list, sizeof list / sizeof *list));
    if (!synthetic_in(o->s, HYBRID_MIXTURE)) goto done;
    GEODEC_TRY(synthetic_part(o, layer, "ffn_gate_exps.weight", o->s->type, D, F, E));
    GEODEC_TRY(synthetic_part(o, layer, "ffn_up_exps.weight", o->s->type, D, F, E));
    GEODEC_TRY(synthetic_part(o, layer, "ffn_down_exps.weight", o->s->type, F, D, E));
done:
    return st;
}

static inline geodec_status hybrid_keys(synthetic_writer *o)
{
    const bool attends = !synthetic_in(o->s, " mamba mamba2 "), mixture = synthetic_in(o->s, HYBRID_MIXTURE);
    const struct {
        const char *suffix;
        uint32_t v;
    } keys[] = {{"context_length", 4096},
                {"embedding_length", HYBRID_WIDTH},
                {"block_count", 3},
                {"feed_forward_length", attends ? 80 : 0},
                {"attention.head_count", attends ? 4 : 0},
                {"attention.head_count_kv", attends ? 2 : 0},
                {"attention.key_length", 16},
                {"attention.value_length", 16},
                {"rope.dimension_count", 16},
                {"expert_count", mixture ? 4 : 0},
                {"expert_used_count", mixture ? 2 : 0},
                {"expert_feed_forward_length", mixture ? 80 : 0},
                {"shortconv.l_cache", 3},
                {"ssm.conv_kernel", 4},
                {"ssm.inner_size", HYBRID_INNER},
                {"ssm.state_size", HYBRID_STATE},
                {"ssm.time_step_rank", synthetic_in(o->s, HYBRID_ONE) ? HYBRID_RANK : HYBRID_HEADS},
                {"ssm.group_count", HYBRID_GROUPS}};
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    char key[80];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        (void)snprintf(key, sizeof key, "%s.%s", o->s->arch, keys[i].suffix);
        GEODEC_TRY(geodec_gguf_put_u32(o->w, key, keys[i].v, err));
    }
    (void)snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", o->s->arch);
    GEODEC_TRY(geodec_gguf_put_f32(o->w, key, 1e-5f, err));
done:
    return st;
}

/* type: of the matrices. */
static inline geodec_status hybrid_write(const char *path, const char *arch, int type, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const synthetic s = {.arch = arch, .d_model = HYBRID_WIDTH, .n_vocab = 320, .type = type, .seed = 17};
    synthetic_writer o = {.s = &s, .rng = geodec_rng_stream(17, geodec_rng_id("hybrid model", 0)), .err = err};
    const bool attends = !synthetic_in(&s, " mamba mamba2 "), beside = synthetic_is(&s, "falcon-h1");
    GEODEC_TRY(geodec_gguf_writer_create(path, &o.w, err));
    GEODEC_TRY(geodec_gguf_put_str(o.w, "general.architecture", arch, err));
    GEODEC_TRY(hybrid_keys(&o));
    GEODEC_TRY(synthetic_vocab(&o));
    GEODEC_TRY(synthetic_tensor(&o, "token_embd.weight", type, HYBRID_WIDTH, s.n_vocab, 1));
    GEODEC_TRY(synthetic_tensor(&o, synthetic_is(&s, "lfm2") ? "token_embd_norm.weight" : "output_norm.weight",
                                GEODEC_GGML_F32, HYBRID_WIDTH, 1, 1));
    for (int32_t i = 0; i < 3; i++) {
        GEODEC_TRY(synthetic_part(&o, i, "attn_norm.weight", GEODEC_GGML_F32, HYBRID_WIDTH, 1, 1));
        if (beside || !attends || i != 1) GEODEC_TRY(hybrid_recurrent(&o, i));
        if (beside || (attends && i == 1)) GEODEC_TRY(hybrid_attention(&o, i));
        if (attends) GEODEC_TRY(hybrid_feed(&o, i));
    }
    geodec_gguf_writer *w = o.w;
    o.w = NULL;
    GEODEC_TRY(geodec_gguf_writer_commit(w, err));
done:
    geodec_gguf_writer_abandon(o.w);
    return st;
}

#endif
